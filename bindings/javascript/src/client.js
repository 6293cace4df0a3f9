/** The client: its settings, its groups of functions, and its end. */
import { settings } from '../generated/settings.js';
import { attemptLog } from './attempt_log.js';
import { Batch } from './batch.js';
import { clock as systemClock } from './clock.js';
import { absent } from './conversion.js';
import { Machine } from './machine.js';
import { Signals, operate, operateBatch, parse } from './operation.js';
import { NONE, defaultOptions } from './options.js';
import { environment, misconfigured, settingNames, refuseUnknown } from './settings.js';
import { compiledOnce } from './guest.js';
import { found, isPlain, kind, tag } from './words.js';

/** Options that are not settings, beside those of a platform. */
const OWN_OPTIONS = ['accounts', 'env', 'onAttempt', 'onCreated', 'transport', 'wasm'];

const EMPTY_MODULE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/** What is shared by a client and those that `withOptions` made of it. */
class Shared {
  running = new Set();
  isClosed = false;
  signals = new Signals();
  #transport;
  #closed;

  /** @param {any} parts what the operations need */
  constructor({ transport, ...parts }) {
    this.#transport = transport;
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
    this.#closed ??= Promise.allSettled(this.running).then(() => this.#transport.close?.());
    return this.#closed;
  }
}

/** What a client is that `withOptions` makes. */
class Derived {
  constructor(shared, defaults) {
    this.shared = shared;
    this.defaults = defaults;
  }
}

/**
 * The class of the clients on a platform.
 *
 * @param platform what is there: the names of its `options`, `check(options)`, `variables()`,
 * `transport(options, variables)`, `writeLine(line)`, `warn(message, error)`
 */
