/**
 * The results of a batch, each as it comes: an async iterable of them, and a promise of all in the
 * order of the requests. What has come stays known, whatever becomes of the rest.
 */
export class Batch {
  #results;
  /** Those that came, in their order. */
  #arrived = [];
  #isOver = false;
  #failure = undefined;
  #waiting = [];
  #all;
  #isRead = false;
  /** Whether a caller awaits all results. */
  #isAwaited = false;
  #drain;
  #onUndelivered;

  /**
   * @param count how many requests there are
   * @param run begins it: takes a listener of results, and returns a promise of its end
   * @param drain begins nothing more, and ends it when the open requests have ended
   * @param onUnread is called with a failure of all that no caller awaits
   * @param onUndelivered is called with each result that a loop was not given before it was left
   */
  constructor(count, run, { drain, onUnread, onUndelivered }) {
    this.#results = Array(count).fill(undefined);
    this.#drain = drain;
    this.#onUndelivered = onUndelivered;
    this.#all = run((result) => this.#add(result)).then(
      () => this.#end(),
      (error) => {
        this.#failure = { error };
        this.#end();
        setTimeout(() => this.#isRead || onUnread(error));
        throw error;
      },
    );
    // Those who iterate get it there, and the process of a program that does so later goes on.
    this.#all.catch(() => {});
  }

  /** What is known by now, by the index of the request; otherwise `undefined`. */
  get results() {
    return Object.freeze([...this.#results]);
  }

  then(resolve, reject) {
    this.#isRead = true;
    this.#isAwaited ||= typeof resolve === 'function';
    return this.#all.then(resolve, reject);
  }

  catch(reject) {
    return this.then(undefined, reject);
  }

  finally(then) {
    this.#isRead = true;
    return this.#all.finally(then);
  }

  get [Symbol.toStringTag]() {
    return 'Batch';
  }

  [Symbol.asyncIterator]() {
    this.#isRead = true;
    let given = 0;
    const next = async () => {
      while (given >= this.#arrived.length && !this.#isOver) {
        await new Promise((resolve) => this.#waiting.push(resolve));
      }
      if (given < this.#arrived.length) return { done: false, value: this.#arrived[given++] };
      if (this.#failure) throw this.#failure.error;
      return { done: true, value: undefined };
    };
    const leave = async (value) => {
      await this.#leaveAfter(given);
      return { done: true, value };
    };
    return {
      next,
      return: leave,
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /**
   * Waits for the open requests, and sends nothing more. A loop that was left has no other way to
   * report the results after those that it was given.
   */
  async #leaveAfter(given) {
    if (!this.#isOver) {
      this.#drain(new Error('the loop over the results ended early'));
      await this.#all.catch(() => {});
    }
    if (!this.#isAwaited) for (const result of this.#arrived.slice(given)) this.#onUndelivered(result);
  }

  #add(result) {
    if (this.#results[result.index] !== undefined) return;
    this.#results[result.index] = result;
    this.#arrived.push(result);
    this.#wakeAll();
  }

  #end() {
    this.#isOver = true;
    this.#wakeAll();
    return this.results;
  }

  #wakeAll() {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
