/** The results of tools, which are one text. */
import { text } from './json_text.js';

/** How many characters a result has at most: an agent pays for each. */
const MOST_RETURNED = 40_000;

export const failed = (message) => ({ ...result(message), isError: true });

export const answered = (value) => result(text(value));

function result(whole) {
  const rest = whole.length - MOST_RETURNED;
  const shown = rest > 0 ? `${whole.slice(0, MOST_RETURNED)}… and ${rest} more characters that are left out` : whole;
  return { content: [{ type: 'text', text: shown }] };
}
