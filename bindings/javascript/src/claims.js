/**
 * The claims of a client in its ledger, each until the outcome of its create is recorded. The ledger
 * may be one of the user's own.
 */
import { messageOf } from './exchange.js';
import { createdId } from './ledger.js';
import { METHODS } from './wit.js';
import { absent, camel } from './words.js';

/** Paths can be long, and the reason stands after them. */
const MOST_CHARACTERS = 5000;

const reasonOf = (error) => messageOf(error, MOST_CHARACTERS);

export class Claims {
  #ledger;
  #clock;
  #warn;
  /** Those that the ledger has not refused, and that were not recorded, by their numbers. */
  #open = new Map();

  /** @param {any} host what it has of the world */
  constructor({ ledger, clock, warn }) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#warn = warn;
  }

  /**
   * Asks for a key. `onAnswer` is called with what was found, `null` if the key is taken, unless the
   * claim was recorded or given up meanwhile.
   */
  begin({ claim: number, item, key, function: fn, arguments: given }, operation, onAnswer) {
    const answered = this.#ask({ key, function: fn, arguments: given });
    const taken = answered.then((answer) => answer.taken);
    const claim = { operation, item: item ?? undefined, key, fn, taken, isTaken: false };
    this.#open.set(number, claim);
    const passed = answered.then((answer) => {
      if (this.#open.get(number) !== claim) return;
      claim.isTaken = answer.taken !== undefined;
      if (!claim.isTaken) this.#open.delete(number);
      onAnswer(encoded(answer, fn));
    });
    this.#clock.hold(passed);
  }

  /** Records how a create has ended. What its operation reports from now on waits for that. */
  record({ claim: number, ...outcome }) {
    const claim = this.#open.get(number);
    if (!claim) return;
    const { operation, isTaken } = claim;
    this.#open.delete(number);
    const recorded = this.#record(claim, outcome);
    this.#clock.hold(recorded);
    // One that is not answered may wait for as long as others lock the file.
    if (!isTaken) return;
    // Without the values, which would be kept as long as the operation.
    operation.recorded = Promise.all([operation.recorded, recorded]).then(() => {});
  }

  /** Reports a docket that was fetched or verified. */
  async observe(sighting) {
    try {
      await this.#ledger.observe(sighting);
    } catch (error) {
      this.#warn(`that docket ${sighting.docket_id} was seen could not be recorded: ${reasonOf(error)}`);
    }
  }

  /** Gives up all claims, since the instance is lost: what was sent is unknown, the rest is free. */
  giveUp() {
    for (const [claim, { operation, item }] of this.#open) {
      const wasSent = operation.creating.has(item);
      const message = `the client failed ${wasSent ? 'after' : 'before'} it was sent`;
      this.record({ claim, state: wasSent ? 'unknown' : 'free', message });
    }
  }

  /** @returns {Promise<{ taken?: string, entry?: any, failed?: string }>} */
  async #ask(create) {
    try {
      return checked(await this.#ledger.claim(create));
    } catch (error) {
      return { failed: reasonOf(error) };
    }
  }

  /** Has the ledger record an outcome. One that cannot be recorded is reported. */
  async #record({ key, fn, taken }, outcome) {
    const name = await taken;
    if (name === undefined) return;
    try {
      await this.#ledger.record(key, name, outcome);
    } catch (error) {
      const id = createdId({ function: fn, answer: outcome.answer });
      const created = id === undefined ? '' : ` (it has created ${id})`;
      this.#warn(`how the create with the key ${JSON.stringify(key)} ended${created} could not be recorded: ${reasonOf(error)}`);
    }
  }
}

const STATES = ['begun', 'done', 'unknown', 'free'];

/**
 * Returns the answer of a ledger, which may be the user's own, or one that was damaged. What cannot be
 * understood is a failure: nothing is sent, and the other operations go on.
 */
function checked(answer) {
  const { taken, entry } = answer ?? {};
  if (absent(entry) && isText(taken) && taken !== '') return { taken };
  if (absent(taken) && isEntry(entry)) return { entry };
  return { failed: `the ledger answered neither the name of a claim nor an entry, but ${JSON.stringify(answer)}` };
}

function isEntry(entry) {
  const { function: fn, state, begun_ms: begunMs, answer, differs_in: name } = entry ?? {};
  const isComplete = isText(fn) && STATES.includes(state) && Number.isSafeInteger(begunMs) && begunMs >= 0;
  return isComplete && [answer, name].every((it) => absent(it) || isText(it));
}

function isText(value) {
  return typeof value === 'string' && value.isWellFormed();
}

/**
 * Returns the ledger's answer as the client without I/O takes it, with the names that users know.
 *
 * @param {{ taken?: string, entry?: any, failed?: string }} answer
 */
function encoded({ taken, entry, failed }, fn) {
  if (taken !== undefined) return null;
  if (!entry) return { Failed: failed };
  const { function: other, state, begun_ms, answer, differs_in: name } = entry;
  const known = other === fn ? fn : (METHODS.get(other) ?? other);
  const argument = name?.startsWith('extra_config.') ? `extra.${name}` : name && camel(name);
  // A database of the user may give a bigint.
  return { Entry: { function: known, state, begun_ms: Number(begun_ms), answer, differs_in: argument } };
}
