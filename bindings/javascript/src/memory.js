/** The memory of an instance, with what is read and written most. */

// A byte order mark is part of a text.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

export class Memory {
  #memory;
  #allocate;
  #view;
  #bytes;

  constructor({ memory, cabi_realloc }) {
    this.#memory = memory;
    this.#allocate = cabi_realloc;
  }

  get byteLength() {
    return this.#memory.buffer.byteLength;
  }

  /** Not to be kept: when memory grows, there is another. */
  get view() {
    if (this.#view?.buffer !== this.#memory.buffer) this.#view = new DataView(this.#memory.buffer);
    return this.#view;
  }

  /** Not to be kept either. */
  get bytes() {
    if (this.#bytes?.buffer !== this.#memory.buffer) {
      this.#bytes = new Uint8Array(this.#memory.buffer);
    }
    return this.#bytes;
  }

  allocate(size, alignment) {
    return this.#allocate(0, 0, alignment, size) >>> 0;
  }

  u32(at) {
    return this.view.getUint32(at, true);
  }

  setU8(at, value) {
    this.view.setUint8(at, value);
  }

  setU32(at, value) {
    this.view.setUint32(at, value, true);
  }

  setU64(at, value) {
    this.view.setBigUint64(at, value, true);
  }

  text(at, length) {
    return decoder.decode(this.bytes.subarray(at, at + length));
  }

  /** A copy. */
  slice(at, length) {
    return this.bytes.slice(at, at + length);
  }

  /** Puts bytes somewhere, and says where and how many. */
  place(bytes) {
    // Nothing is found at the address 1, but it is none that a guest takes for "no address".
    if (bytes.length === 0) return [1, 0];
    const at = this.allocate(bytes.length, 1);
    this.bytes.set(bytes, at);
    return [at, bytes.length];
  }

  placeText(text) {
    return this.place(encoder.encode(text));
  }

  /** Writes where a list lies and how long it is. */
  setList(at, [begin, length]) {
    this.setU32(at, begin);
    this.setU32(at + 4, length);
  }
}
