/**
 * The component's log, a JSON line for each attempt, for whoever listens. The component runs while
 * it writes, so each line is told a moment later; and whatever becomes of it is no failure of the
 * call.
 */
import { inspect } from 'node:util';
import { camel } from './words.js';

/** Takes pieces of lines, and tells `listener` each as an object. */
export function attemptLog(listener) {
  return lines((line) => tell(listener, line));
}

/** Takes pieces of lines, and writes them to stderr, where that can be written to. */
export function stderrLog() {
  return lines((line) => write(`${line}\n`));
}

function lines(take) {
  const decoder = new TextDecoder('utf-8');
  let rest = '';
  return (bytes) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) queueMicrotask(() => take(line));
  };
}

async function tell(listener, line) {
  const entry = {};
  for (const [name, value] of Object.entries(JSON.parse(line))) {
    entry[camel(name.replaceAll('_', '-'))] = value;
  }
  try {
    await listener(Object.freeze(entry));
  } catch (error) {
    process.emitWarning(`onAttempt failed: ${inspect(error)}`, 'VoiceCallingWarning');
  }
}

/** Lines on their way to stderr. */
const onTheirWay = new Set();

/**
 * Overlooks whatever becomes of the line: a closed pipe, a full disk. (The process would end, and
 * with Node's own console as well from the second line on.)
 */
function write(line) {
  const { stderr } = process;
  const it = {};
  if (onTheirWay.size === 0) stderr.on('error', overlook);
  onTheirWay.add(it);
  // What broke is told a moment after the write is over.
  const over = () => setImmediate(() => {
    if (onTheirWay.delete(it) && onTheirWay.size === 0) stderr.off('error', overlook);
  });
  try {
    stderr.write(line, over);
  } catch {
    over();
  }
}

function overlook() {}
