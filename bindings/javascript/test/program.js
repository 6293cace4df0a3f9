/** Faults of the program around the client, at a step of its first request. */
import http from 'node:http';
import net from 'node:net';
import { endOfMessage } from './service.js';

/** Why an operation is interrupted. */
export const REASON = new Error('the caller was interrupted');

/** Why JavaScript does not have a step, if it does not. */
export function unsupportedReason({ does, at }) {
  if (does !== 'close' || at !== 'before-request') return undefined;
  return 'close() waits for the calls that have begun, so that the request is sent';
}

/** A fault, as a user of a driver can have it: what it does, and the options that make it. */
export class Fault {
  options;
  callOptions = {};
  #does;
  #at;
  #controller = new AbortController();
  #client;
  #isOver = false;

  constructor({ does, at }, driver) {
    this.#does = does;
    this.#at = at;
    this.options = driver === 'fetch' ? { fetch: fetchWith(this) } : { agent: new AgentWith(this) };
    if (at === 'result' && does === 'interrupt') this.options.onCreated = () => this.reaches('result');
    if (does === 'interrupt') this.callOptions = { signal: this.#controller.signal };
  }

  begin(client) {
    this.#client = client;
  }

  /** What the caller has of the operation in the end. */
  async outcome(begun) {
    if (this.#does !== 'leave') return begun;
    const results = [];
    for await (const result of begun) {
      results[result.index] = result;
      break;
    }
    return Array.from(results);
  }

  /** Acts at its step, once, and returns whether it did. A connection error is thrown each time. */
  reaches(step) {
    if (step !== this.#at || this.#isOver) return false;
    if (this.#does === 'connection-error') throw refused();
    this.#isOver = true;
    if (this.#does === 'interrupt') this.#controller.abort(REASON);
    if (this.#does === 'close') this.#client.close();
    return true;
  }

  /** Whether the request goes on only after the client has acted. */
  get interrupts() {
    return this.#does === 'interrupt';
  }
}

function refused() {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
  return Object.assign(new TypeError('fetch failed'), { code: cause.code, syscall: cause.syscall, cause });
}

/** Until what has been begun is done: a piece is written, or the client has acted. */
async function turns() {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

// ---------------------------------------------------------------------------------- fetch

/** How much of a body is given on as its first part. */
const PART = 10;

function fetchWith(fault) {
  return async (url, init) => {
    const reach = async (step) => {
      if (fault.reaches(step) && fault.interrupts) await aborted(init.signal);
    };
    await reach('before-request');
    let begin;
    const begun = new Promise((resolve) => (begin = resolve));
    const answered = fetch(url, { ...init, body: init.body.pipeThrough(new TransformStream({
      transform(chunk, controller) {
        controller.enqueue(chunk);
        begin();
      },
    }, undefined, { highWaterMark: 0 })) });
    answered.catch(() => {});
    await Promise.race([begun, answered]);
    await turns();
    await reach('request-begun');
    const response = await answered;
    await reach('head');
    const pieces = inSteps(new Uint8Array(await response.arrayBuffer()), reach);
    const { status, headers } = response;
    return {
      status,
      headers,
      body: new ReadableStream({
        async pull(controller) {
          const { done, value } = await pieces.next();
          if (!done) {
            controller.enqueue(value);
            return;
          }
          controller.close();
          // An answer that has ended cannot fail any more.
          await reach('end').catch(() => {});
        },
      }),
    };
  };
}

async function* inSteps(body, reach) {
  yield body.subarray(0, PART);
  await reach('body');
  yield body.subarray(PART);
}

function aborted(signal) {
  return new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', resolve)));
}

// ------------------------------------------------------------------------------ node:http

/** Hands an answer on in steps: its head, a part of its body, the rest. */
class AgentWith extends http.Agent {
  #fault;

  constructor(fault) {
    super();
    this.#fault = fault;
  }

  addRequest(request, options) {
    try {
      // A request that is interrupted now gets no connection.
      if (this.#fault.reaches('before-request') && this.#fault.interrupts) return;
    } catch (error) {
      request.onSocket(null, error);
      return;
    }
    super.addRequest(request, options);
  }

  createConnection(options) {
    const fault = this.#fault;
    const socket = net.connect(options);
    const reach = (step) => {
      try {
        fault.reaches(step);
      } catch (error) {
        socket.destroy(error);
      }
    };
    const { write, push } = socket;
    socket.write = (...given) => {
      // It is corked, and written when this turn is over.
      setImmediate(() => reach('request-begun'));
      return write.apply(socket, given);
    };
    let answer = Buffer.alloc(0);
    socket.push = (chunk) => {
      // Its end follows what is handed on.
      if (chunk === null) return true;
      answer = Buffer.concat([answer, chunk]);
      if (endOfMessage(answer.toString('latin1'))) void handOn();
      return true;
    };
    const handOn = async () => {
      const body = answer.indexOf('\r\n\r\n') + 4;
      const ends = { head: body, body: body + PART, end: answer.length };
      let at = 0;
      for (const [step, end] of Object.entries(ends)) {
        push.call(socket, answer.subarray(at, end));
        at = end;
        reach(step);
        // What the client does because of it comes before what follows.
        await turns();
        if (socket.destroyed) return;
      }
      push.call(socket, null);
    };
    return socket;
  }
}
