'use strict';
/** Many dockets: requests of an iterable, and their results as they come. */
const { checkSignal, errorOf, invalidInput, native } = require('./errors.js');
const { checkRequest } = require('./native.js');

/** Returns what logs a result that no reader gets. */
const unread = (log, externalIds) => (result) => {
  const { index, ok, value, failure, error } = result ?? {};
  const docketId = (value ?? (ok === true ? undefined : ok))?.docketId;
  if (docketId === undefined && !(failure ?? error)?.mayHaveCreated) return;
  const externalId = JSON.stringify(externalIds.get(index) ?? result.externalId);
  const what = docketId === undefined ? 'a docket may exist' : `docket ${docketId} was created`;
  log('warn', `a result of a batch was not read: ${what} index=${index} external_id=${externalId}`);
};

/** Batches whose first result may be here, though no one has read it. The native half logs the others. */
const FORGOTTEN = new FinalizationRegistry(({ first, report }) => first.then((text) => report(JSON.parse(text))));

class Batch {
  #client;
  #requests;
  #options;
  #signal;
  #begun;
  #cancellation;
  #pumping = Promise.resolve();
  #isPulling = false;
  #isStopped = false;
  /** Why the batch ends before its requests, if it does. */
  #failure;
  #first;
  #report;
  #externalIds = new Map();
  #forget = () => {};
  #results;

  /** @param client has `begin(options, cancellation)`, `prepared(request)`, `cancellation()`, `log` and `track` */
  constructor(client, requests, { signal, ...options }) {
    this.#client = client;
    this.#report = unread(client.log, this.#externalIds);
    this.#requests = requests;
    this.#options = options;
    this.#signal = checkSignal(signal);
    if (typeof requests?.[Symbol.asyncIterator] !== 'function' && typeof requests?.[Symbol.iterator] !== 'function') {
      throw invalidInput('requests', typeof requests, 'an iterable, or an async iterable');
    }
  }

  start() {
    if (this.#begun || this.#isStopped) return this;
    const requests = this.#requests;
    const isArray = Array.isArray(requests);
    if (isArray) requests.forEach((request, index) => this.#check(request, index));
    this.#cancellation = this.#client.cancellation();
    this.#begun = native(() => this.#client.begin(this.#options, this.#cancellation));
    const abort = () => {
      this.#cancellation.cancel();
      // Those of an array are counted: each says that it was not begun.
      if (!isArray) this.#end(this.#signal.reason);
    };
    if (this.#signal?.aborted) abort();
    this.#signal?.addEventListener('abort', abort);
    this.#forget = () => this.#signal?.removeEventListener('abort', abort);
    this.#pumping = this.#pump();
    // It keeps the program running until there is a result.
    this.#first = this.#begun.next();
    FORGOTTEN.register(this, { first: this.#first, report: this.#report }, this);
    this.#client.track(this.#pumping);
    return this;
  }

  #check(request, index) {
    const failure = checkRequest(this.#client.prepared(request));
    if (failure) throw errorOf(JSON.parse(failure), { index });
  }

  /** Supplies requests when they are wanted. */
  async #pump() {
    const requests = this.#requests;
    const iterator = requests[Symbol.asyncIterator]?.() ?? requests[Symbol.iterator]();
    let isOver = false;
    try {
      for (let index = 0; (await this.#begun.wanted()) === 'true' && !this.#isStopped; index++) {
        this.#isPulling = true;
        const { done, value } = await iterator.next();
        this.#isPulling = false;
        isOver = done === true;
        if (isOver || this.#isStopped) break;
        const request = this.#client.prepared(value);
        native(() => this.#begun.supply(request), { index });
        if (request.externalId) this.#externalIds.set(index, request.externalId);
      }
    } catch (error) {
      isOver = this.#isPulling;
      this.#end(error);
    }
    this.#begun.end();
    if (!isOver) await iterator.return?.();
  }

  /** Has no more requests taken. */
  #end(failure) {
    this.#failure ??= { error: failure };
    this.#isStopped = true;
    this.#begun.end();
  }

  async next() {
    this.start();
    const text = await (this.#takeFirst() ?? this.#begun.next());
    const { index, ok, failure } = JSON.parse(text) ?? {};
    if (index === undefined) {
      this.#forget();
      await (this.#isPulling ? undefined : this.#pumping);
      if (!this.#failure) return { done: true, value: undefined };
      const { error } = this.#failure;
      this.#failure = undefined;
      throw error;
    }
    const externalId = this.#externalIds.get(index);
    this.#externalIds.delete(index);
    const known = externalId === undefined ? { index } : { index, externalId };
    if (!failure) return { done: false, value: { ...known, ok: true, value: ok } };
    const cause = failure.kind === 'not-begun' && this.#signal?.aborted ? { cause: this.#signal.reason } : {};
    return { done: false, value: { ...known, ok: false, error: errorOf(failure, { ...known, ...cause }) } };
  }

  #takeFirst() {
    const first = this.#first;
    this.#first = undefined;
    FORGOTTEN.unregister(this);
    return first;
  }

  /** Ends the batch: waits for the open requests, whose results are logged. */
  async close() {
    this.#isStopped = true;
    if (!this.#begun) return;
    const first = this.#takeFirst();
    if (first) this.#report(JSON.parse(await first));
    await this.#begun.close();
    this.#forget();
    if (!this.#isPulling) await this.#pumping;
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
      results.forEach((result) => this.#report(result));
      throw error;
    }
  }

  then(onResults, onError) {
    this.#results ??= this.#all();
    return this.#results.then(onResults, onError);
  }
}

module.exports = { Batch };
