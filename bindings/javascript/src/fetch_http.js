/**
 * Requests on `fetch`. It does not report whether a request that failed was sent, so that hardly a
 * create is retried that got no answer.
 */
import { READ } from './exchange.js';

/** Only Node's `fetch` is undici's, and reports that a connection was not made. */
const isNode = globalThis.process?.versions?.undici !== undefined;

const encoder = new TextEncoder();

export class FetchHttp {
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
      // Throws where they cannot be sent.
      headers: new Headers(headers),
      // The token would go along.
      redirect: /** @type {const} */ ('manual'),
      signal: controller.signal,
    };
    if (method === 'POST') Object.assign(init, isNode ? readOnce(body, init) : { body, ...this.#once });
    this.#exchange(url, init, exchange, controller);
    return () => controller.abort();
  }

  close() {
    this.#once?.client.close();
  }

  async #exchange(url, init, exchange, controller) {
    let response;
    try {
      response = await (this.#fetch ?? fetch)(url, init);
    } catch (error) {
      const isKnown = isNode && !this.#fetch && wasNotSent(error?.cause);
      exchange.fail(isKnown ? 'NotSent' : 'Unknown', told(error));
      return;
    }
    exchange.head(response.status, read(response.headers));
    try {
      const reader = response.body?.getReader();
      for (;;) {
        const { done, value } = reader ? await reader.read() : { done: true };
        if (done) break;
        if (!exchange.chunk(value)) {
          controller.abort();
          return;
        }
      }
      exchange.end();
    } catch (error) {
      exchange.end(told(error));
    }
  }
}

function read(headers) {
  const read = [];
  for (const name of READ) {
    // Its encoding is taken off already.
    const value = name === 'content-encoding' ? null : headers.get(name);
    if (value !== null) read.push([name, value]);
  }
  return read;
}

/**
 * Node sends a request again, a `POST` as well, on another connection after a 421; if that one is
 * refused, it says so as if nothing had been sent. A stream cannot be sent again. Without
 * credentials, of which there are none, some versions would take a 401 to one for a failure.
 */
function readOnce(body, { headers }) {
  const bytes = encoder.encode(body);
  // Otherwise it would be chunked.
  headers.set('content-length', String(bytes.length));
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
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

/** Whether Node's error says that it is a name that was not found, or a connection that was not made. */
function wasNotSent(cause) {
  if (Array.isArray(cause?.errors)) return cause.errors.length > 0 && cause.errors.every(wasNotSent);
  if (cause?.code === 'UND_ERR_CONNECT_TIMEOUT') return true;
  return cause?.syscall === 'connect' || cause?.syscall === 'getaddrinfo';
}

/** What an error says for people. */
function told(error) {
  const reason = error?.cause?.code ?? error?.cause?.message ?? error?.code;
  const message = String(error?.message ?? error);
  return (reason ? `${message}: ${reason}` : message).slice(0, 200);
}
