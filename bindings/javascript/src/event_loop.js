/** The order in which the event loop comes to things. */

/**
 * Calls `then` when everything was heard that has come in until now. A loop that was busy finds
 * its timers over before it reads what has come meanwhile, be it an answer or the end of a
 * connection. Two immediates have a whole turn between them, in which all that is read.
 */
export function onceAllIsHeard(then) {
  setImmediate(() => setImmediate(then));
}
