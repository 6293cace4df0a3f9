/** The client on `fetch`, for Deno, Bun and edge workers. Types: `types/fetch.d.ts`. */
import { clientOn } from './client.js';
import { READ, messageOf } from './exchange.js';
import { writeLine } from './stderr.js';
import { NOT_FOR_BROWSERS } from './words.js';

export * from './errors.js';
export { Ledger } from './ledger.js';

/** Only Node's `fetch`, which is undici's, takes streams with a length, and says why a connection was not made. */
const isNode = globalThis.process?.versions?.undici !== undefined;

export const VoiceClient = clientOn({
  options: { fetch: { isAllowed: (value) => typeof value === 'function', allowed: 'a function' } },
  check() {
    const { window } = /** @type {any} */ (globalThis);
    if (window?.document !== undefined) throw new Error(NOT_FOR_BROWSERS);
  },
  transport: ({ fetch }) => new FetchHttp(fetch),
  // Node's console ends the process if no one reads it.
  writeLine: isNode ? writeLine : (line) => console.error(line),
  warn: isNode ? (message, ...errors) => writeLine([message, ...errors.map(shown)].join(': ')) : (...given) => console.warn(...given),
});

function shown(error) {
  return error?.stack ?? messageOf(error);
}

const encoder = new TextEncoder();

/**
 * Sends requests by `fetch`. It does not report whether a request that failed was sent: on Node
 * that is known by the body, elsewhere hardly a create is retried that got no answer.
 */
class FetchHttp {
  #fetch;
  #once = connectionsUsedOnce();

  /** @param own the `fetch` of the user, of which nothing is known */
  constructor(own = undefined) {
    this.#fetch = own;
  }

  /** Sends a request, and returns what ends it. */
  send({ method, url, headers, body }, exchange) {
    const controller = new AbortController();
    const init = {
      method,
      headers: new Headers(headers),
      // The token would go along.
      redirect: /** @type {const} */ ('manual'),
      signal: controller.signal,
    };
    if (method === 'POST') Object.assign(init, isNode ? readOnce(body, init, exchange) : { body, ...this.#once });
    this.#exchange(url, init, exchange, controller);
    return () => controller.abort();
  }

  close() {
    this.#once?.client.close();
  }

  async #exchange(url, init, exchange, controller) {
    try {
      const response = await (this.#fetch ?? fetch)(url, init);
      exchange.head(response.status, pairs(response.headers));
      // What is left of a body is cancelled.
      for await (const piece of response.body ?? []) if (!exchange.chunk(piece)) break;
      exchange.end();
    } catch (error) {
      if (init.method === 'GET') exchange.isUnsent = isNode && !this.#fetch && wasNotConnected(error?.cause);
      exchange.disconnected(messageOf(error));
      // Ends an answer that cannot be read.
      controller.abort();
    }
  }
}

/** The headers that are read. */
function pairs(headers) {
  const pairs = [];
  for (const name of READ) {
    // Its encoding is taken off already.
    const value = name === 'content-encoding' ? null : headers.get(name);
    if (typeof value === 'string') pairs.push([name, value]);
  }
  return pairs;
}

/**
 * Returns a body as a stream. Until it is read the request is unsent, whatever error there is, and it is not
 * read any more once the exchange is over. (Interceptors, retrying agents and wrappers of `fetch`
 * may have sent a request before they fail to connect, or send it late.) Copies of a stream of
 * this type and mark read it only when they are read.
 *
 * And a stream cannot be sent again: Node sends a request again, a `POST` as well, on another
 * connection after a 421. Without credentials, of which there are none, some versions would take a
 * 401 to a stream for a failure.
 */
function readOnce(body, { headers }, exchange) {
  exchange.isUnsent = true;
  const bytes = encoder.encode(body);
  // Otherwise it would be chunked.
  headers.set('content-length', String(bytes.length));
  const stream = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      if (exchange.isOver) throw new Error('the request was cancelled');
      exchange.isUnsent = false;
      controller.enqueue(bytes);
      controller.close();
    },
  }, { highWaterMark: 0 });
  return { body: stream, duplex: 'half', credentials: 'omit' };
}

/**
 * Deno sends a request again, a `POST` as well, if the connection on which it was sent had been
 * used before and is closed without an answer. So a create gets a connection of its own there.
 */
function connectionsUsedOnce() {
  const { Deno } = /** @type {any} */ (globalThis);
  return Deno && { client: Deno.createHttpClient({ http2: false, poolMaxIdlePerHost: 0 }) };
}

/** Returns `true` if Node's error says that a name was not found, or a connection was not made. */
function wasNotConnected(cause) {
  if (Array.isArray(cause?.errors)) return cause.errors.length > 0 && cause.errors.every(wasNotConnected);
  if (cause?.code === 'UND_ERR_CONNECT_TIMEOUT') return true;
  return cause?.syscall === 'connect' || cause?.syscall === 'getaddrinfo';
}
