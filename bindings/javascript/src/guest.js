/**
 * An instance of the client without I/O: JSON in, JSON out. A trap is thrown; the instance is lost
 * then, with all that it had under way.
 */
import { jsonText } from './json_text.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export class Guest {
  #exports;

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
    const { input, memory, [name]: run } = this.#exports;
    const bytes = encoder.encode(text);
    const into = input(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, into).set(bytes);
    const at = run(bytes.length) >>> 0;
    // The memory may have grown.
    const { buffer } = memory;
    const answerBytes = new DataView(buffer).getUint32(at, true);
    const answer = JSON.parse(decoder.decode(new Uint8Array(buffer, at + 4, answerBytes)));
    if (answer.misuse !== undefined) throw new Error(`the client was misused: ${answer.misuse}`);
    return answer;
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
