'use strict';
/** What is decided before a create is sent, for programs that send a series of their own. */
const { invalidInput, native } = require('./errors.js');
const { NativeBreaker, nextCallingTime: next } = require('./native.js');

class Breaker {
  #native = new NativeBreaker();
  reason = undefined;

  decide() {
    const decision = this.#native.decide();
    const isStop = decision !== 'begin' && decision !== 'wait';
    this.reason = isStop ? decision : undefined;
    return isStop ? 'stop' : decision;
  }

  onSuccess() {
    this.#native.onSuccess();
  }

  onFailure({ attempts, nextStep, message }) {
    this.#native.onFailure(attempts.length > 0, nextStep, message);
  }

  resume() {
    this.#native.resume();
  }
}

function nextCallingTime(hours, timeZone, at) {
  const atMs = Number(at);
  if (!(atMs >= 0)) throw invalidInput('at', at, 'a time since 1970');
  const beginsMs = native(() => next(hours, timeZone, atMs));
  return beginsMs === null ? undefined : new Date(beginsMs);
}

module.exports = { Breaker, nextCallingTime };
