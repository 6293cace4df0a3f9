/** The messages that wait until the client can send theirs, so that none of them times out meanwhile. */
const { Breaker, NotBegunError, VoiceCallingError } = require('voice-calling');

/** How an operation has ended for which nothing was sent. */
const UNSENT = { attempts: [], nextStep: 'none', message: '' };

class Queue {
  #maxOpen;
  #breaker = new Breaker();
  #waiting = [];
  #open = 0;

  constructor(maxOpen) {
    this.#maxOpen = maxOpen;
  }

  /** Returns what `send()` does, once it is the turn of this message of `node`. */
  async run(node, send) {
    await new Promise((begin, reject) => {
      this.#waiting.push({ node, begin, reject });
      // What comes after a pause finds out whether the service has recovered.
      this.#next(this.#open === 0);
    });
    try {
      const result = await send();
      // Nothing was sent for what is in the ledger.
      if (result.fromLedger) this.#breaker.onFailure(UNSENT);
      else this.#breaker.onSuccess();
      return result;
    } catch (error) {
      this.#breaker.onFailure(error instanceof VoiceCallingError ? error : UNSENT);
      throw error;
    } finally {
      this.#open -= 1;
      this.#next(false);
    }
  }

  /** Ends the wait of all messages of `node`. */
  withdraw(node, reason) {
    const isOf = (it) => it.node === node;
    const withdrawn = this.#waiting.filter(isOf);
    this.#waiting = this.#waiting.filter((it) => !isOf(it));
    for (const { reject } of withdrawn) reject(new NotBegunError(`not begun, since ${reason}`));
  }

  /** Begins what may begin. After too many failures that is one message, if `isAnew`, or none. */
  #next(isAnew) {
    while (this.#waiting.length > 0 && this.#open < this.#maxOpen) {
      const decision = this.#breaker.decide();
      if (decision === 'wait') return;
      if (decision === 'stop' && isAnew) {
        isAnew = false;
        this.#breaker.resume();
      } else if (decision === 'stop') {
        for (const { reject } of this.#waiting.splice(0)) reject(new NotBegunError(this.#breaker.reason));
      } else {
        this.#open += 1;
        this.#waiting.shift().begin();
      }
    }
  }
}

module.exports = { Queue };
