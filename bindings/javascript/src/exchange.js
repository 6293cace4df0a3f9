/**
 * One request over HTTP, and its answer. It knows at every moment whether anything was sent,
 * never follows a redirect, and never sends anything twice.
 */
import { Attempt } from './attempt.js';
import { whenConnected } from './connections.js';
import { onceAllIsHeard } from './event_loop.js';
import { Pollable } from './pollable.js';

/** More of an answer than this is not taken from the network before the guest has read it. */
const BUFFERED_BYTES = 1024 * 1024;

export class Exchange {
  /** What is known of it when all else is forgotten. */
  attempt;
  /** Status and headers of the answer, as they came. */
  head = undefined;
  /** Why there is no answer: `{ code, detail }`, the code being one of wasi:http's. */
  error = undefined;
  /** Ready with the answer's head, or an error. */
  isAnswered = new Pollable();
  /** The body of the answer. */
  body = undefined;
  /** Called once, when nothing more comes. */
  onOver = undefined;

  #connections;
  #message;
  #request;
  #connectTimer;

  /**
   * Begins it. Throws where Node refuses the request: then nothing is ever sent.
   *
   * @param message method, scheme, authority, path, headers (pairs of name and bytes) and body
   */
  constructor(message, connectTimeoutMs, connections) {
    this.attempt = new Attempt(message.method);
    this.#message = message;
    this.#connections = connections;
    this.#open();
    if (connectTimeoutMs !== undefined) {
      const giveUp = () => {
        if (!this.attempt.wasSent && !this.#isDecided) this.#fail({ code: 'connection-timeout' });
      };
      const wait = Math.min(connectTimeoutMs, 2 ** 31 - 1);
      this.#connectTimer = setTimeout(() => onceAllIsHeard(giveUp), wait);
    }
  }

  /** Lets go of it: nobody reads the answer any more. */
  abandon(reason) {
    if (this.body?.isEnded) return;
    if (!this.head) this.error ??= { code: reason };
    else this.body.error ??= reason;
    this.#over();
    this.#request.destroy();
  }

  #open() {
    const request = this.#connections.request(this.#message.scheme, options(this.#message));
    this.#request = request;
    whenConnected(request, () => this.#send(request));
    request.once('response', (response) => this.#answered(request, response));
    request.on('error', (error) => this.#broken(request, codeOf(error)));
    request.once('close', () => this.#broken(request, 'ECONNRESET'));
  }

  #send(request) {
    if (request !== this.#request || this.#isDecided) return;
    clearTimeout(this.#connectTimer);
    this.attempt.wasSent = true;
    request.end(this.#message.body);
  }

  #answered(request, response) {
    const isOurs = request === this.#request && !this.#isDecided;
    if (!isOurs || this.#isStale(request)) {
      response.on('error', () => {});
      if (isOurs) this.#reopen(request);
      else request.destroy();
      return;
    }
    this.head = {
      status: response.statusCode,
      headers: pairs(response.rawHeaders),
    };
    this.attempt.status = response.statusCode;
    this.body = new Body(response, () => this.#over());
    this.isAnswered.ready();
  }

  #broken(request, code) {
    if (request !== this.#request || this.#isDecided) return;
    if (this.#isStale(request)) this.#reopen(request);
    else this.#fail(meaning(code, this.attempt.wasSent));
  }

  /** Whether its answer, or that there is none, is known. */
  get #isDecided() {
    return this.head !== undefined || this.error !== undefined;
  }

  /**
   * Whether a connection that was used before has come to its end before the request was sent on
   * it. Some services say goodbye with an answer, a 408, that is none to this request.
   */
  #isStale(request) {
    return request.reusedSocket && !this.attempt.wasSent;
  }

  /** Takes another connection: nothing was sent on this one. */
  #reopen(request) {
    try {
      this.#open();
    } catch {
      // This code is the one that says that nothing was sent.
      this.#fail({ code: 'destination-unavailable' });
    }
    request.destroy();
  }

  #fail(error) {
    this.error = error;
    this.#over();
    this.#request.destroy();
    this.isAnswered.ready();
  }

  #over() {
    clearTimeout(this.#connectTimer);
    this.attempt.transportError ??= this.body?.error ?? this.error?.code;
    this.attempt.end();
    this.onOver?.();
  }
}

/** The body of an answer, as it comes. */
class Body {
  /** Ready when there is something to read, or the end is known. */
  isReadable = new Pollable();
  isEnded = false;
  /** Why it broke off. */
  error = undefined;

  #response;
  #chunks = [];
  #buffered = 0;

  constructor(response, over) {
    this.#response = response;
    response.on('data', (chunk) => {
      this.#chunks.push(chunk);
      this.#buffered += chunk.length;
      if (this.#buffered > BUFFERED_BYTES) response.pause();
      this.isReadable.ready();
    });
    const end = (error) => {
      if (this.isEnded || this.error) return;
      if (response.complete && !error) this.isEnded = true;
      else this.error = codeOf(error).startsWith('HPE_') ? 'HTTP-protocol-error' : 'HTTP-response-incomplete';
      over();
      this.isReadable.ready();
    };
    response.once('end', () => end());
    response.on('error', end);
    response.once('close', () => end());
  }

  /** At most so many bytes; nothing where there are none yet, or none any more. */
  read(length) {
    const chunk = this.#chunks[0];
    if (chunk === undefined) return undefined;
    const piece = chunk.subarray(0, length);
    if (piece.length < chunk.length) this.#chunks[0] = chunk.subarray(length);
    else this.#chunks.shift();
    this.#buffered -= piece.length;
    if (this.#buffered <= BUFFERED_BYTES && this.#response.isPaused()) this.#response.resume();
    if (this.#chunks.length === 0 && !this.isEnded && !this.error) this.isReadable = new Pollable();
    return piece;
  }

  /** Whether all was read that ever came. */
  get isOver() {
    return this.#chunks.length === 0 && (this.isEnded || this.error !== undefined);
  }
}

function options({ method, scheme, authority, path, headers }) {
  const { hostname, port } = new URL(`${scheme}://${authority}`);
  const named = { host: authority };
  for (const [name, value] of headers) {
    const text = Buffer.from(value).toString('latin1');
    named[name] = name in named ? [named[name], text].flat() : text;
  }
  // A URL has IPv6 addresses in brackets, a socket has not.
  return { method, host: hostname.replace(/^\[|\]$/g, ''), port, path, headers: named, setHost: false };
}

/** Node gives names and values in one list, and bytes as latin1. */
function pairs(raw) {
  const pairs = [];
  for (let i = 0; i < raw.length; i += 2) {
    pairs.push([raw[i].toLowerCase(), Buffer.from(raw[i + 1], 'latin1')]);
  }
  return pairs;
}

/** An agent may break its sockets with anything. */
function codeOf(error) {
  return typeof error?.code === 'string' ? error.code : '';
}

/**
 * What an error of Node is in wasi:http. The codes say whether a request may have arrived, and the
 * component believes them: so those that mean "certainly not" are only for what was not sent.
 */
function meaning(code, wasSent) {
  if (wasSent) {
    if (code === 'HPE_HEADER_OVERFLOW') return { code: 'HTTP-response-header-section-size' };
    return { code: code.startsWith('HPE_') ? 'HTTP-protocol-error' : 'connection-terminated' };
  }
  switch (code) {
    case 'ECONNREFUSED':
      return { code: 'connection-refused' };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
    case 'EAI_NODATA':
      return { code: 'DNS-error', detail: code };
    case 'ENETUNREACH':
    case 'EHOSTUNREACH':
    case 'EADDRNOTAVAIL':
      return { code: 'destination-IP-unroutable' };
    case 'ETIMEDOUT':
      return { code: 'connection-timeout' };
    case 'EMFILE':
    case 'ENFILE':
      return { code: 'connection-limit-reached' };
    case 'EPROTO':
      return { code: 'TLS-protocol-error' };
    default:
      if (/CERT|SIGNATURE|ISSUER|ALTNAME/.test(code)) return { code: 'TLS-certificate-error' };
      if (/^ERR_(SSL|TLS)/.test(code)) return { code: 'TLS-protocol-error' };
      return { code: 'destination-unavailable' };
  }
}
