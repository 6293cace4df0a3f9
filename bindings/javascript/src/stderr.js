/** Lines of the log on Node's stderr. */

/** Those that are being written. */
const pending = new Set();

/**
 * Writes a line to stderr. A closed pipe or a full disk is not a failure. (Otherwise the process
 * would end, and with Node's own console as well from the second line on.)
 */
export function writeLine(line) {
  const { stderr } = process;
  const write = {};
  if (pending.size === 0) stderr.on('error', ignore);
  pending.add(write);
  // A failure is reported a moment after the write is over.
  const over = () => setImmediate(() => {
    if (pending.delete(write) && pending.size === 0) stderr.off('error', ignore);
  });
  try {
    stderr.write(`${line}\n`, over);
  } catch {
    over();
  }
}

function ignore() {}
