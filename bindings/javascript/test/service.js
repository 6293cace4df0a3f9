/** Services that do what a test says, on loopback or as a script, and clients of them. */
import { spawn } from 'node:child_process';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { VoiceClient } from 'voice-calling';
import { ScriptedService } from 'voice-calling/testing';

export const TOKEN = 'mock-token-0001';
export const DOCKET = '0ad33a9b-593b-4f55-b577-13349e14a5dd';
export const CREATED = { docket_id: DOCKET, status: 'OPEN', created: true };

export const REQUEST = Object.freeze({
  agentId: 7,
  toPhoneNumber: '919876543210',
  callContext: { reference: 'crm-1001' },
});

/**
 * A file among the certificates for loopback, valid until 2126, which nothing but these tests trusts: an authority
 * whose key was thrown away, a service (`localhost`, `127.0.0.1`) and a client with their keys.
 */
export const pem = (name) => readFileSync(new URL(`certificates/${name}`, import.meta.url), 'utf8');

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A service that plays a script in time that passes at once, and a client of it. */
export function scripted(script, options) {
  const service = new ScriptedService(script);
  return { service, client: new VoiceClient({ ...service.options, ...options }) };
}

/**
 * Runs `test` with a service, whose answers `answer(request, body)` gives: `{ status, headers,
 * body }`, or a promise of it; whatever it leaves out has a default. `requests` are those received.
 * With `tls` it speaks HTTPS.
 */
export async function withService(answer, test, tls = undefined) {
  const requests = [];
  const listener = async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { method, url, headers } = request;
    requests.push({ method, url, headers, body });
    const given = (await answer({ method, url, headers }, body, requests.length)) ?? {};
    response.writeHead(given.status ?? 200, given.headers);
    const isWhole = typeof given.body === 'string' || given.body instanceof Uint8Array;
    response.end(isWhole ? given.body : JSON.stringify(given.body ?? CREATED));
  };
  const own = tls && { key: pem('service.pem'), cert: pem('service.pem'), ...tls };
  const server = own ? https.createServer(own, listener) : http.createServer(listener);
  server.on('tlsClientError', () => {});
  await listening(server);
  try {
    return await test({ url: urlOf(server, tls ? 'https' : 'http'), requests, server });
  } finally {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }
}

/**
 * The same with a service that treats sockets as it likes: `behave(socket, text)` is called when a
 * whole request has come. `received` counts requests.
 */
export function withSockets(behave, test) {
  return withListener((socket, service) => {
    let text = '';
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
      for (let end = endOfMessage(text); end !== undefined; end = endOfMessage(text)) {
        const request = text.slice(0, end);
        text = text.slice(end);
        service.received++;
        if (request.startsWith('POST')) service.posts++;
        behave(socket, request, service);
      }
    });
  }, test);
}

/**
 * The same with a service that is called with each connection as it is made. After `refuse()` the
 * port refuses connections.
 */
export async function withListener(accept, test) {
  const service = { received: 0, connections: 0, posts: 0, refuse: () => server.close() };
  const sockets = new Set();
  const server = net.createServer((socket) => {
    service.connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    accept(socket, service);
  });
  await listening(server);
  try {
    return await test(Object.assign(service, { url: urlOf(server), sockets }));
  } finally {
    const isClosed = server.listening ? once(server.close(), 'close') : undefined;
    for (const socket of sockets) socket.destroy();
    await isClosed;
  }
}

/** The length of the first message in a text, if it is whole. */
export function endOfMessage(text) {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head)) ?? [];
  const end = head + 4 + Number(length);
  return text.length >= end ? end : undefined;
}

/** The lines of requests. */
export const lines = (requests) => requests.map(({ method, url }) => `${method} ${url}`);

/** A whole answer as it goes over the wire. */
export function answerText(body = CREATED, status = '200 OK', headers = '') {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\n${headers}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** Runs `test` with a client, and closes it. Nothing is taken from the environment. */
export async function withClient(url, options, test) {
  const client = new VoiceClient({ baseUrl: url, token: TOKEN, env: {}, backoffMs: 1, maxBackoffMs: 5, ...options });
  try {
    return await test(client);
  } finally {
    await client.close();
  }
}

/** A client of such a service. */
export function withBoth(answer, options, test) {
  return withService(answer, (service) => withClient(service.url, options, (client) => test(client, service)));
}

export async function failure(promise) {
  return promise.then(
    (value) => {
      throw new Error(`expected a failure, got ${value}`);
    },
    (error) => error,
  );
}

/** The lines that a user sees meanwhile: those of stderr, and warnings. */
export async function logged(act) {
  const lines = [];
  const { write } = process.stderr;
  const onWarning = ({ message }) => lines.push(message);
  process.on('warning', onWarning);
  process.stderr.write = (line) => lines.push(line) > 0;
  try {
    await act();
    // Warnings come a turn later.
    await new Promise(setImmediate);
  } finally {
    process.stderr.write = write;
    process.off('warning', onWarning);
  }
  return lines;
}

export async function listening(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

export function urlOf(server, scheme = 'http') {
  return `${scheme}://127.0.0.1:${server.address().port}`;
}

/** Starts a module of a user as a program, which has the package. */
export function started(source, given = [], { flags = [], env = process.env } = {}) {
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  return spawn(process.execPath, [...flags, '--input-type=module', '--eval', source, ...given], { cwd, env });
}

/** What a program has written when it has ended, and how it ended: `code` or `signal`. */
export async function endOf(child) {
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (piece) => (output[name] += piece));
  const [code, signal] = await once(child, 'close');
  return { ...output, code, signal };
}

export const sqlite = process.getBuiltinModule?.('node:sqlite');
export const skipLedger = sqlite ? false : 'this Node has no node:sqlite';

/** A test with the path of a ledger, in a folder of its own. */
export function ledgerTest(name, run, skip = skipLedger) {
  test(name, { skip }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
    t.after(() => rmSync(folder, { recursive: true }));
    await run(join(folder, 'calls.db'));
  });
}

/** Starts the program that a variable names, which serves until the tests end at the address that it prints first. */
export async function startHarness(variable, ...command) {
  const program = process.env[variable];
  if (!program) throw new Error(`${variable} has to name a program: run \`cargo xtask bindings test\``);
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const child = spawn(program, command, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => child.kill());
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise((found) => {
    lines.on('line', (line) => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
      if (url) found(url);
    });
  });
  // The tests end when nothing keeps the process running.
  child.unref();
  /** @type {any} */ (child.stdout).unref();
  return url;
}
