/** The keys by which a ledger knows creates. */
import { jsonText } from './json_text.js';
import { describe, invalidInput } from './words.js';

/** Returns the key of a single create as the client without I/O has it; `undefined` without one. */
export function onceOf(key, ledger) {
  if (key === undefined) return undefined;
  checkLedger(key, 'options.once', ledger);
  return { key, waits: waits(ledger) };
}

/** The keys of a batch. */
export class Keys {
  #once;
  #ledger;
  #most;
  /** Where each key was found. */
  #paths = new Map();

  /**
   * @param once the option: `'externalId'` for the key of requests without `once`
   * @param most how many keys are compared with each other
   */
  constructor(once, ledger, most) {
    if (once !== undefined) checkLedger(once, 'options.once', ledger);
    this.#once = once;
    this.#ledger = ledger;
    this.#most = most;
  }

  /** Returns the key of a request, `null` without one. */
  of(request, once, index) {
    const isNamed = once === undefined && this.#once === 'externalId';
    const key = isNamed ? request.external_id : once;
    const path = `requests[${index}].${isNamed ? 'externalId' : 'once'}`;
    if (key === undefined && isNamed) throw invalidInput(path, 'nothing', 'an externalId, since it is the key (once)');
    if (key === undefined) return null;
    checkLedger(key, path, this.#ledger);
    const first = this.#paths.get(key);
    if (first) throw invalidInput(path, `${describe(key)}, as in ${first}`, 'a key of its own for each create');
    if (this.#paths.size < this.#most) this.#paths.set(key, path);
    return key;
  }

  /** Returns the option `once` of the client without I/O, or `undefined` if no request can have a key. */
  once(areAllKnown) {
    const isPossible = areAllKnown ? this.#paths.size > 0 : this.#ledger !== undefined;
    return isPossible ? { waits: waits(this.#ledger) } : undefined;
  }
}

function checkLedger(key, path, ledger) {
  if (ledger) return;
  throw invalidInput(path, `${describe(key)} for a client without a ledger`, 'a key for a client with the option ledger');
}

function waits(ledger) {
  return ledger.waitInProgress === true;
}

/**
 * Returns what compares requests without keys, up to so many of them. It warns of the first that calls
 * the same person for the same as one before.
 */
export function warnOfEqual(warn, most) {
  const indexes = new Map();
  let isOver = false;
  return (request, index) => {
    if (isOver) return;
    const text = jsonText(request);
    const first = indexes.get(text);
    indexes.set(text, index);
    if (first !== undefined) {
      warn(`requests[${index}] is equal to requests[${first}], and neither has a key (once): both are sent`);
    }
    isOver = first !== undefined || indexes.size >= most;
    if (isOver) indexes.clear();
  };
}
