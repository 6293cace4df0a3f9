'use strict';
/** For the tests of programs that use this package: a service that does what a script says. */
const { VoiceClient, scripts } = require('./client.js');
const { native } = require('./errors.js');
const { jsonText } = require('./json_text.js');
const { NativeService } = require('./native.js');

class ScriptedService {
  #native = new NativeService();

  constructor(script = []) {
    scripts.set(this, this.#native);
    for (const answer of script) this.answer(answer);
  }

  answer(answer) {
    return this.#add(undefined, answer);
  }

  answerTo(line, answer) {
    return this.#add(line, answer);
  }

  #add(line, answer) {
    const json = jsonText(typeof answer?.json === 'string' ? JSON.stringify(answer.json) : answer?.json, 'answer.json');
    native(() => this.#native.answer(line, json === undefined ? answer : { ...answer, json }));
    return this;
  }

  completeAfter(ms) {
    this.#native.completeAfter(ms);
    return this;
  }

  client(options = {}) {
    return new VoiceClient({ env: {}, baseUrl: 'https://service.test', token: 'test-token', ...options, service: this });
  }

  get requests() {
    return JSON.parse(this.#native.requests()).map((request) => ({
      ...request,
      get json() {
        return JSON.parse(this.body);
      },
    }));
  }

  get elapsedMs() {
    return this.#native.elapsedMs();
  }

  async advance(ms) {
    await this.#native.advance(ms);
  }
}

module.exports = { ScriptedService };
