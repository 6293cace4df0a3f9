/** The messages that wait until the client can send theirs, so that none of them times out meanwhile. */
const { NotBegunError } = require('voice-calling');

/**
 * So many are open at first, and so many failures in a row that are not about one message end the
 * wait of the others. A batch of the client has the same rule.
 */
const FAILURES = 5;

class Queue {
  #maxOpen;
  #waiting = [];
  #open = 0;
  #succeeded = 0;
  #failed = 0;

  constructor(maxOpen) {
    this.#maxOpen = maxOpen;
  }

  /** Returns what `send()` does, once it is the turn of this message of `node`. */
  async run(node, send) {
    await new Promise((begin, reject) => {
      this.#waiting.push({ node, begin, reject });
      this.#next();
    });
    try {
      const result = await send();
      this.#onSuccess(result);
      return result;
    } catch (error) {
      this.#onFailure(error);
      throw error;
    } finally {
      this.#open -= 1;
      this.#next();
    }
  }

  /** Ends the wait of all messages of `node`. */
  withdraw(node, reason) {
    const isOf = (it) => it.node === node;
    const withdrawn = this.#waiting.filter(isOf);
    this.#waiting = this.#waiting.filter((it) => !isOf(it));
    for (const { reject } of withdrawn) reject(new NotBegunError(`not begun, since ${reason}`));
  }

  #onSuccess({ fromLedger }) {
    // Nothing was sent for what is in the ledger.
    if (fromLedger) return;
    this.#succeeded += 1;
    this.#failed = 0;
  }

  #onFailure({ nextStep, attempts = [], message }) {
    // One that was not sent says nothing about the service, unless a setting is wrong.
    if (nextStep === 'refused' || (attempts.length === 0 && nextStep !== 'fix-setting')) return;
    this.#succeeded = 0;
    this.#failed += 1;
    if (this.#failed < FAILURES) return;
    const reason = `${this.#failed} requests in a row had failed; the last one: ${message}`;
    for (const node of new Set(this.#waiting.map((it) => it.node))) this.withdraw(node, reason);
  }

  #next() {
    // What comes after a pause is tried anew.
    if (this.#open === 0 && this.#failed >= FAILURES) this.#failed = 0;
    const mayOpen = () => Math.min(this.#maxOpen, FAILURES + this.#succeeded - this.#failed);
    while (this.#waiting.length > 0 && this.#open < mayOpen()) {
      this.#open += 1;
      this.#waiting.shift().begin();
    }
  }
}

module.exports = { Queue };
