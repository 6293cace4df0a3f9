'use strict';
/** The client: its operations, their options, and how it ends. */
const { setImmediate } = require('node:timers');
const { OPTIONS, REQUESTS, text } = require('./arguments.js');
const { Batch } = require('./batch.js');
const { checkSignal, classes, configuration, errorOf, invalidInput, native } = require('./errors.js');
const { Ledger, nativeOf } = require('./ledger.js');
const { NativeCancellation, NativeClient } = require('./native.js');
const { settingsOf } = require('./settings.js');
const { checked, textOf } = require('./rules.js');

/** What a client has of each scripted service. */
const scripts = new WeakMap();

/** Returns the end of a wait, or fails with its latest state. */
function completed({ outcome: { Completed, Pending }, ...wait }, signal) {
  if (Completed) return Completed;
  if (signal?.aborted) throw signal.reason;
  const message = `not completed after ${wait.waitedMs} ms; polls: ${wait.polls}`;
  throw new classes.WaitTimedOutError(message, { wait: { last: Pending, ...wait } });
}

function verification(result) {
  if (result === 'NotACompletion') return { kind: 'not-a-completion' };
  const [[kind, verified]] = Object.entries(result);
  return { kind: kind.toLowerCase(), ...verified };
}

/** What each kind of operation takes: its options, and which of them `timeoutMs` of `withOptions` is. */
const KINDS = {
  read: { options: OPTIONS.read },
  verify: { options: OPTIONS.read, result: verification },
  create: { options: OPTIONS.create },
  wait: { options: OPTIONS.wait, timeout: 'pollTimeoutMs', result: completed },
  batch: { options: OPTIONS.batch, timeout: 'requestTimeoutMs' },
};

/** Reads an argument that is text. */
const id = (name) => (value) => {
  text(value, name);
  return value;
};

/** What clients with other options share. */
class Shared {
  isClosed = false;
  running = new Set();

  constructor(options) {
    if (typeof options !== 'object' || options === null) throw configuration('options', typeof options, 'an object');
    const { env = process.env, ledger, logger, onAttempt, mayCall, service, ...rest } = options;
    if (logger && ['debug', 'info', 'warn', 'error'].some((it) => typeof logger[it] !== 'function')) {
      throw configuration('logger', typeof logger, 'an object with debug, info, warn and error, such as console');
    }
    for (const [name, listener] of Object.entries({ onAttempt, mayCall })) {
      if (listener && typeof listener !== 'function') throw configuration(name, typeof listener, 'a function');
    }
    this.log = logger ? safely((level, text) => logger[level === 'trace' ? 'debug' : level](text)) : undefined;
    this.mayCall = mayCall ?? undefined;
    const attempt = onAttempt && safely((_, json) => onAttempt(JSON.parse(json)));
    this.script = scripts.get(service);
    if (service && !this.script) throw configuration('service', typeof service, 'a ScriptedService');
    const { settings, connections, names } = settingsOf(rest, env);
    this.ownsLedger = ledger !== undefined && ledger !== null && !(ledger instanceof Ledger);
    this.ledger = this.ownsLedger ? new Ledger(ledger) : (ledger ?? undefined);
    const file = this.ledger && nativeOf(this.ledger);
    const script = this.script?.native;
    this.native = native(() => new NativeClient(settings, connections, file, this.log, attempt, script), { names });
  }

  /** Keeps the time of a scripted service from passing between operations that begin together. */
  holdTurn() {
    if (!this.script) return;
    this.script.native.hold();
    setImmediate(() => this.script.native.release());
  }

  /** Waits for the native half; what a function of a test has thrown comes first. */
  async outcome(promise) {
    try {
      return JSON.parse(await promise);
    } catch (error) {
      throw this.script?.failures.shift() ?? error;
    }
  }

