/**
 * The log of attempts, a line of JSON for each, for a listener. Each line is reported a moment
 * later; and whatever becomes of it is not a failure of the call.
 */
import { camel } from './words.js';

/** Tells `listener` each line as an object. */
export function attemptLog(listener, warn) {
  return (line) => {
    const entry = {};
    for (const [name, value] of Object.entries(JSON.parse(line))) {
      entry[camel(name.replaceAll('_', '-'))] = value;
    }
    later('onAttempt', listener, Object.freeze(entry), warn);
  };
}

/** Calls a listener of the user when this turn is over. */
export function later(name, listener, told, warn) {
  queueMicrotask(() => notify(name, listener, told, warn));
}

/** Calls a listener of the user. What it throws becomes a warning. */
export async function notify(name, listener, told, warn) {
  try {
    await listener(told);
  } catch (error) {
    warn(`${name} failed`, error);
  }
}
