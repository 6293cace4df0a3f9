/** Lines to stderr, whatever becomes of them: a closed pipe or a full disk is not a failure. */

/** Lines on their way. */
const onTheirWay = new Set();

/**
 * Writes a line, where that can be done. (Otherwise the process would end, and with Node's own
 * console as well from the second line on.)
 */
export function writeLine(line) {
  const { stderr } = process;
  const it = {};
  if (onTheirWay.size === 0) stderr.on('error', overlook);
  onTheirWay.add(it);
  // A failure is reported a moment after the write is over.
  const over = () => setImmediate(() => {
    if (onTheirWay.delete(it) && onTheirWay.size === 0) stderr.off('error', overlook);
  });
  try {
    stderr.write(`${line}\n`, over);
  } catch {
    over();
  }
}

function overlook() {}
