/** Answers with an encoding, which some proxies put on although none was asked for. */
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { described } from './exchange.js';

const DECODERS = { gzip: gunzipSync, 'x-gzip': gunzipSync, deflate: inflateSync, br: brotliDecompressSync };

/** What takes the encoding off that these headers name, if it is one of those that are known. */
export function decoderOf(headers) {
  const [, encoding = ''] = headers.find(([name]) => name === 'content-encoding') ?? [];
  return DECODERS[encoding.trim().toLowerCase()];
}

/** Takes an encoding off a body that is whole, and gives the exchange what is under it. */
export class Decoding {
  #exchange;
  #decode;
  #mostBytes;
  #chunks = [];
  #bytes = 0;

  constructor(exchange, decode, mostBytes) {
    this.#exchange = exchange;
    this.#decode = decode;
    this.#mostBytes = mostBytes;
  }

  chunk(bytes) {
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#mostBytes) return true;
    this.#exchange.end(this.#tooLarge());
    return false;
  }

  end(error = undefined) {
    if (error !== undefined) {
      this.#exchange.end(error);
      return;
    }
    try {
      // One byte more says that there is more.
      const body = this.#decode(Buffer.concat(this.#chunks), { maxOutputLength: this.#mostBytes + 1 });
      this.#exchange.chunk(body);
      this.#exchange.end();
    } catch (cause) {
      this.#exchange.end(cause.code === 'ERR_BUFFER_TOO_LARGE' ? this.#tooLarge() : described(cause));
    }
  }

  #tooLarge() {
    return `the encoded body is larger than ${this.#mostBytes} bytes`;
  }
}
