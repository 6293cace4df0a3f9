/**
 * Requests on `fetch`. It does not tell whether a request that failed was sent, so that hardly a
 * create is retried that got no answer.
 */
import { READ } from './exchange.js';

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
      body: method === 'POST' ? body : undefined,
      // The token would go along.
      redirect: /** @type {const} */ ('manual'),
      signal: controller.signal,
      ...(method === 'POST' && this.#once),
    };
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
      const isKnown = !this.#fetch && wasNotSent(error?.cause);
      exchange.fail(isKnown ? 'NotSent' : 'Unknown', told(error));
      return;
    }
    // Its encoding is taken off already.
    const headers = [...response.headers].filter(([name]) => READ.has(name) && name !== 'content-encoding');
    exchange.head(response.status, headers);
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

/**
 * Deno sends a request again, a `POST` as well, if the connection on which it was sent had been
 * used before and is closed without an answer. So a create gets a connection of its own there.
 */
function connectionsUsedOnce() {
  const { Deno } = /** @type {any} */ (globalThis);
  return Deno && { client: Deno.createHttpClient({ http2: false, poolMaxIdlePerHost: 0 }) };
}

/** Whether Node says that it is a name that was not found, or a connection that was not made. */
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
