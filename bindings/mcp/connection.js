/**
 * The protocol's messages on stdin and stdout. Requests that were read are answered before the connection
 * ends, also after the end of stdin; the transport of the protocol's package aborts them.
 */
import { ReadBuffer, isJSONRPCRequest, serializeMessage } from '@modelcontextprotocol/server';

/** The error of a question that can no longer be answered; the code is in JSON-RPC's range for servers. */
const ENDED = { code: -32000, message: 'the program has closed its end of the connection' };

export class Connection {
  #buffer = new ReadBuffer();
  /** The ids of requests that were read and are not answered yet. */
  #open = [];
  /** The ids of questions to the program that are not answered yet. */
  #asked = new Set();
  #isFinished = false;
  #isLost = false;
  #onAnswered = () => {};

  /** @param onEnd is called when nothing more can be read, or nothing more can be written */
  constructor(onEnd) {
    this.onEnd = onEnd;
  }

  async start() {
    const end = () => {
      // The last line may lack its end.
      this.#read('\n');
      this.onEnd();
    };
    process.stdin.on('data', (piece) => this.#read(piece));
    process.stdin.on('end', end);
    process.stdin.on('error', end);
    process.stdout.on('error', () => this.close());
  }

  #read(piece) {
    if (this.#isFinished) return;
    try {
      this.#buffer.append(Buffer.from(piece));
    } catch (error) {
      this.onerror?.(error);
      this.onEnd();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.#deliver(message);
      } catch (error) {
        this.onerror?.(error);
      }
    }
  }

  #deliver(message) {
    if (isJSONRPCRequest(message)) this.#open.push(message.id);
    else if (message.method === 'notifications/cancelled') this.#close(message.params?.requestId);
    else if (message.method === undefined) this.#asked.delete(message.id);
    this.onmessage?.(message);
  }

  async send(message) {
    if (this.#isLost) throw new Error(ENDED.message);
    if (message.method === undefined) this.#close(message.id);
    if (isJSONRPCRequest(message)) {
      this.#asked.add(message.id);
      if (this.#isFinished) return this.#failQuestions();
    }
    if (!process.stdout.write(serializeMessage(message))) {
      await new Promise((resolve) => process.stdout.once('drain', resolve));
    }
  }

  /** Closes a request that is answered, or was cancelled: then no answer is written. */
  #close(id) {
    const index = this.#open.indexOf(id);
    if (index >= 0) this.#open.splice(index, 1);
    if (this.#open.length === 0) this.#onAnswered();
  }

  #failQuestions() {
    for (const id of this.#asked) this.onmessage?.({ jsonrpc: '2.0', id, error: ENDED });
    this.#asked.clear();
  }

  /** Reads nothing more, and resolves once all requests are answered, or no one reads the answers. */
  async finish() {
    this.#isFinished = true;
    process.stdin.pause();
    this.#failQuestions();
    if (this.#open.length > 0 && !this.#isLost) await new Promise((resolve) => (this.#onAnswered = resolve));
  }

  async close() {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#onAnswered();
    this.onclose?.();
    this.onEnd();
  }
}
