/**
 * An instance of the client without I/O: JSON in, JSON out. A trap is thrown; the instance is lost
 * then, with all that it had under way.
 */
import { jsonText } from './json_text.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export class Instance {
  #exports;
  /** A view of the memory, which is empty once the memory has grown. */
  #view = new Uint8Array();

  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.#exports = /** @type {any} */ (new WebAssembly.Instance(module, {}).exports);
  }

  /** Returns the error with which it refuses its settings, if it does. `ledger`: whether there is one. */
  configure(environment, random, ledger) {
    return this.#call('configure', JSON.stringify({ environment, random, ledger })).Err;
  }

  /** Returns what to do next: `effects`, and `wake_at_ms`. */
  step(events, nowMs, unixS) {
    return this.#call('step', `{"events":[${events.map(json)}],"now_ms":${nowMs},"unix_s":${unixS}}`).Ok;
  }

  /** Reads a delivery: `{ Ok }` or `{ Err }`. */
  parse(delivery) {
    return this.#call('parse_docket_completed', JSON.stringify(delivery));
  }

  /** Calls an export with a text, and returns its answer. */
  #call(name, text) {
    const at = this.#exports[name](this.#write(text)) >>> 0;
    const view = this.#memory();
    const length = view[at] + view[at + 1] * 2 ** 8 + view[at + 2] * 2 ** 16 + view[at + 3] * 2 ** 24;
    const answer = JSON.parse(decoder.decode(view.subarray(at + 4, at + 4 + length)));
    if (answer.misuse !== undefined) throw new Error(`the client was misused: ${answer.misuse}`);
    return answer;
  }

  /** Writes a text to the memory, and returns its length in bytes. */
  #write(text) {
    // A character of ASCII has one byte, any other UTF-16 unit at most three.
    for (const room of [text.length, text.length * 3]) {
      const at = this.#exports.input(room) >>> 0;
      const { read, written } = encoder.encodeInto(text, this.#memory().subarray(at, at + room));
      if (read === text.length) return written;
    }
  }

  #memory() {
    if (this.#view.length === 0) this.#view = new Uint8Array(this.#exports.memory.buffer);
    return this.#view;
  }
}

/** An integer beyond 2^53 is a `bigint`, of which `JSON.stringify` knows nothing. */
function json(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return jsonText(value);
  }
}

let compiled;

/**
 * The module that is in the package, compiled once for the process. It lies in text, so that bundlers
 * take it along, and in CommonJS, which all test runners load.
 */
export function compiledOnce() {
  compiled ??= import('../dist/packed.cjs').then(({ packed }) => unpacked(packed));
  return compiled;
}

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}
