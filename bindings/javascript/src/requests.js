/**
 * The requests of a batch, and the keys by which a ledger knows creates. Those of an array are all
 * checked before it begins; those of another iterable are taken when they can be sent.
 */
import { functions } from './wit.js';
import { describe, invalidInput, refuse } from './words.js';

/** How many requests of an iterable that need not be waited for are taken at once. */
const AT_ONCE = 64;

/** How many requests of an iterable are compared with each other, and how many keys. */
const MOST_COMPARED = 10_000;

export class Requests {
  /** The requests that have no result yet, by their indexes: what identifies each for the user. */
  open = new Map();
  /** All that an array has, as the client without I/O takes them. */
  all = undefined;
  /** How many were taken. */
  count = 0;
  #once;
  #ledger;
  #warn;
  #most;
  /** Where each key was found. */
  #keys = new Map();
  /** The indexes of the requests without keys, by their JSON. */
  #texts = new Map();
  #isComparing = true;
  #given;
  #isAsync;
  /** None before the first request is taken. */
  #iterator = undefined;
  #isTaking = false;
  #isOver = false;
  #failure = undefined;

  /** @param once the option: `'externalId'` for the key of requests without `once` */
  constructor(given, once, { ledger, warn }) {
    if (!isIterable(given)) throw refuse('requests', given, 'an array, or another iterable of requests');
    if (once !== undefined) checkLedger(once, 'options.once', ledger);
    this.#once = once;
    this.#ledger = ledger;
    this.#warn = warn;
    this.#given = given;
    this.#isAsync = isFunction(given[Symbol.asyncIterator]);
    this.#most = Array.isArray(given) ? Infinity : MOST_COMPARED;
    if (Array.isArray(given)) this.all = this.#event(Array.from(given, (value) => this.#checked(value)), true);
  }

  get areAllTaken() {
    return this.all !== undefined || this.#isOver;
  }

  /** Takes the next ones, so many at most. The failure of one comes after those before it. */
  async next(most = this.#isAsync ? 1 : AT_ONCE) {
    if (this.#failure) throw this.#failure.error;
    const taken = [];
    this.#isTaking = true;
    try {
      while (taken.length < most && !this.#isOver) {
        this.#iterator ??= this.#given[this.#isAsync ? Symbol.asyncIterator : Symbol.iterator]();
        const step = this.#iterator.next();
        const { done, value } = this.#isAsync ? await step : step;
        if (done) this.#isOver = true;
        else taken.push(this.#checked(value));
      }
    } catch (error) {
      if (taken.length === 0) throw error;
      this.#failure = { error };
    } finally {
      this.#isTaking = false;
    }
    return this.#event(taken, this.#isOver);
  }

  /** Ends the iterable. What was asked of it before may never come, and is not waited for. */
  async close() {
    if (!this.#iterator || this.#isOver) return;
    this.#isOver = true;
    const ended = this.#return();
    if (!this.#isTaking) await ended;
  }

  async #return() {
    try {
      await this.#iterator.return?.();
    } catch (error) {
      this.#warn('the requests of a batch failed at their end', error);
    }
  }

  #checked(value) {
    const index = this.count;
    const { once, ...request } = functions.CreateDocketsV2.write(value, `requests[${index}]`);
    const key = this.#keyOf(request, once, index);
    this.count++;
    return { index, request, key };
  }

  /** Returns the key of a request, `null` without one. */
  #keyOf(request, once, index) {
    const isNamed = once === undefined && this.#once === 'externalId';
    const key = isNamed ? request.external_id : once;
    const path = `requests[${index}].${isNamed ? 'externalId' : 'once'}`;
    if (key === undefined && isNamed) throw invalidInput(path, 'nothing', 'an externalId, since it is the key (once)');
    if (key === undefined) return null;
    checkLedger(key, path, this.#ledger);
    const first = this.#keys.get(key);
    if (first) throw invalidInput(path, `${describe(key)}, as in ${first}`, 'a key of its own for each create');
    if (this.#keys.size < this.#most) this.#keys.set(key, path);
    return key;
  }

  #event(taken, isLast) {
    for (const { index, request, key } of taken) {
      if (key === null && this.#isComparing) this.#compare(request, index);
      const { external_id: externalId } = request;
      this.open.set(index, externalId === undefined ? { index } : { index, externalId });
    }
    return {
      requests: taken.map(({ request }) => request),
      keys: taken.map(({ key }) => key),
      is_last: isLast,
    };
  }

  /** Warns of the first request without a key that calls the same person for the same as one before. */
  #compare(request, index) {
    const text = JSON.stringify(request);
    const first = this.#texts.get(text);
    this.#texts.set(text, index);
    if (first !== undefined) {
      this.#warn(`requests[${index}] is equal to requests[${first}], and neither has a key (once): both are sent`);
    }
    this.#isComparing = first === undefined && this.#texts.size < this.#most;
    if (!this.#isComparing) this.#texts.clear();
  }
}

/** Refuses a key without a ledger. */
export function checkLedger(key, path, ledger) {
  if (ledger) return;
  throw invalidInput(path, `${describe(key)} for a client without a ledger`, 'a key for a client with the option ledger');
}

function isIterable(value) {
  if (typeof value !== 'object' || value === null) return false;
  return isFunction(value[Symbol.asyncIterator]) || isFunction(value[Symbol.iterator]);
}

function isFunction(value) {
  return typeof value === 'function';
}
