/** The connections of a client on `node:http` and `node:https`. */
import http from 'node:http';
import https from 'node:https';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { clock } from './clock.js';

/**
 * How long an idle connection is kept. A service gives up connections that were idle for longer
 * than it likes (2 seconds with some, 5 with many), without a word. A request that is just then
 * sent on one is lost, and no one knows whether it was read: a create is then of unknown
 * outcome. So a connection is used again only while the service hardly has a reason to give it up.
 */
const IDLE_MS = 1000;

/** How many bytes a connection that is kept had read, with the answers to its requests. */
const BYTES = Symbol('bytes');

/**
 * Bytes on an idle connection are not an answer to the request that is sent next: they end it.
 *
 * @type {(Agent: any) => any}
 */
const keeping = (Agent) =>
  class extends Agent {
    keepSocketAlive(socket) {
      socket[BYTES] = socket.bytesRead;
      return super.keepSocketAlive(socket);
    }

    reuseSocket(socket, request) {
      if (socket.bytesRead !== socket[BYTES]) socket.destroy();
      super.reuseSocket(socket, request);
    }
  };

const HttpAgent = keeping(http.Agent);
const HttpsAgent = keeping(https.Agent);

export class Connections {
  #agents;
  #own = [];
  #ca;

  constructor({ ca, agent }) {
    const options = { keepAlive: true, timeout: IDLE_MS, maxSockets: Infinity };
    this.#agents = agent
      ? { http: agent, https: agent }
      : { http: new HttpAgent(options), https: new HttpsAgent(options) };
    this.#ca = ca;
    if (!agent) this.#own = Object.values(this.#agents);
  }

  /** Begins a request, which is on its way as soon as it is ended. */
  request(scheme, options) {
    // Looked up each time: this is what instrumentation replaces.
    const { request } = scheme === 'https' ? https : http;
    options.agent = this.#agents[scheme];
    // Agents for proxies take it from the request.
    if (this.#ca) options.ca = this.#ca;
    return request(options);
  }

  /** Closes what is idle. The agent of a user is the user's. */
  close() {
    for (const agent of this.#own) agent.destroy();
  }
}

/**
 * Calls `then` once a request can be written to its socket: connected, with TLS's handshake done.
 * If it is never called, nothing was sent. A socket that is none of Node's, such as one of a mock,
 * may connect only after it was written to.
 */
export function whenConnected(request, then) {
  request.once('socket', (socket) => {
    if (socket.destroyed) return undefined;
    // The event loop may not yet have read that the service closed the connection.
    if (request.reusedSocket) return clock.afterPendingInput(() => request.destroyed || then());
    if (![Socket, TLSSocket].includes(socket.constructor)) return then();
    // Agents of other makers may give a socket that is ready.
    const isHandshaking = socket.encrypted && (socket.secureConnecting ?? socket.connecting);
    if (isHandshaking) return socket.once('secureConnect', then);
    if (socket.connecting) return socket.once('connect', then);
    return then();
  });
}
