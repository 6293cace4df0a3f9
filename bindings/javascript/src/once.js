/** The keys by which a ledger knows creates. */
import { jsonText } from './json_text.js';
import { describe, invalidInput } from './words.js';

/**
 * Returns the key of each request of a batch, with the name of the member that has it.
 *
 * @param once the option: `'externalId'` for the key of requests without `once`
 */
export function keysOf(requests, once) {
  return requests.map((request, index) =>
    request.once === undefined && once === 'externalId'
      ? { key: request.external_id, path: `requests[${index}].externalId` }
      : { key: request.once, path: `requests[${index}].once` },
  );
}

/**
 * Returns the keys as the client without I/O has them; `undefined` if there are none.
 *
 * @param {{ key: string | undefined, path: string }[]} keys
 * @param once the option
 */
export function checkedOnce(keys, once, ledger) {
  const given = keys.filter(({ key }) => key !== undefined);
  if (once === undefined && given.length === 0) return undefined;
  if (!ledger) {
    const { key, path } = once === undefined ? given[0] : { key: once, path: 'options.once' };
    throw invalidInput(path, `${describe(key)} for a client without a ledger`, 'a key for a client with the option ledger');
  }
  const paths = new Map();
  for (const { key, path } of given) {
    const first = paths.get(key);
    if (first) throw invalidInput(path, `${describe(key)}, as in ${first}`, 'a key of its own for each create');
    paths.set(key, path);
  }
  if (given.length === 0) return undefined;
  return { keys: keys.map(({ key }) => key ?? null), waits: ledger.waitInProgress === true };
}

/** Warns if two requests of a batch call the same person for the same. */
export function warnOfEqual(requests, once, warn) {
  const indexes = new Map();
  for (const [index, request] of requests.entries()) {
    if (typeof once?.keys[index] === 'string') continue;
    const text = jsonText(request);
    if (indexes.has(text)) {
      warn(`requests[${index}] is equal to requests[${indexes.get(text)}], and neither has a key (once): both are sent`);
      return;
    }
    indexes.set(text, index);
  }
}