  checkOpen() {
    if (this.isClosed) throw configuration('client', 'a client that is closed', 'one that is open');
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
    const run = (operation, read, kind) => (argument, given) => this.#run(operation, read, kind, argument, this.#merged(given, kind));
    const { agent, call, docket, docketV1 } = REQUESTS;
    const { read, verify, create, wait, batch } = KINDS;
    this.agents = {
      create: run('createAgent', agent, create),
      list: run('listAgents', id('organizationId'), read),
    };
    this.calls = {
      make: run('makeCall', call, create),
      get: run('getCall', id('taskId'), read),
      wait: run('waitForCall', id('taskId'), wait),
    };
    this.dockets = {
      create: run('createDocket', docket, create),
      createV1: run('createDocketV1', docketV1, create),
      get: run('getDocket', id('docketId'), read),
      wait: run('waitForDocket', id('docketId'), wait),
      createEach: (requests, given) => new Batch(new BatchClient(shared), requests, this.#merged(given, batch)),
    };
    const verified = run('verify', id('body'), verify);
    this.webhooks = { verify: async (body, given) => verified(textOf(body), given) };
  }

  withOptions(options) {
    const client = new VoiceClient(this.#shared);
    client.#options = { ...this.#options, ...options };
    return client;
  }

  #merged(given, { options, timeout = 'timeoutMs' }) {
    const { timeoutMs, key, ...merged } = this.#options;
    if (timeoutMs !== undefined) merged[timeout] = timeoutMs;
    if (key !== undefined && options === OPTIONS.create) merged.key = key;
    return { ...merged, ...given };
  }

  async #run(operation, read, kind, argument, { signal: given, ...options }) {
    const signal = checkSignal(given);
    const shared = this.#shared;
    shared.checkOpen();
    const request = read(argument);
    const calledOptions = kind.options(options);
    const more = { names: { 'options.deadline_ms': kind.timeout } };
    if (argument?.externalId !== undefined) more.externalId = argument.externalId;
    if (shared.mayCall && argument?.toPhoneNumber !== undefined) {
      const refusal = await unlessAborted(checked(shared.mayCall, argument), signal);
      if (refusal) throw invalidInput(...refusal, more);
    }
    const cancellation = signal ? new NativeCancellation() : undefined;
    const abort = () => cancellation.cancel();
    if (signal?.aborted) abort();
    shared.holdTurn();
    const begun = native(() => shared.native.begin(operation, request, calledOptions, cancellation), more);
    shared.track(begun);
    signal?.addEventListener('abort', abort);
    const { ok, failure } = await shared.outcome(begun).finally(() => signal?.removeEventListener('abort', abort));
    if (!failure) return kind.result ? kind.result(ok, signal) : ok;
    if (!signal?.aborted) throw errorOf(failure, more);
    // As `fetch` does, unless something may have been created, or could not be.
    if (!failure.mayHaveCreated && failure.kind !== 'invalid-input') throw signal.reason;
    throw errorOf(failure, { ...more, cause: signal.reason });
  }

  close() {
    return this.#shared.close();
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }
}

/** What a batch needs of its client. */
class BatchClient {
  #shared;

  constructor(shared) {
    this.#shared = shared;
    this.log = shared.log ?? ((level, text) => process.stderr.write(`voice-calling: ${level}: ${text}\n`));
    this.mayCall = shared.mayCall;
  }

  begin(...given) {
    this.#shared.checkOpen();
    this.#shared.holdTurn();
    return this.#shared.native.beginBatch(...given);
  }

  outcome(promise) {
    return this.#shared.outcome(promise);
  }

  track(promise) {
    return this.#shared.track(promise);
  }
}

/** Waits for a promise, or fails with the reason of an abort that comes before. */
async function unlessAborted(promise, signal) {
  let abort;
  const aborted = new Promise((_, reject) => {
    abort = () => reject(signal.reason);
    if (signal?.aborted) abort();
  });
  signal?.addEventListener('abort', abort);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
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

module.exports = { VoiceClient, scripts };
