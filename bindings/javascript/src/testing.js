'use strict';
/** For the tests of programs that use this package: a service that does what a script says. */
const { answering } = require('./question.js');
const { boolean, from0To, isRecord, record, text } = require('./arguments.js');
const { VoiceClient, scripts } = require('./client.js');
const { invalidInput } = require('./errors.js');
const { jsonText } = require('./json_text.js');
const { NativeService } = require('./native.js');

const MILLISECONDS = from0To(2 ** 32 - 1);

function status(value, path) {
  if (!Number.isInteger(value) || value < 200 || value > 999) throw invalidInput(path, String(value), 'an HTTP status, 200 to 999');
  return String(value);
}

/** Reads headers as pairs: HTTP does not allow every name and value. */
function headers(value, path) {
  const isHeader = ([name, it]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && typeof it === 'string' && /^[\x20-\x7e]*$/.test(it);
  const wrong = isRecord(value) ? Object.entries(value).find((it) => !isHeader(it)) : [typeof value];
  if (wrong) throw invalidInput(path, `another header: ${wrong[0]}`, 'an object of names and texts');
  return JSON.stringify(Object.entries(value));
}

const ANSWER = {
  status,
  headers,
  text,
  afterMs: MILLISECONDS,
  bodyAfterMs: MILLISECONDS,
  cutAfter: MILLISECONDS,
  repeated: boolean,
  lost: boolean,
  silence: boolean,
  unreachable: boolean,
};
const answerJson = record('answer', ANSWER, true);

/** Returns an answer as JSON, its own JSON as text. */
function written(answer) {
  if (answer?.json === undefined) return answerJson(answer);
  const { json, ...rest } = answer;
  const text = jsonText(typeof json === 'string' ? JSON.stringify(json) : json, 'answer.json') ?? 'null';
  return answerJson({ ...rest, text, headers: { 'content-type': 'application/json', ...rest.headers } });
}

/** Returns a request with its body parsed. */
const received = (request) => ({
  ...request,
  get json() {
    return this.body === '' ? null : JSON.parse(this.body);
  },
});

class ScriptedService {
  #native = new NativeService();
  #script = { native: this.#native, failures: [] };

  constructor(script = []) {
    scripts.set(this, this.#script);
    for (const answer of script) this.answer(answer);
  }

  answer(answer) {
    return this.answerTo('', answer);
  }

  answerTo(line, answer) {
    this.#native.answer(line, written(answer));
    return this;
  }

  answerWith(decide) {
    if (typeof decide !== 'function') throw invalidInput('decide', typeof decide, 'a function');
    const { failures } = this.#script;
    const decided = async ({ argument }) => {
      try {
        const answer = await decide(received(JSON.parse(argument)));
        return answer === undefined || answer === null ? 'null' : written(answer);
      } catch (error) {
        failures.push(error);
        throw error;
      }
    };
    this.#native.answerWith(answering(decided));
    return this;
  }

  completeAfter(ms) {
    MILLISECONDS(ms, 'ms');
    this.#native.completeAfter(ms);
    return this;
  }

  client(options = {}) {
    return new VoiceClient({ env: {}, baseUrl: 'https://service.test', token: 'test-token', ...options, service: this });
  }

  get requests() {
    return JSON.parse(this.#native.requests()).map(received);
  }

  get elapsedMs() {
    return this.#native.elapsedMs();
  }

  async advance(ms) {
    MILLISECONDS(ms, 'ms');
    await this.#native.advance(ms);
  }
}

module.exports = { ScriptedService };
