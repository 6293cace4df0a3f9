/**
 * For the tests of programs that use this package: a service that does what a script says, in
 * their own process, without a network, and in a time of its own that passes at once.
 */
import { describe, isPlain } from './words.js';

export class ScriptedService {
  /** The requests that came, in their order. */
  requests = [];
  /** Its time passes as soon as all callers wait for it. */
  clock = new PassingClock();

  #script;
  #usual = new UsualService();

  /** @param {any} script answers in their order, or what makes one of a request */
  constructor(script = []) {
    if (!Array.isArray(script) && typeof script !== 'function') {
      throw new TypeError(`script: found ${describe(script)}; allowed: an array, or a function`);
    }
    this.#script = typeof script === 'function' ? script : [...script];
    if (Array.isArray(script)) script.forEach((step, i) => typeof step === 'function' || checkAnswer(step, `script[${i}]`));
  }

  /** The options of a client that sends its requests to it. */
  get options() {
    return { transport: this, baseUrl: 'https://service.test', token: 'test-token-0001', env: {} };
  }

  /** How much of its time has passed. Unit: milliseconds. */
  get elapsedMs() {
    return this.clock.now();
  }

  send({ method, url, headers, body }, exchange) {
    const { pathname, search } = new URL(url);
    const request = Object.freeze({
      method,
      path: pathname + search,
      headers: Object.freeze(Object.fromEntries(headers)),
      json: body === '' ? undefined : JSON.parse(body),
      atMs: this.elapsedMs,
    });
    this.requests.push(request);
    let played;
    try {
      played = this.#answer(request);
    } catch (mistake) {
      exchange.abort(mistake);
      return () => {};
    }
    const { afterMs = 0, ...answer } = played;
    if (afterMs === Infinity) return () => {};
    return this.clock.after(afterMs, () => play(answer, exchange));
  }

  #answer(request) {
    const script = this.#script;
    let answer = typeof script === 'function' ? script(request, this.requests.length) : script.shift();
    if (typeof answer === 'function') answer = answer(request, this.requests.length);
    checkAnswer(answer, 'what the script returned');
    return answer ?? this.#usual.answer(request);
  }
}

const TEXT = { isAllowed: (value) => typeof value === 'string', allowed: 'a string' };
const COUNT = { isAllowed: (value) => typeof value === 'number' && value >= 0, allowed: 'a number, 0 or more' };

const MOST_U16 = 0xffff;

/** The members of an answer. */
const MEMBERS = {
  status: { isAllowed: (value) => Number.isInteger(value) && value >= 0 && value <= MOST_U16, allowed: `0 to ${MOST_U16}` },
  headers: { isAllowed: isPlain, allowed: 'a plain object' },
  json: { isAllowed: () => true, allowed: 'JSON' },
  text: TEXT,
  cutAfter: COUNT,
  notSent: TEXT,
  lost: TEXT,
  afterMs: COUNT,
};

/** Throws if an answer cannot be played; `undefined` is what a service does as a rule. */
function checkAnswer(answer, at) {
  if (answer === undefined) return;
  if (!isPlain(answer)) throw new TypeError(`${at}: found ${describe(answer)}; allowed: an answer, such as { status: 503 }`);
  for (const [name, value] of Object.entries(answer)) {
    if (!Object.hasOwn(MEMBERS, name)) throw new TypeError(`${at}: unknown member ${name}; allowed: ${Object.keys(MEMBERS).join(', ')}`);
    const { isAllowed, allowed } = MEMBERS[name];
    if (value !== undefined && !isAllowed(value)) throw new TypeError(`${at}.${name}: found ${describe(value)}; allowed: ${allowed}`);
  }
  JSON.stringify(answer.json);
}

