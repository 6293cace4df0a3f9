/**
 * The results of a batch, which is sent while it is read: by one loop, to which each result is given
 * as it comes, or by `await`, all in the order of the requests. What came is given or logged, whatever
 * becomes of the rest.
 */

/** How many results may wait for a loop. */
const MOST_UNREAD = 1000;

export class Batch {
  #run;
  #writeLine;
  #isRead = false;
  #all;

  /**
   * @param run sends it, and returns a promise of its end: takes `drain`, `add(result)`, `room()`, which
   * waits until more requests may be taken, and `close()`, after which no one waits for a loop
   * @param writeLine takes what the log says of each result that no caller was given
   */
  constructor(run, writeLine) {
    this.#run = run;
    this.#writeLine = writeLine;
  }

  then(resolve, reject) {
    this.#all ??= this.#collected();
    return this.#all.then(resolve, reject);
  }

  [Symbol.asyncIterator]() {
    if (this.#isRead) throw new Error('a batch is read once: by one loop, or by await');
    this.#isRead = true;
    return this.#results();
  }

  async #collected() {
    const all = [];
    try {
      for await (const result of this) all[result.index] = result;
      return Object.freeze(all);
    } catch (error) {
      all.forEach((result) => this.#logUndelivered(result));
      throw error;
    }
  }

  async *#results() {
    /** Those that no one was given yet. */
    const arrived = [];
    /** Is aborted when a loop is left: nothing more is begun, and what is open is finished. */
    const drain = new AbortController();
    let isClosed = false;
    let failure;
    let wake;
    let changed = new Promise((resolve) => (wake = resolve));
    const change = () => {
      wake();
      changed = new Promise((resolve) => (wake = resolve));
    };
    const room = async () => {
      while (arrived.length >= MOST_UNREAD) {
        if (isClosed) throw new Error('the client is closed');
        await changed;
      }
    };
    const add = (result) => {
      arrived.push(result);
      change();
    };
    const close = () => {
      isClosed = true;
      change();
    };
    let isOver = false;
    const over = this.#run({ drain, add, room, close })
      .catch((error) => (failure = { error }))
      .then(() => {
        isOver = true;
        change();
      });
    try {
      for (;;) {
        while (arrived.length > 0) {
          const result = arrived.shift();
          change();
          yield result;
        }
        if (isOver) break;
        await changed;
      }
      if (failure) throw failure.error;
    } finally {
      drain.abort(new Error('the loop over the results ended early'));
      await over;
      arrived.forEach((result) => this.#logUndelivered(result));
    }
  }

  /**
   * Logs a result that no one was given, if something may have been created. It is a line and not a
   * warning of Node's, which comes too late for a program that ends now, and may be turned off.
   */
  #logUndelivered({ index, externalId, ok, value, error }) {
    if (ok ? value.fromLedger : !error.mayHaveCreated) return;
    const named = externalId === undefined ? '' : ` (externalId ${JSON.stringify(externalId)})`;
    const what = ok ? `created docket ${value.docketId}` : `${error.name}: ${error.message}`;
    this.#writeLine(`voice-calling: a batch ended before this result was read: requests[${index}]${named}: ${what}`);
  }
}
