'use strict';
/** The client: its operations, their options, and how it ends. */
const { Batch } = require('./batch.js');
const { checkSignal, classes, errorOf, native } = require('./errors.js');
const { jsonText } = require('./json_text.js');
const { Ledger, nativeOf } = require('./ledger.js');
const { NativeCancellation, NativeClient, parseDocketCompleted: parse, normalizeNumber: normalize } = require('./native.js');

/** The native half of each scripted service. */
const scripts = new WeakMap();

/** That of Node, whatever a test puts in its place. */
const { setImmediate } = globalThis;

/** The arguments that are JSON. */
const JSON_FIELDS = ['callContext', 'tools', 'extra'];

/** What an operation takes of `withOptions`, by the names that it has for it. */
const OF_CALL = { account: 'account', maxRetries: 'maxRetries', timeoutMs: 'timeoutMs', signal: 'signal' };
const OF_CREATE = { ...OF_CALL, key: 'key' };
const OF_WAIT = { ...OF_CALL, timeoutMs: 'pollTimeoutMs' };
const OF_BATCH = { ...OF_CALL, timeoutMs: 'requestTimeoutMs' };

/** What clients with other options share. */
class Shared {
  isClosed = false;
  running = new Set();

  constructor(options) {
    if (typeof options !== 'object' || options === null) throw configuration('options', typeof options, 'an object');
    const { env = process.env, ledger, logger, onAttempt, service, ...settings } = options;
    if (typeof env !== 'object' || env === null) throw configuration('env', typeof env, 'an object');
    if (logger && ['debug', 'info', 'warn', 'error'].some((it) => typeof logger[it] !== 'function')) {
      throw configuration('logger', typeof logger, 'an object with debug, info, warn and error, such as console');
    }
    if (onAttempt && typeof onAttempt !== 'function') throw configuration('onAttempt', typeof onAttempt, 'a function');
    const variables = Object.entries(env).filter(([name, value]) => name.startsWith('VOICE_CALLING_') && value !== undefined);
    const wrong = variables.find(([, value]) => typeof value !== 'string');
    if (wrong) throw configuration(wrong[0], `a ${typeof wrong[1]}`, 'text');
    this.log = logger ? safely((level, text) => logger[level === 'trace' ? 'debug' : level](text)) : undefined;
    const attempt = onAttempt && safely((_, json) => onAttempt(JSON.parse(json)));
    this.ownsLedger = ledger !== undefined && ledger !== null && !(ledger instanceof Ledger);
    this.ledger = this.ownsLedger ? new Ledger(ledger) : (ledger ?? undefined);
    const file = this.ledger && nativeOf(this.ledger);
    const script = scripts.get(service);
    if (service && !script) throw configuration('service', typeof service, 'a ScriptedService');
    this.script = script;
    this.native = native(() => new NativeClient(settings, Object.fromEntries(variables), file, this.log, attempt, script));
  }

  /** Keeps the time of a scripted service from passing between operations that begin together. */
  holdTurn() {
    if (!this.script) return;
    this.script.hold();
    setImmediate(() => this.script.release());
  }

  track(promise) {
    this.running.add(promise);
    const end = () => this.running.delete(promise);
    promise.then(end, end);
    return promise;
  }

  async close() {
    this.isClosed = true;
    while (this.running.size > 0) await Promise.allSettled(this.running);
    this.native.close();
    if (this.ownsLedger) await this.ledger.close();
  }
}

class VoiceClient {
  #shared;
  #options;

  constructor(options = {}) {
    this.#set(options instanceof Shared ? options : new Shared(options), {});
  }

