/** Free-form JSON without loss of digits: its numbers are texts with a mark until they are written. */
import { randomUUID } from 'node:crypto';

const MARK = `${randomUUID()}:`;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Parses JSON whose numbers `text` writes as they were. */
export const marked = (json) => JSON.parse(json.replace(TOKENS, (it) => (it.startsWith('"') ? it : `"${MARK}${it}"`)));

/** Writes what `marked` has parsed, a part of it, or other values. A text is written as it is. */
export function text(value) {
  const json = typeof value === 'string' && !value.startsWith(MARK) ? value : JSON.stringify(value);
  return json.replaceAll(new RegExp(`"${MARK}([^"]*)"`, 'g'), '$1');
}
