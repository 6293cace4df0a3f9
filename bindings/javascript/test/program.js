/** Faults of the program around the client, at a step of its first request on `node:http`. */
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

/** A fault of a user's program, and the options that make it. */
export class Fault {
  options = { agent: new AgentWith(this) };
  callOptions = {};
  #does;
  #at;
  #controller = new AbortController();
  #client;
  #isOver = false;

  constructor({ does, at }) {
    this.#does = does;
    this.#at = at;
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

  /** Acts at its step, once, and returns whether it interrupted. A connection error is thrown each time. */
  reaches(step) {
    if (step !== this.#at || this.#isOver) return false;
    if (this.#does === 'connection-error') throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
    this.#isOver = true;
    if (this.#does === 'interrupt') this.#controller.abort(REASON);
    if (this.#does === 'close') this.#client.close();
    return this.#does === 'interrupt';
  }
}

/** How much of a body is handed on as its first part. */
const PART = 10;

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
      if (this.#fault.reaches('before-request')) return;
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
        for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
        if (socket.destroyed) return;
      }
      push.call(socket, null);
    };
    return socket;
  }
}