function play({ status = 200, headers = {}, json, text, cutAfter, notSent, lost }, exchange) {
  if (notSent !== undefined) {
    exchange.fail('NotSent', notSent);
    return;
  }
  if (lost !== undefined) {
    exchange.fail('Unknown', lost);
    return;
  }
  exchange.head(status, Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const body = new TextEncoder().encode(text ?? (json === undefined ? '' : JSON.stringify(json)));
  const isWhole = exchange.chunk(body.subarray(0, cutAfter ?? body.length));
  if (isWhole) exchange.end(cutAfter === undefined ? undefined : 'the body ended early');
}

/** Answers if the script does not: it does all that it is asked for. */
class UsualService {
  #dockets = new Map();

  answer({ method, path, json }) {
    const [, id] = /^\/api\/v1\/dockets\/([^/]+)$/.exec(path) ?? [];
    if (id) {
      const docket = this.#dockets.get(id);
      return docket ? { json: { ...docket, status: 'COMPLETED' } } : { status: 404, json: { detail: 'unknown' } };
    }
    if (method === 'POST' && /^\/api\/v[12]\/dockets$/.test(path)) return { json: this.#created(json) };
    if (method === 'POST' && path === '/make_call') return { json: { task_id: 'task-1' } };
    if (method === 'POST' && path === '/agents/') return { json: { agent_id: 7 } };
    if (path.startsWith('/api/v1/agents')) return { json: [{ agent_id: 7, agent_name: 'renewals' }] };
    if (path.startsWith('/call_details/')) return { json: [{ call_status: 'ANSWERED', call_insights: { metadata: { interested: true } } }] };
    return { status: 404, json: { detail: 'unknown' } };
  }

  #created({ to_phone_number, extra_config, external_id }) {
    const number = String(this.#dockets.size + 1).padStart(12, '0');
    const docket_id = `00000000-0000-4000-8000-${number}`;
    const { call_context } = extra_config ?? {};
    this.#dockets.set(docket_id, { docket_id, to_phone_number, call_context, external_id });
    return { docket_id, status: 'OPEN', created: true };
  }
}

/** The number of turns of the event loop without an event after which all callers wait for the time. */
const QUIET_TURNS = 5;

/** A clock that goes on to the next timer when nothing else happens. */
class PassingClock {
  #nowMs = 0;
  #beganMs = Date.now();
  #timers = new Set();
  #quietTurns = 0;
  #isWatching = false;
  /** How many promises are to be settled before time passes. */
  #holds = 0;

  now() {
    return this.#nowMs;
  }

  date() {
    return this.#beganMs + this.#nowMs;
  }

  after(milliseconds, then) {
    const timer = { atMs: this.#nowMs + milliseconds, then };
    this.#timers.add(timer);
    this.#watch();
    return () => this.#timers.delete(timer);
  }

  soon(then) {
    this.#quietTurns = 0;
    setImmediate(then);
  }

  afterPendingInput(then) {
    this.soon(then);
  }

  hold(promise) {
    this.#holds++;
    promise.finally(() => {
      this.#holds--;
      this.#watch();
    });
  }

  #watch() {
    this.#quietTurns = 0;
    if (this.#isWatching) return;
    this.#isWatching = true;
    setImmediate(() => {
      this.#isWatching = false;
      this.#turn();
    });
  }

  #turn() {
    const atMs = this.#nextMs();
    if (atMs === Infinity) return;
    const isQuiet = ++this.#quietTurns >= QUIET_TURNS;
    if (isQuiet) this.#passTo(atMs);
    const turns = isQuiet ? 0 : this.#quietTurns;
    this.#watch();
    this.#quietTurns = turns;
  }

  /** The time of the next timer; `Infinity` if there is none, or time may not pass. */
  #nextMs() {
    const atMs = Math.min(...[...this.#timers].map((timer) => timer.atMs));
    return this.#holds > 0 && atMs > this.#nowMs ? Infinity : atMs;
  }

  #passTo(atMs) {
    this.#nowMs = Math.max(this.#nowMs, atMs);
    for (const timer of [...this.#timers]) {
      if (timer.atMs > this.#nowMs || !this.#timers.delete(timer)) continue;
      timer.then();
    }
  }
}