export function clientOn(platform) {
  return class VoiceClient {
    #shared;
    #defaults;

    /** @param {any} options */
    constructor(options = {}) {
      const isDerived = options instanceof Derived;
      this.#shared = isDerived ? options.shared : shared(checked(options, platform), platform);
      this.#defaults = isDerived ? options.defaults : NONE;
      const call = (name, given, options) =>
        this.#shared.run(() => operate(this.#shared, name, given, options, this.#defaults));
      this.agents = new Agents(call);
      this.calls = new Calls(call);
      this.dockets = new Dockets(call, (requests, options) => this.#batch(requests, options));
      this.webhooks = new Webhooks(call, (body) => this.#shared.run(() => parse(this.#shared, body)));
      Object.freeze(this);
    }

    withOptions(options) {
      const defaults = { ...this.#defaults, ...defaultOptions(options) };
      return new VoiceClient(new Derived(this.#shared, defaults));
    }

    close() {
      return this.#shared.close();
    }

    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
      return this.close();
    }

    /** What runs, and nothing of the settings: one of them is the token. */
    [Symbol.for('nodejs.util.inspect.custom')](_depth, options, inspect) {
      const { isClosed, machine } = this.#shared;
      return `VoiceClient ${inspect({ isClosed, running: machine.running }, options)}`;
    }

    #batch(requests, options) {
      const left = new AbortController();
      const count = Array.isArray(requests) ? requests.length : 0;
      const run = (take) =>
        this.#shared.run(() =>
          operateBatch(this.#shared, [requests], options, this.#defaults, left.signal, take),
        );
      return new Batch(count, run, {
        leave: (reason) => left.abort(reason),
        unread: (error) => this.#shared.warn('a batch that nobody awaits failed', error),
        lost: (result) => logLost(result, requests, this.#shared.writeLine),
      });
    }
  };
}

/**
 * Logs a result that no one was given, if something may have been created. It is a line and not a
 * warning of Node's, which comes too late for a program that ends now, and may be turned off.
 */
function logLost({ index, ok, value, error }, requests, writeLine) {
  if (!ok && !error.mayHaveCreated) return;
  const { externalId } = requests[index];
  const named = absent(externalId) ? '' : ` (externalId ${JSON.stringify(externalId)})`;
  const what = ok ? `created docket ${value.docketId}` : `${error.name}: ${error.message}`;
  writeLine(`voice-calling: the loop over a batch was left before the result of requests[${index}]${named}: ${what}`);
}

/** @param {any} options */
function checked(options, platform) {
  // It may be the token that is given in their place.
  if (!isPlain(options)) throw misconfigured('options', kind(options), 'a plain object');
  refuseUnknown(options, [...Object.keys(settings), ...OWN_OPTIONS, ...platform.options]);
  const { env, onAttempt, onCreated, transport, wasm } = options;
  if (env !== undefined && tag(env) !== 'Object' && env !== globalThis.process?.env) {
    throw misconfigured('env', kind(env), 'an object of variables');
  }
  for (const [name, listener] of Object.entries({ onAttempt, onCreated })) {
    if (listener !== undefined && typeof listener !== 'function') {
      throw misconfigured(name, found(listener), 'a function');
    }
  }
  if (transport !== undefined && typeof transport?.send !== 'function') {
    throw misconfigured('transport', kind(transport), 'a transport, such as a ScriptedService');
  }
  if (wasm !== undefined && !(wasm instanceof WebAssembly.Module)) {
    throw misconfigured('wasm', kind(wasm), 'a WebAssembly.Module');
  }
  if (wasm === undefined) checkThatItCompiles();
  platform.check(options);
  return options;
}

/** Edge runtimes compile when a program is deployed, and nothing while it runs. */
function checkThatItCompiles() {
  try {
    new WebAssembly.Module(EMPTY_MODULE);
  } catch (cause) {
    const allowed =
      'the compiled module, since this runtime compiles none: ' +
      "import wasm from 'voice-calling/voice-calling-sans-io.wasm', then new VoiceClient({ wasm })";
    throw misconfigured('wasm', 'nothing', allowed, { cause });
  }
}

function shared({ env, onAttempt, onCreated, transport: own, wasm, ...options }, platform) {
  const { warn, writeLine } = platform;
  const variables = environment(options, env ?? platform.variables(), onAttempt !== undefined);
  const transport = own ?? platform.transport(options, variables);
  const clock = transport.clock ?? systemClock;
  const machine = new Machine({
    module: wasm ? async () => wasm : compiledOnce,
    environment: variables,
    transport,
    clock,
    log: onAttempt ? attemptLog(onAttempt, warn) : writeLine,
  });
  return new Shared({ machine, transport, clock, warn, writeLine, onCreated, settingNames: settingNames(options) });
}

class Agents {
  #call;

  constructor(call) {
    this.#call = call;
  }

  create(config, options) {
    return this.#call('CreateAgent', [config], options);
  }

  list(organizationId, options) {
    return this.#call('ListAgents', [organizationId], options);
  }
}

class Calls {
  #call;

  constructor(call) {
    this.#call = call;
  }

  make(request, options) {
    return this.#call('MakeCall', [request], options);
  }

  getDetails(taskId, options) {
    return this.#call('GetCallDetails', [taskId], options);
  }

  waitForDetails(taskId, options) {
    return this.#call('WaitForCallDetails', [taskId], options);
  }
}

class Dockets {
  #call;
  #batch;

  constructor(call, batch) {
    this.#call = call;
    this.#batch = batch;
  }

  create(request, options) {
    return this.#call('CreateDocketV2', [request], options);
  }

  createV1(request, options) {
    return this.#call('CreateDocket', [request], options);
  }

  get(docketId, options) {
    return this.#call('GetDocket', [docketId], options);
  }

  waitFor(docketId, options) {
    return this.#call('WaitForDocket', [docketId], options);
  }

  createMany(requests, options) {
    return this.#batch(requests, options);
  }
}

class Webhooks {
  #call;
  #parse;

  constructor(call, parse) {
    this.#call = call;
    this.#parse = parse;
  }

  parse(body) {
    return this.#parse(body);
  }

  verify(body, options) {
    return this.#call('VerifyDocketCompleted', [body], options);
  }
}