  #set(shared, options) {
    this.#shared = shared;
    this.#options = options;
    this.ledger = shared.ledger;
    const run = (operation, names) => (argument, given) => this.#run(operation, argument, this.#merged(given, names));
    this.agents = {
      create: run('createAgent', OF_CREATE),
      list: run('listAgents', OF_CALL),
    };
    this.calls = {
      make: run('makeCall', OF_CREATE),
      get: run('getCall', OF_CALL),
      wait: run('waitForCall', OF_WAIT),
    };
    this.dockets = {
      create: run('createDocket', OF_CREATE),
      createV1: run('createDocketV1', OF_CREATE),
      get: run('getDocket', OF_CALL),
      wait: run('waitForDocket', OF_WAIT),
      createEach: (requests, given) => this.#createEach(requests, this.#merged(given, OF_BATCH)),
    };
    const verify = run('verify', OF_CALL);
    this.webhooks = { verify: async (body, given) => verify(textOf(body), given) };
  }

  withOptions(options) {
    const client = new VoiceClient(this.#shared);
    client.#options = { ...this.#options, ...options };
    return client;
  }

  #merged(given, names) {
    const merged = {};
    for (const [name, own] of Object.entries(names)) {
      if (this.#options[name] !== undefined) merged[own] = this.#options[name];
    }
    return { ...merged, ...given };
  }

  async #run(operation, argument, { signal: given, ...options }) {
    const signal = checkSignal(given);
    const shared = this.#shared;
    if (shared.isClosed) throw configuration('client', 'a client that is closed', 'one that is open');
    const request = prepared(argument, operation !== 'makeCall');
    const more = argument?.externalId === undefined ? {} : { externalId: argument.externalId };
    const cancellation = signal ? new NativeCancellation() : undefined;
    const abort = () => cancellation.cancel();
    if (signal?.aborted) abort();
    shared.holdTurn();
    const outcome = native(() => shared.native.begin(operation, request, options, cancellation), more);
    shared.track(outcome);
    signal?.addEventListener('abort', abort);
    const { ok, failure, wait } = JSON.parse(await outcome);
    signal?.removeEventListener('abort', abort);
    if (!failure) return ok;
    if (!signal?.aborted) throw errorOf(failure, { ...more, wait });
    // As `fetch` does, unless something may have been created, or could not be.
    if (!failure.mayHaveCreated && failure.kind !== 'invalid-input') throw signal.reason;
    throw errorOf(failure, { ...more, cause: signal.reason });
  }

  #createEach(requests, options) {
    const shared = this.#shared;
    const begin = (given, cancellation) => {
      if (shared.isClosed) throw configuration('client', 'a client that is closed', 'one that is open');
      shared.holdTurn();
      return shared.native.beginBatch(given, cancellation);
    };
    const log = shared.log ?? ((level, text) => process.stderr.write(`voice-calling: ${level}: ${text}\n`));
    const client = { begin, log, prepared, cancellation: () => new NativeCancellation(), track: (it) => shared.track(it) };
    return new Batch(client, requests, options);
  }

  close() {
    return this.#shared.close();
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }
}

/** Returns a request whose free-form JSON is text. */
function prepared(request, contextIsJson = true) {
  if (typeof request !== 'object' || request === null) return request;
  const own = { ...request };
  for (const name of JSON_FIELDS) {
    if (name in own && (contextIsJson || name !== 'callContext')) own[name] = jsonText(own[name], name);
  }
  for (const name of ['prompt', 'welcomeText']) {
    if (own[name]?.extra !== undefined) own[name] = { ...own[name], extra: jsonText(own[name].extra, `${name}.extra`) };
  }
  return own;
}

/** Returns the body of a delivery as text. */
function textOf(body) {
  return ArrayBuffer.isView(body) ? Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString() : body;
}

/** Returns a listener of the user's that fails no one. */
function safely(listener) {
  const warn = (error) => process.emitWarning(`a listener of voice-calling failed: ${error}`);
  return (...given) => {
    try {
      listener(...given)?.catch?.(warn);
    } catch (error) {
      warn(error);
    }
  };
}

function configuration(subject, found, allowed) {
  const message = `${subject}: found ${found}; allowed: ${allowed}`;
  return new classes.ConfigurationError(message, { problem: { subject, found, allowed } });
}

function parseDocketCompleted(body) {
  return JSON.parse(native(() => parse(textOf(body)))) ?? undefined;
}

function normalizeNumber(text, countryCode) {
  return native(() => normalize(text, countryCode));
}

module.exports = { VoiceClient, normalizeNumber, parseDocketCompleted, scripts };
