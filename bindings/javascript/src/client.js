/** The client: its settings, its groups of functions, and its end. */
import { Batch } from './batch.js';
import { clock as systemClock } from './clock.js';
import { compiledOnce } from './instance.js';
import { Ledger } from './ledger.js';
import { Signals, attemptLog } from './listeners.js';
import { Machine } from './machine.js';
import { operate, operateBatch, parse } from './operation.js';
import { NONE, defaultOptions } from './options.js';
import { checkOptions, environment, settings } from './settings.js';
import { functions } from './wit.js';
import { isPlain, misconfigured, tag } from './words.js';

const isFunction = (value) => typeof value === 'function';
const isPath = (value) => typeof value === 'string' || tag(value) === 'URL';
const isLedger = (value) => ['claim', 'record', 'observe'].every((name) => isFunction(value?.[name]));

/** Options that are not settings, beside those of a platform. */
const OWN_OPTIONS = {
  accounts: { isAllowed: isPlain, allowed: 'a plain object' },
  env: { isAllowed: (value) => tag(value) === 'Object' || value === globalThis.process?.env, allowed: 'an object of variables' },
  ledger: { isAllowed: (value) => isPath(value) || isLedger(value), allowed: 'a path, a Ledger, or an object with claim, record and observe' },
  onAttempt: { isAllowed: isFunction, allowed: 'a function' },
  onCreated: { isAllowed: isFunction, allowed: 'a function' },
  transport: { isAllowed: (value) => isFunction(value?.send), allowed: 'a transport, such as a ScriptedService' },
  wasm: { isAllowed: (value) => value instanceof WebAssembly.Module, allowed: 'a WebAssembly.Module' },
};

/** The state that a client shares with those that `withOptions` made of it. */
class Shared {
  running = new Set();
  /** What ends each batch whose results are not read. */
  unread = new Set();
  isClosed = false;
  signals = new Signals();
  #owned;
  #closed;

  /** @param {any} parts what the operations need; `owned` ends with them, in this order */
  constructor({ owned, ...parts }) {
    this.#owned = owned;
    Object.assign(this, parts);
  }

  async run(operation) {
    if (this.isClosed) throw new Error('the client is closed');
    const running = operation();
    this.running.add(running);
    try {
      return await running;
    } finally {
      this.running.delete(running);
    }
  }

  close() {
    this.isClosed = true;
    for (const close of this.unread) close();
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end() {
    await Promise.allSettled(this.running);
    for (const it of this.#owned) await it.close?.();
  }
}

/**
 * Returns the class of the clients on a platform.
 *
 * @param platform its `options` as `OWN_OPTIONS` are, `check(options)`,
 * `transport(options, variables)`, `writeLine(line)`, `warn(message, error)`
 */
export function clientOn(platform) {
  return class VoiceClient {
    #shared;
    #defaults;

    /**
     * @param {any} options or what it shares with a client that has other options for calls
     * @param defaults these options
     */
    constructor(options = {}, defaults = NONE) {
      const isDerived = options instanceof Shared;
      this.#shared = isDerived ? options : shared(checked(options, platform), platform);
      this.#defaults = isDerived ? defaults : NONE;
      Object.assign(this, groups(this.#shared, this.#defaults), { ledger: this.#shared.ledger });
      Object.freeze(this);
    }

    withOptions(options) {
      return new VoiceClient(this.#shared, { ...this.#defaults, ...defaultOptions(options) });
    }

    close() {
      return this.#shared.close();
    }

    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
      return this.close();
    }
  };
}

/** The functions of a client, in their groups. */
function groups(shared, defaults) {
  const others = {
    CreateDocketsV2: (requests, options) => batch(shared, requests, options, defaults),
    ParseDocketCompleted: (body) => shared.run(() => parse(shared, body)),
  };
  const groups = {};
  for (const [name, { method }] of Object.entries(functions)) {
    const call = (given, options) => shared.run(() => operate(shared, name, given, options, defaults));
    const [group, own] = method.split('.');
    groups[group] ??= {};
    groups[group][own] = others[name] ?? call;
  }
  return groups;
}

function batch(shared, requests, options, defaults) {
  const run = (results) => shared.run(() => operateBatch(shared, requests, options, defaults, results));
  return new Batch(Array.isArray(requests) ? requests.length : undefined, run, shared);
}

/** @param {any} options */
function checked(options, platform) {
  checkOptions(options, { ...settings, ...OWN_OPTIONS, ...platform.options });
  if (options.wasm === undefined) checkThatItCompiles();
  platform.check?.(options);
  return options;
}

/** Edge runtimes compile when a program is deployed, and nothing while it runs. */
function checkThatItCompiles() {
  try {
    // An empty one.
    new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
  } catch (cause) {
    const allowed =
      'the compiled module, since this runtime compiles none: ' +
      "import wasm from 'voice-calling/voice-calling-sans-io.wasm', then new VoiceClient({ wasm })";
    throw misconfigured('wasm', 'nothing', allowed, { cause });
  }
}

/** Returns the same without failures: the console may be the user's, and an error of theirs may not be shown. */
function quiet(write) {
  return (...given) => {
    try {
      write(...given);
    } catch {}
  };
}

function shared({ env, ledger: given, onAttempt, onCreated, transport: own, wasm, ...options }, platform) {
  const [warn, writeLine] = [platform.warn, platform.writeLine].map(quiet);
  const { variables, settingNames } = environment(options, env ?? globalThis.process?.env ?? {}, onAttempt !== undefined);
  const ledger = isPath(given) ? new Ledger(given) : given;
  const transport = own ?? platform.transport(options, variables);
  const clock = transport.clock ?? systemClock;
  const machine = new Machine({
    module: wasm ? async () => wasm : compiledOnce,
    environment: variables,
    transport,
    clock,
    ledger,
    warn,
    log: onAttempt ? attemptLog(onAttempt, warn) : writeLine,
  });
  const owned = ledger === given ? [transport] : [transport, ledger];
  return new Shared({ machine, ledger, owned, clock, warn, writeLine, onCreated, settingNames });
}
