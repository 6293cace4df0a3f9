/**
 * An instance of the client without I/O: JSON in, JSON out. A trap is thrown; the instance is lost
 * then, with all that it had under way.
 */
import { gunzipSync } from 'node:zlib';

/** The least room for input that is made. Unit: bytes. */
const LEAST_ROOM = 65_536;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export class Instance {
  #exports;
  /** The address of the four numbers that say where the texts are. */
  #mailbox;
  /** How many bytes of input there is room for. */
  #room = 0;
  /** Views of the memory, which are empty once it has grown. */
  #bytes = new Uint8Array();
  #numbers = new Uint32Array();

  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.#exports = /** @type {any} */ (new WebAssembly.Instance(module, {}).exports);
    this.#mailbox = this.#exports.mailbox() >>> 2;
  }

  /** Returns the error with which it refuses its settings, if it does. `ledger`: whether there is one. */
  configure(environment, seed, ledger) {
    return this.#call('configure', JSON.stringify({ environment, seed, ledger })).Err;
  }

  /** Returns what to do next: `effects`, and `wake_at_ms`. */
  step(events, nowMs, unixS) {
    return this.#call('step', JSON.stringify({ events, now_ms: nowMs, unix_s: unixS })).Ok;
  }

  /** Reads a delivery: `{ Ok }` or `{ Err }`. */
  parse(delivery) {
    return this.#call('parse_docket_completed', JSON.stringify(delivery));
  }

  /** Calls an export with a text, and returns its answer. */
  #call(name, text) {
    this.#write(text);
    this.#exports[name]();
    this.#look();
    const at = this.#numbers[this.#mailbox + 2];
    const length = this.#numbers[this.#mailbox + 3];
    const answer = JSON.parse(decoder.decode(this.#bytes.subarray(at, at + length)));
    if (answer.misuse !== undefined) throw new Error(`the client was misused: ${answer.misuse}`);
    return answer;
  }

  /** Writes a text to the memory. */
  #write(text) {
    // A character of ASCII has one byte, any other UTF-16 unit at most three.
    for (const room of [text.length, text.length * 3]) {
      if (room > this.#room) this.#reserve(Math.max(room, LEAST_ROOM));
      const at = this.#numbers[this.#mailbox];
      const { read, written } = encoder.encodeInto(text, this.#bytes.subarray(at, at + this.#room));
      this.#numbers[this.#mailbox + 1] = written;
      if (read === text.length) return;
    }
  }

  #reserve(bytes) {
    this.#exports.reserve(bytes);
    this.#room = bytes;
    this.#look();
  }

  /** Looks where the memory is, which is elsewhere once it has grown. */
  #look() {
    if (this.#bytes.length > 0) return;
    const { buffer } = this.#exports.memory;
    this.#bytes = new Uint8Array(buffer);
    this.#numbers = new Uint32Array(buffer);
  }
}

let compiled;

/**
 * The module that is in the package, compiled once for the process. It lies in text, so that bundlers
 * take it along, and in CommonJS, which all test runners load.
 */
export function compiledOnce() {
  compiled ??= import('../dist/packed.cjs').then(({ packed }) => WebAssembly.compile(gunzipSync(Buffer.from(packed, 'base64'))));
  return compiled;
}
