/** The client: its settings, its groups of functions, and its end. */
import { inspect } from 'node:util';
import { Batch } from './batch.js';
import { clock as systemClock } from './clock.js';
import { Ledger } from './ledger.js';
import { attemptLog } from './listeners.js';
import { Machine } from './machine.js';
import { NodeHttp } from './node_http.js';
import { batchOf, operate, operateBatch, parse } from './operation.js';
import { checkOptions, environment, settings } from './settings.js';
import { writeLine } from './stderr.js';
import { functions } from './wit.js';
import { isPlain, misconfigured, tag } from './words.js';

const isFunction = (value) => typeof value === 'function';
const isPath = (value) => typeof value === 'string' || tag(value) === 'URL';
const isCertificates = (value) => [value].flat().every((it) => typeof it === 'string' || it instanceof Uint8Array);
const isLedger = (value) => ['claim', 'record', 'observe'].every((name) => isFunction(value?.[name]));

/** Options that are not settings. */
const OWN_OPTIONS = {
  agent: { isAllowed: (value) => isFunction(value?.addRequest), allowed: 'an Agent of node:http or node:https' },
  ca: { isAllowed: isCertificates, allowed: 'certificates as PEM, or an array of them' },
  accounts: { isAllowed: isPlain, allowed: 'a plain object' },
  env: { isAllowed: (value) => tag(value) === 'Object' || value === process.env, allowed: 'an object of variables' },
  ledger: { isAllowed: (value) => isPath(value) || isLedger(value), allowed: 'a path, a Ledger, or an object with claim, record and observe' },
  onAttempt: { isAllowed: isFunction, allowed: 'a function' },
  onCreated: { isAllowed: isFunction, allowed: 'a function' },
  transport: { isAllowed: (value) => isFunction(value?.send), allowed: 'a transport, such as a ScriptedService' },
};

/** What the calls of a client share. */
class Shared {
  running = new Set();
  /** What ends each batch whose loop reads no more. */
  unread = new Set();
  isClosed = false;
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

export class VoiceClient {
  #shared;

  /** @param {any} options */
  constructor(options = {}) {
    this.#shared = shared(checked(options));
    Object.assign(this, groups(this.#shared), { ledger: this.#shared.ledger });
    Object.freeze(this);
  }

  close() {
    return this.#shared.close();
  }

  [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    return this.close();
  }
}

/** The functions of a client, in their groups. */
function groups(shared) {
  const others = {
    CreateDocketsV2: (requests, options) => batch(shared, requests, options),
    ParseDocketCompleted: (body) => shared.run(() => parse(shared, body)),
  };
  const groups = {};
  for (const [name, { method }] of Object.entries(functions)) {
    const call = (given, options) => shared.run(() => operate(shared, name, given, options));
    const [group, own] = method.split('.');
    groups[group] ??= {};
    groups[group][own] = others[name] ?? call;
  }
  return groups;
}

function batch(shared, requests, options) {
  const given = batchOf(shared, requests, options);
  return new Batch((results) => shared.run(() => operateBatch(shared, given, results)), shared.writeLine);
}

/** @param {any} options */
function checked(options) {
  checkOptions(options, { ...settings, ...OWN_OPTIONS });
  const { agent, transport } = options;
  if (agent !== undefined && transport !== undefined) throw misconfigured('transport', 'an agent as well', 'one of them');
  return options;
}

function warn(message, ...errors) {
  process.emitWarning([message, ...errors.map((it) => inspect(it))].join(': '), 'VoiceCallingWarning');
}

function shared({ env = process.env, ledger: given, onAttempt, onCreated, transport: own, ca, agent, ...options }) {
  const { variables, settingNames } = environment(options, env, onAttempt !== undefined);
  const ledger = isPath(given) ? new Ledger(given) : given;
  const transport = own ?? new NodeHttp({ ca, agent });
  const clock = transport.clock ?? systemClock;
  const log = onAttempt ? attemptLog(onAttempt, warn) : writeLine;
  const machine = new Machine({ environment: variables, transport, clock, ledger, warn, log });
  const owned = ledger === given ? [transport] : [transport, ledger];
  return new Shared({ machine, ledger, owned, clock, warn, writeLine, onCreated, settingNames });
}
