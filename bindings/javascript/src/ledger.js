'use strict';
/** The ledger: which creates were begun, and how they ended. */
const { resolve } = require('node:path');
const { fileURLToPath } = require('node:url');
const { record, required, text } = require('./arguments.js');
const { configuration, errorOf, invalidInput, native } = require('./errors.js');
const { NativeLedger } = require('./native.js');
const { answering } = require('./question.js');

const KEY = record('options', { key: required(text) });
const RESOLVED = record('options', { key: required(text), createdId: text, by: required(text, 'the name of who made sure of it') });

/** The native half of each ledger. */
const NATIVE = new WeakMap();

/** Returns the listener of questions about entries, of which a storage answers those for which it has a method. */
const stored = (storage) =>
  answering(async (question) => {
    const { method } = question;
    if (typeof storage[method] !== 'function') throw new Error(`its storage has no method ${method}`);
    const given = JSON.parse(question.argument);
    if (method === 'update') {
      await storage.update(...given, (entry) => question.change(entry ?? undefined) ?? undefined);
      return 'null';
    }
    const returned = await storage[method](...given);
    return JSON.stringify(method === 'entriesAfter' ? [...returned] : returned) ?? 'null';
  });

class Ledger {
  constructor(path) {
    const isUrl = Object.prototype.toString.call(path) === '[object URL]';
    if (!isUrl && typeof path !== 'string') throw configuration('ledger', typeof path, 'a path, or a Ledger');
    this.path = resolve(isUrl ? fileURLToPath(path) : path);
    NATIVE.set(this, native(() => new NativeLedger(this.path)));
  }

  static on(storage, secret) {
    if (typeof storage?.update !== 'function') throw configuration('storage', typeof storage, 'an object with a method update');
    const isSecret = typeof secret === 'string' || ArrayBuffer.isView(secret);
    if (!isSecret) throw configuration('secret', typeof secret, 'at least 16 bytes, or a text of them');
    const ledger = Object.create(Ledger.prototype);
    NATIVE.set(ledger, native(() => NativeLedger.on(stored(storage), Buffer.from(secret))));
    return ledger;
  }

  async get(key) {
    return entryOf(await run(this, 'get', KEY({ key })));
  }

  async unknown() {
    return (await run(this, 'unknown', '{}')).map(entryOf);
  }

  async resolve(key, createdId, { by } = {}) {
    return entryOf(await run(this, 'resolve', RESOLVED({ key, createdId: String(createdId), by })));
  }

  async release(key, { by } = {}) {
    return entryOf(await run(this, 'release', RESOLVED({ key, by })));
  }

  async prune({ doneBefore } = {}) {
    const ms = doneBefore?.getTime?.();
    if (!Number.isFinite(ms)) throw invalidInput('doneBefore', typeof doneBefore, 'a Date');
    return run(this, 'prune', JSON.stringify({ done_before_ms: Math.max(0, Math.trunc(ms)) }));
  }

  async close() {
    await NATIVE.get(this).close();
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }
}

async function run(ledger, method, given) {
  const { ok, failure } = JSON.parse(await native(() => NATIVE.get(ledger).run(method, given)));
  if (failure) throw errorOf(failure);
  return ok;
}

function entryOf(entry) {
  if (!entry) return undefined;
  const known = Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
  for (const name of ['begunAt', 'endedAt']) if (name in known) known[name] = new Date(known[name]);
  return known;
}

module.exports = { Ledger, nativeOf: (ledger) => NATIVE.get(ledger) };
