/** The component's log, a JSON line for each attempt, for whoever listens. */
import { camel } from './words.js';

/**
 * Takes pieces of lines, and tells `listener` each as an object.
 *
 * The component runs while it writes, so the listener is called a moment later; and what it throws
 * is not the call's failure.
 */
export function attemptLog(listener) {
  const decoder = new TextDecoder('utf-8');
  let rest = '';
  return (bytes) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) queueMicrotask(() => tell(listener, line));
  };
}

function tell(listener, line) {
  try {
    const entry = {};
    for (const [name, value] of Object.entries(JSON.parse(line))) {
      entry[camel(name.replaceAll('_', '-'))] = value;
    }
    listener(Object.freeze(entry));
  } catch (error) {
    process.emitWarning(`onAttempt failed: ${error?.stack ?? error}`, 'VoiceCallingWarning');
  }
}
