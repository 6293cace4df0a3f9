/**
 * The listeners of a user, and the signals that a user gives. A listener that fails does not affect
 * a call.
 */
import { camel } from './words.js';

/** Calls a listener. What it throws, or rejects with, becomes a warning. */
export async function notify(name, listener, entry, warn) {
  try {
    await listener(entry);
  } catch (error) {
    warn(`${name} failed`, error);
  }
}

/** Returns what passes on each line of the log of attempts, a JSON object, to `onAttempt`, when this turn is over. */
export function attemptLog(onAttempt, warn) {
  return (line) => {
    const entries = Object.entries(JSON.parse(line)).map(([name, value]) => [camel(name), value]);
    queueMicrotask(() => notify('onAttempt', onAttempt, Object.freeze(Object.fromEntries(entries)), warn));
  };
}

/** One listener for each signal: many calls may have one, and Node would take that for a leak. */
export class Signals {
  #listeners = new WeakMap();

  /** Calls `then` when the signal is aborted; returns what takes that back. */
  listen(signal, then) {
    if (signal.aborted) {
      then();
      return () => {};
    }
    let listener = this.#listeners.get(signal);
    if (!listener) {
      const all = new Set();
      listener = { all, notifyAll: () => [...all].forEach((it) => it()) };
      this.#listeners.set(signal, listener);
      signal.addEventListener('abort', listener.notifyAll, { once: true });
    }
    const { all, notifyAll } = listener;
    all.add(then);
    return () => {
      all.delete(then);
      if (all.size > 0) return;
      signal.removeEventListener('abort', notifyAll);
      this.#listeners.delete(signal);
    };
  }
}
