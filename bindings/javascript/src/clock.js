/** The time of this machine, and the turns of its event loop. */

/** Timers cannot be longer. */
const LONGEST_MS = 2 ** 31 - 1;

/** Node's `queueMicrotask` costs more. */
const now = Promise.resolve();

const nextTurn = globalThis.setImmediate ?? ((then) => setTimeout(then, 0));

export const clock = {
  /** It never goes back. Unit: milliseconds. */
  now: () => performance.now(),
  /** Unit: milliseconds since 1970. */
  date: () => Date.now(),
  /** Calls `then` after a time, or earlier. Returns what takes that back. */
  after(milliseconds, then) {
    const timer = setTimeout(then, Math.min(milliseconds, LONGEST_MS));
    return () => clearTimeout(timer);
  },
  /** Calls `then` when what else happens in this turn has happened. */
  soon: (then) => void now.then(then),
  /**
   * Calls `then` when everything was heard that has come in until now. A loop that was busy finds
   * its timers over before it reads what has come meanwhile, be it an answer or the end of a
   * connection. Between two turns all of that is read.
   */
  onceAllIsHeard: (then) => nextTurn(() => nextTurn(then)),
};
