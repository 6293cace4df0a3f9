'use strict';
/** Many dockets: requests of an iterable, and their results as they come. */
const { setImmediate } = require('node:timers');
const { OPTIONS, REQUESTS } = require('./arguments.js');
const { checkSignal, errorOf, invalidInput, native } = require('./errors.js');
const { NativeCancellation } = require('./native.js');
const { answering } = require('./question.js');
const { checked } = require('./rules.js');

/** How many results wait for their reader at most, before no more requests are taken. */
const MAX_UNREAD = 1000;

class Batch {
  #client;
  #requests;
  #options;
  #keyIsExternalId;
  #signal;
  #begun;
  #cancellation;
  #iterator;
  /** Whether the iterator is asked for a request, and whether it has ended. */
  #isPulling = false;
  #isOver = false;
  /** The number of requests that were taken, and of those that the native half has. */
  #taken = 0;
  #supplied = 0;
  #finished;
  #onFinished = () => {};
  #isStopped = false;
  /** Why the batch ends before its requests, if it does. */
  #failure;
  /** Settles when there is a first result, or fails with the batch. */
  #arrival;
  /** The result that the native half has next. */
  #pending;
  /** The index of each open request, and its external id, by the index that the native half has for it. */
  #known = new Map();
  /** The results of requests that may not be sent, and what continues with them. */
  #refused = [];
  #wake = () => {};
  #resume = () => {};
  #forget = () => {};
  #turn = Promise.resolve();
  #results;

  constructor(client, requests, { signal, key, ...options }) {
    this.#client = client;
    this.#requests = requests;
    this.#options = options;
    this.#signal = checkSignal(signal);
    this.#keyIsExternalId = key === 'externalId';
    if (!this.#keyIsExternalId && key !== undefined && key !== null) {
      throw invalidInput('key', typeof key, 'externalId; or in each request');
    }
    if (typeof requests?.[Symbol.asyncIterator] !== 'function' && typeof requests?.[Symbol.iterator] !== 'function') {
      throw invalidInput('requests', typeof requests, 'an iterable, or an async iterable');
    }
  }

