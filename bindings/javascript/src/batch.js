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
  #wake = [];
  #all;
  #isRead = false;
  #abandon;

  /**
   * @param count how many requests there are
   * @param run begins it: takes what takes a result, and returns a promise of its end
   * @param abandon ends it early
   * @param unread hears of a failure of all that nobody awaits
   */
  constructor(count, run, abandon, unread) {
    this.#results = Array(count).fill(undefined);
    this.#abandon = abandon;
    this.#all = run((result) => this.#take(result)).then(
      () => this.#end(),
      (error) => {
        this.#failure = { error };
        this.#end();
        setTimeout(() => this.#isRead || unread(error));
        throw error;
      },
    );
    // Those who iterate hear of it there, and the process of a program that does so later goes on.
    this.#all.catch(() => {});
  }

  /** What is known by now, by the index of the request; `undefined` where nothing is. */
  get results() {
    return Object.freeze([...this.#results]);
  }

  then(resolve, reject) {
    this.#isRead = true;
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
    const results = this.#eachAsItComes();
    return {
      next: () => results.next(),
      // A generator would go on until its next result.
      return: async (value) => {
        await this.#leave();
        return results.return(value);
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async *#eachAsItComes() {
    let next = 0;
    for (;;) {
      while (next < this.#arrived.length) yield this.#arrived[next++];
      if (this.#isOver) break;
      await new Promise((resolve) => this.#wake.push(resolve));
    }
    if (this.#failure) throw this.#failure.error;
  }

  /** Who leaves the loop does not wait for the rest. What is known of it is in `results`. */
  async #leave() {
    if (this.#isOver) return;
    this.#abandon(new Error('the loop over the results ended early'));
    await this.#all.catch(() => {});
  }

  #take(result) {
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
    for (const wake of this.#wake.splice(0)) wake();
  }
}
