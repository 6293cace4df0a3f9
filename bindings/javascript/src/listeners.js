/** The listeners of a user. One that fails does not affect a call. */
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
