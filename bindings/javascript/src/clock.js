/**
 * The time of this machine, and the turns of its event loop. Timers are looked up each time: a test
 * may have its own in their place for a while.
 */

/** Timers cannot be longer. */
const LONGEST_MS = 2 ** 31 - 1;

/** Node's `queueMicrotask` costs more. */
const now = Promise.resolve();

export const clock = {
  /** It never goes back. Unit: milliseconds. */
  now: steady(() => performance.now()),
  /** Unit: milliseconds since 1970. */
  date: () => Date.now(),
  /** Calls `then` after a time, or earlier. Returns what takes that back. */
  after(milliseconds, then) {
    const { setTimeout, clearTimeout } = globalThis;
    const timer = setTimeout(then, Math.min(milliseconds, LONGEST_MS));
    return () => clearTimeout(timer);
  },
  /** Stops the time of a test until a promise is settled. Real time goes on. */
  hold: (_) => {},
  /** Calls `then` at the end of this turn. */
  soon: (then) => void now.then(then),
  /**
   * Calls `then` when everything was read that has come in until now. A loop that was busy finds
   * its timers over before it reads what has come meanwhile, be it an answer or the end of a
   * connection. Between two turns all of that is read.
   */
  afterPendingInput: (then) => setImmediate(() => setImmediate(then)),
};

/** A clock that never goes back: it goes on from its last time if `read` is set back, and stands still if `read` returns no number. */
function steady(read) {
  let nowMs = 0;
  let offsetMs = 0;
  return () => {
    const readMs = read() + offsetMs;
    if (readMs < nowMs) offsetMs += nowMs - readMs;
    else if (readMs >= nowMs) nowMs = readMs;
    return nowMs;
  };
}