  start() {
    if (this.#begun || this.#isStopped) return this;
    const requests = this.#requests;
    const isArray = Array.isArray(requests);
    if (isArray) requests.forEach((request, index) => this.#read(request, index));
    this.#cancellation = new NativeCancellation();
    const names = { 'options.deadline_ms': 'requestTimeoutMs' };
    this.#begun = native(() => this.#client.begin(OPTIONS.batch(this.#options), answering(() => this.#supply()), this.#cancellation), { names });
    const abort = () => {
      this.#cancellation.cancel();
      // Those of an array are counted: each says that it was not begun.
      if (isArray) this.#resume();
      else this.#stop(this.#signal.reason);
    };
    if (this.#signal?.aborted) abort();
    this.#signal?.addEventListener('abort', abort);
    this.#forget = () => this.#signal?.removeEventListener('abort', abort);
    this.#client.track(new Promise((resolve) => (this.#onFinished = resolve)));
    // It keeps the program running until there is a result.
    this.#arrival = this.#begun.arrived();
    this.#arrival.catch(() => {});
    return this;
  }

  /** Returns a request as JSON, with its key. */
  #read(request, index) {
    try {
      if (!this.#keyIsExternalId) return REQUESTS.docketOfBatch(request);
      const key = request?.key ?? request?.externalId ?? undefined;
      if (key === undefined) throw invalidInput('externalId', 'nothing', 'text, since it is to be the key');
      return REQUESTS.docketOfBatch({ ...request, key });
    } catch (error) {
      throw Object.assign(error, { index });
    }
  }

  /** Returns the next request that may be sent as JSON, or `null` after the last. */
  async #supply() {
    try {
      for (let next = await this.#pull(); !next.done && !this.#isStopped; next = await this.#pull()) {
        const { value } = next;
        const index = this.#taken++;
        const request = this.#read(value, index);
        const known = value.externalId === undefined ? { index } : { index, externalId: value.externalId };
        const refusal = this.#client.mayCall && (await this.#checked(value));
        if (this.#isStopped) break;
        if (!refusal) {
          this.#known.set(this.#supplied++, known);
          return request;
        }
        this.#refused.push({ ...known, ok: false, error: invalidInput(...refusal, known) });
        this.#wake();
        if (this.#refused.length >= MAX_UNREAD) await new Promise((resolve) => (this.#resume = resolve));
      }
    } catch (error) {
      this.#stop(error);
    }
    this.#finish();
    return 'null';
  }

  /** Asks whether a request may be sent, unless the batch ends before the answer. */
  #checked(request) {
    return new Promise((resolve, reject) => {
      this.#resume = () => (this.#isStopped || this.#signal?.aborted) && resolve();
      this.#resume();
      if (!this.#signal?.aborted) checked(this.#client.mayCall, request).then(resolve, reject);
    });
  }

  /** Takes the next request, unless the batch stops before it comes. */
  #pull() {
    const requests = this.#requests;
    this.#iterator ??= requests[Symbol.asyncIterator]?.() ?? requests[Symbol.iterator]();
    return new Promise((resolve, reject) => {
      this.#resume = () => this.#isStopped && resolve({ done: true });
      this.#resume();
      if (this.#isStopped) return;
      this.#isPulling = true;
      const pulled = (async () => this.#iterator.next())().finally(() => (this.#isPulling = false));
      pulled.then((next) => ((this.#isOver ||= next.done === true), resolve(next)), (error) => ((this.#isOver = true), reject(error)));
    });
  }

  /** Has no more requests taken. */
  #stop(failure) {
    if (failure !== undefined) this.#failure ??= { error: failure };
    this.#isStopped = true;
    this.#resume();
  }

  /** Ends the iteration, of which no more is asked. One that has not answered is not waited for. */
  #finish() {
    this.#finished ??= (async () => {
      if (!this.#isOver && !this.#isPulling) await this.#iterator?.return?.();
    })();
    this.#finished.then(this.#onFinished, this.#onFinished);
    return this.#finished;
  }

  next() {
    const result = this.#turn.then(() => this.#next());
    this.#turn = result.catch(() => {});
    return result;
  }

  async #next() {
    this.start();
    const value = (await this.#arrived()) ?? this.#refused.shift();
    this.#resume();
    if (value) return { done: false, value };
    this.#forget();
    await this.#finish();
    const late = this.#refused.shift();
    if (late) return { done: false, value: late };
    if (!this.#failure) return { done: true, value: undefined };
    const { error } = this.#failure;
    this.#failure = undefined;
    throw error;
  }

  /** Waits for a result of the native half, or a request that was refused. */
  async #arrived() {
    this.#pending ??= this.#nextOfNative();
    if (this.#client.mayCall) {
      if (this.#refused.length === 0) {
        await new Promise((resolve) => {
          this.#wake = resolve;
          this.#pending.then(resolve, resolve);
        });
      }
      if (this.#refused.length > 0) return this.#refused.shift();
    }
    const pending = this.#pending;
    this.#pending = undefined;
    const { index, ok, failure } = (await this.#client.outcome(pending)) ?? {};
    if (index === undefined) return undefined;
    const known = this.#known.get(index);
    this.#known.delete(index);
    if (!failure) return { ...known, ok: true, value: ok };
    const cause = failure.kind === 'not-begun' && this.#signal?.aborted ? { cause: this.#signal.reason } : {};
    return { ...known, ok: false, error: errorOf(failure, { ...known, ...cause }) };
  }

  async #nextOfNative() {
    await this.#arrival;
    return this.#begun?.next() ?? 'null';
  }

  /** Ends the batch: waits for the open requests, whose results are logged. */
  async close() {
    this.#stop();
    if (!this.#begun) return;
    await this.#begun.close();
    // What was logged meanwhile is on its way to the logger, which the next turn may not have yet.
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
    this.#forget();
    await this.#finish();
  }

  async return(value) {
    await this.close();
    return { done: true, value };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  async #all() {
    const results = [];
    try {
      for (let it = await this.next(); !it.done; it = await this.next()) results[it.value.index] = it.value;
      return results;
    } catch (error) {
      results.forEach((result) => this.#log(result));
      throw error;
    }
  }

  /** Logs a result that no reader gets. */
  #log({ index, externalId, value, error }) {
    if (value?.fromLedger || (error && !error.mayHaveCreated)) return;
    const what = value ? `docket ${value.docketId} was created` : 'a docket may exist';
    this.#client.log('warn', `a result of a batch was not read: ${what} index=${index} external_id=${JSON.stringify(externalId)}`);
  }

  then(onResults, onError) {
    this.#results ??= this.#all();
    return this.#results.then(onResults, onError);
  }
}

module.exports = { Batch };
