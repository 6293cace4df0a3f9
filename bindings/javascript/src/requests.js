/**
 * The requests of a batch. Those of an array are all checked before it begins; those of another
 * iterable are taken when they can be sent.
 */
import { Keys, warnOfEqual } from './once.js';
import { functions } from './wit.js';
import { refuse } from './words.js';

/** How many requests of an iterable that need not be waited for are taken at once. */
const AT_ONCE = 64;

/** How many requests of an iterable are compared with each other. */
const MOST_COMPARED = 10_000;

export class Requests {
  /** The requests that have no result yet, by their indexes: what identifies each for the user. */
  open = new Map();
  /** All that an array has, as the client without I/O takes them. */
  all = undefined;
  #count = 0;
  #keys;
  #compare;
  #warn;
  #given;
  #isAsync;
  /** None before the first request is taken. */
  #iterator = undefined;
  #isTaking = false;
  #isOver = false;
  #failure = undefined;

  /** @param once the option */
  constructor(given, once, { ledger, warn }) {
    if (!isIterable(given)) throw refuse('requests', given, 'an array, or another iterable of requests');
    const most = Array.isArray(given) ? Infinity : MOST_COMPARED;
    this.#keys = new Keys(once, ledger, most);
    this.#compare = warnOfEqual(warn, most);
    this.#warn = warn;
    this.#given = given;
    this.#isAsync = isFunction(given[Symbol.asyncIterator]);
    if (Array.isArray(given)) this.all = this.#event(Array.from(given, (value) => this.#checked(value)), true);
  }

  /** How the client without I/O has the option `once`; `undefined` if no request may have a key. */
  get once() {
    return this.#keys.once(this.all !== undefined);
  }

  /** How many were taken. */
  get count() {
    return this.#count;
  }

  /** Takes the next ones, so many at most. The failure of one comes after those before it. */
  async next(most = this.#isAsync ? 1 : AT_ONCE) {
    if (this.#failure) throw this.#failure.error;
    const taken = [];
    this.#isTaking = true;
    try {
      while (taken.length < most && !this.#isOver) {
        const step = this.#step();
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

  #step() {
    this.#iterator ??= this.#given[this.#isAsync ? Symbol.asyncIterator : Symbol.iterator]();
    return this.#iterator.next();
  }

  #checked(value) {
    const index = this.#count;
    const { once, ...request } = functions.CreateDocketsV2.write(value, `requests[${index}]`);
    const key = this.#keys.of(request, once, index);
    this.#count++;
    return { index, request, key };
  }

  #event(taken, isLast) {
    for (const { index, request, key } of taken) {
      if (key === null) this.#compare(request, index);
      const { external_id: externalId } = request;
      this.open.set(index, externalId === undefined ? { index } : { index, externalId });
    }
    return {
      requests: taken.map(({ request }) => request),
      keys: taken.map(({ key }) => key),
      is_last: isLast,
    };
  }
}

function isIterable(value) {
  if (typeof value !== 'object' || value === null) return false;
  return isFunction(value[Symbol.asyncIterator]) || isFunction(value[Symbol.iterator]);
}

function isFunction(value) {
  return typeof value === 'function';
}
