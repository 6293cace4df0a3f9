/**
 * An instance of the client without I/O: JSON in, JSON out. A trap is thrown; the instance is lost
 * then, with all that it had under way.
 */
import { jsonText } from './json_text.js';

/** Longer texts are measured before there is room made for them. */
const SHORT = 16 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export class Steps {
  #exports;
  #record;

  /**
   * @param {WebAssembly.Module} module
   * @param {((line: () => string) => void) | undefined} record takes what makes a line of a history
   */
  constructor(module, record = undefined) {
    this.#exports = /** @type {any} */ (new WebAssembly.Instance(module, {}).exports);
    this.#record = record;
  }

  /** The error with which it refuses its settings, if it does. */
  configure(environment, random) {
    const given = JSON.stringify({ environment, random });
    const { Err: error } = this.#said(this.#asked('configure', given));
    // Without its settings it knows no token that it could mask.
    if (!error) this.#told(`{"configure":${given}}`);
    return error;
  }

  /** What to do next: `effects`, and `wake_at_ms`. */
  step(events, nowMs, unixS) {
    const given = `{"events":[${events.map(json)}],"now_ms":${nowMs},"unix_s":${unixS}}`;
    const answer = this.#asked('step', given);
    this.#told(`{"step":${given},"stepped":${answer}}`);
    return this.#said(answer).Ok;
  }

  /** `{ Ok }` or `{ Err }`. */
  parse(delivery) {
    return this.#said(this.#asked('parse_docket_completed', JSON.stringify(delivery)));
  }

  /** The text without the tokens of the settings. */
  mask(text) {
    return this.#said(this.#asked('mask', JSON.stringify(text))).Ok;
  }

  #told(line) {
    this.#record?.(() => this.mask(line));
  }

  /** What an export answers to a text. */
  #asked(name, text) {
    const { input, memory, [name]: run } = this.#exports;
    const length = text.length > SHORT ? byteLength(text) : 3 * text.length;
    const into = input(length) >>> 0;
    const { written } = encoder.encodeInto(text, new Uint8Array(memory.buffer, into, length));
    const at = run(written) >>> 0;
    // The memory may have grown.
    const { buffer } = memory;
    const answerBytes = new DataView(buffer).getUint32(at, true);
    return decoder.decode(new Uint8Array(buffer, at + 4, answerBytes));
  }

  #said(answer) {
    const said = JSON.parse(answer);
    if (said.misuse !== undefined) throw new Error(`the client was misused: ${said.misuse}`);
    return said;
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

function byteLength(text) {
  return encoder.encode(text).length;
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
