/**
 * Requests on `node:http` and `node:https`. It knows at every moment whether anything was sent,
 * never follows a redirect, and never sends anything twice.
 */
import { pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { clock } from './clock.js';
import { Connections, whenConnected } from './connections.js';
import { READ, messageOf } from './exchange.js';

/** Not an error, which would have a trace for each request. */
const CLOSED = { message: 'the connection was closed' };

export class NodeHttp extends Connections {
  /** Sends a request, and returns what ends it. */
  send(request, exchange) {
    const sending = new Sending(request, exchange, this);
    return () => sending.cancel();
  }
}

class Sending {
  #begin;
  #body;
  #exchange;
  #connectMs;
  #request;
  #stopConnecting;
  #isOver = false;

  constructor(request, exchange, connections) {
    const { method, url, headers, body } = request;
    this.#connectMs = request.connect_ms;
    const [, scheme, authority, path] = /^(https?):\/\/([^/?#]*)(.*)$/.exec(url);
    const all = { host: authority, 'accept-encoding': 'identity', ...Object.fromEntries(headers) };
    const options = { method, path, setHost: false, headers: all, ...placeOf(scheme, authority) };
    this.#begin = () => connections.request(scheme, options);
    this.#body = method === 'POST' ? body : undefined;
    this.#exchange = exchange;
    exchange.isUnsent = true;
    this.#open();
  }

  /** Ends it, without an outcome. */
  cancel() {
    if (this.#isOver) return;
    this.#over();
    this.#request.destroy();
  }

  #giveUp() {
    if (!this.#exchange.isUnsent || this.#isOver) return;
    this.#fail(`no connection within ${this.#connectMs} ms`);
  }

  #open() {
    let request;
    try {
      request = this.#begin();
    } catch (error) {
      this.#over();
      this.#exchange.disconnected(messageOf(error));
      return;
    }
    this.#request = request;
    // One that is kept is connected already.
    if (!request.reusedSocket) {
      this.#stopConnecting ??= clock.after(this.#connectMs, () => clock.afterPendingInput(() => this.#giveUp()));
    }
    whenConnected(request, () => this.#send(request));
    request.once('response', (response) => this.#answered(request, response));
    request.on('error', (error) => this.#disconnected(request, error));
    request.once('close', () => this.#disconnected(request, CLOSED));
  }

  #send(request) {
    if (request !== this.#request || this.#isOver || this.#exchange.isOver) return;
    this.#stopConnecting?.();
    // Handed to a connection: from now on the service may have it.
    this.#exchange.isUnsent = false;
    request.end(this.#body);
  }

  #answered(request, response) {
    const isOurs = request === this.#request && !this.#isOver;
    if (!isOurs || this.#isStale(request)) {
      if (isOurs) this.#reopen(request);
      else request.destroy();
      return;
    }
    const headers = pairs(response.rawHeaders);
    const decoder = decoderOf(headers);
    const body = decoder ? pipeline(response, decoder, () => {}) : response;
    const exchange = this.#exchange;
    exchange.head(response.statusCode, decoder ? headers.filter(([name]) => name !== 'content-encoding') : headers);
    body.on('data', (chunk) => {
      if (this.#isOver || exchange.chunk(chunk)) return;
      this.cancel();
    });
    const end = (error) => {
      if (this.#isOver) return;
      this.#over();
      if (response.complete && !error) exchange.end();
      else exchange.end(messageOf(error ?? 'the body ended early'));
    };
    body.once('end', () => end());
    body.on('error', end);
    body.once('close', () => end());
  }

  #disconnected(request, error) {
    if (request !== this.#request || this.#isOver || this.#exchange.status !== undefined) return;
    if (this.#isStale(request)) this.#reopen(request);
    else this.#fail(messageOf(error));
  }

  /**
   * Returns `true` if a connection that was used before ended before the request was sent on it.
   * Some services end one with a 408, which is no answer to this request.
   */
  #isStale(request) {
    return request.reusedSocket && this.#exchange.isUnsent;
  }

  /** Takes another connection: nothing was sent on this one. */
  #reopen(request) {
    this.#open();
    request.destroy();
  }

  /** There is no answer. Nothing is written before the connection is there. */
  #fail(message) {
    this.#over();
    this.#request.destroy();
    this.#exchange.disconnected(message);
  }

  #over() {
    this.#isOver = true;
    this.#stopConnecting?.();
  }
}

const places = new Map();

/** Where a connection goes to. A URL has IPv6 addresses in brackets, a socket has not. */
function placeOf(scheme, authority) {
  const key = `${scheme}://${authority}`;
  let place = places.get(key);
  if (!place) {
    const { hostname, port } = new URL(key);
    place = { host: hostname.replace(/^\[|\]$/g, ''), port };
    places.set(key, place);
  }
  return place;
}

/** Node gives names and values in one list, and bytes as latin1. */
function pairs(raw) {
  const pairs = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    if (READ.has(name)) pairs.push([name, text(raw[i + 1])]);
  }
  return pairs;
}

function text(latin1) {
  return /^[\x00-\x7f]*$/.test(latin1) ? latin1 : Buffer.from(latin1, 'latin1').toString();
}

const DECODERS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * Returns what takes off the encoding that these headers name, if it is known. Some proxies put one on
 * although none was asked for.
 */
function decoderOf(headers) {
  const [, encoding = ''] = headers.find(([name]) => name === 'content-encoding') ?? [];
  return DECODERS.get(encoding.trim().toLowerCase())?.();
}
