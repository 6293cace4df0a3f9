/**
 * The results of a batch, each as it comes: an async iterable of them, and a promise of all in the
 * order of the requests. What has come stays known, whatever becomes of the rest; only what a loop
 * was given of an iterable is forgotten, unless all results are awaited.
 */

/** How many results of an iterable may wait for a loop. */
const MOST_UNREAD = 1000;

export class Batch {
  /** How many requests there are, as far as is known. */
  #count;
  /** Whether all results stay known. */
  #isKept;
  /** Those that came and are not forgotten, in their order. */
  #arrived = [];
  /** How many came before these. */
  #forgotten = 0;
  #isOver = false;
  #failure = undefined;
  #waiting = [];
  #all;
  #isLooped = false;
  /** Whether a caller waits for its end. */
  #isHandled = false;
  /** Whether a caller awaits all results. */
  #isAwaited = false;
  #isClosed = false;
  /** Is aborted when a loop is left: nothing more is begun, and what is open is finished. */
  #drain = new AbortController();
  #writeLine;

  /**
   * @param count how many requests an array has; `undefined` for those of an iterable
   * @param run begins it, and returns a promise of its end: takes `drain`, `add(result)`, `room()`, which
   * waits until more requests may be taken, and `close()`, after which no one waits for a loop
   * @param warn takes a failure of all that no caller awaits
   * @param writeLine takes what the log says of each result that no caller was given before a loop was left, or it failed
   */
  constructor(count, run, { warn, writeLine }) {
    this.#count = count ?? 0;
    this.#isKept = count !== undefined;
    this.#writeLine = writeLine;
    const results = {
      drain: this.#drain,
      add: (result) => this.#add(result),
      room: () => this.#room(),
      close: () => this.#close(),
    };
    this.#all = run(results).then(
      () => this.#end(),
      (error) => {
        this.#failure = { error };
        this.#end();
        if (this.#isHandled) this.#reportUndelivered();
        else setTimeout(() => this.#reportFailure(error, warn));
        throw error;
      },
    );
    // Those who iterate get it there, and the process of a program that does so later goes on.
    this.#all.catch(() => {});
  }

  /** What is known by now, by the index of the request; otherwise `undefined`. */
  get results() {
    const results = Array(this.#count).fill(undefined);
    for (const result of this.#arrived) results[result.index] = result;
    return Object.freeze(results);
  }

  then(resolve, reject) {
    const isAwaited = typeof resolve === 'function';
    this.#isAwaited ||= isAwaited;
    return this.#handled(isAwaited).then(resolve, reject);
  }

  catch(reject) {
    return this.then(undefined, reject);
  }

  finally(then) {
    return this.#handled(false).finally(then);
  }

  get [Symbol.toStringTag]() {
    return 'Batch';
  }

  [Symbol.asyncIterator]() {
    this.#isLooped = true;
    let given = 0;
    const next = async () => {
      for (;;) {
        given = Math.max(given, this.#forgotten);
        const at = given - this.#forgotten;
        if (at < this.#arrived.length) {
          given++;
          return { done: false, value: this.#give(at) };
        }
        if (this.#isOver) break;
        await this.#change();
      }
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

  /** Returns a promise of all results, or of the end if they are not awaited. */
  async #handled(isAwaited) {
    this.#isHandled = true;
    this.#wakeAll();
    if (isAwaited && this.#forgotten > 0) {
      throw new Error('a loop was given results of this batch: only those of an array can be awaited then');
    }
    await this.#all;
    return this.results;
  }

  /** Returns a result to a loop. */
  #give(at) {
    const result = this.#arrived[at];
    if (this.#isKept || this.#isAwaited) return result;
    this.#arrived.shift();
    this.#forgotten++;
    this.#wakeAll();
    return result;
  }

  /**
   * Waits for the open requests, and sends nothing more. A loop that was left has no other way to
   * report the results after those that it was given.
   */
  async #leaveAfter(given) {
    if (!this.#isOver) {
      this.#drain.abort(new Error('the loop over the results ended early'));
      await this.#all.catch(() => {});
    }
    if (this.#isAwaited && !this.#failure) return;
    for (const result of this.#arrived.slice(Math.max(0, given - this.#forgotten))) logUndelivered(result, this.#writeLine);
  }

  #reportFailure(error, warn) {
    if (!this.#isHandled && !this.#isLooped) warn('a batch that is not awaited failed', error);
    this.#reportUndelivered();
  }

  /** A loop is given them, or reports them when it is left. */
  #reportUndelivered() {
    if (!this.#isLooped) this.#arrived.forEach((result) => logUndelivered(result, this.#writeLine));
  }

  async #room() {
    while (!this.#hasRoom()) {
      if (this.#isClosed) throw new Error('the client is closed');
      await this.#change();
    }
  }

  #hasRoom() {
    const isAllWanted = this.#isAwaited || (this.#isHandled && !this.#isLooped);
    return isAllWanted || this.#arrived.length < MOST_UNREAD;
  }

  #close() {
    this.#isClosed = true;
    this.#wakeAll();
  }

  #add(result) {
    this.#count = Math.max(this.#count, result.index + 1);
    this.#arrived.push(result);
    this.#wakeAll();
  }

  #end() {
    this.#isOver = true;
    this.#wakeAll();
  }

  #change() {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wakeAll() {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/**
 * Logs a result that no one was given, if something may have been created. It is a line and not a
 * warning of Node's, which comes too late for a program that ends now, and may be turned off.
 */
function logUndelivered({ index, externalId, ok, value, error }, writeLine) {
  if (ok ? value.fromLedger : !error.mayHaveCreated) return;
  const named = externalId === undefined ? '' : ` (externalId ${JSON.stringify(externalId)})`;
  const what = ok ? `created docket ${value.docketId}` : `${error.name}: ${error.message}`;
  writeLine(`voice-calling: a batch ended before this result was read: requests[${index}]${named}: ${what}`);
}
