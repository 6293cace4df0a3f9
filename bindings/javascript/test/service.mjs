/** Services on loopback that do what a test says, and clients of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { VoiceClient } from 'voice-calling';

export { pause };
export const TOKEN = 'mock-token-0001';
export const DOCKET = '0ad33a9b-593b-4f55-b577-13349e14a5dd';
export const CREATED = { docket_id: DOCKET, status: 'OPEN', created: true };
export const REQUEST = Object.freeze({
  agentId: 7,
  toPhoneNumber: '919876543210',
  callContext: { reference: 'crm-1001' },
});

/** A file among the certificates for loopback, valid until 2126, which only these tests trust. */
export const pem = (name) => readFileSync(new URL(`certificates/${name}`, import.meta.url), 'utf8');

/**
 * Runs `test` with a service. `answer(request, body, n)` gives `{ status, headers, body, afterMs }`, whose
 * defaults are those of a docket that was created; `null` is no answer. `requests` are those received,
 * and `arrived(n)` resolves when there are so many. With `tls` it speaks HTTPS.
 */
export async function withService(answer, test, tls) {
  const requests = [];
  const waiting = [];
  const listener = async (request, response) => {
    const chunks = await request.toArray().catch(() => undefined);
    // Its client is gone.
    if (!chunks) return;
    const { method, url, headers } = request;
    const received = { method, url, headers, body: Buffer.concat(chunks).toString() };
    requests.push(received);
    for (const { count, resolve } of waiting) if (requests.length >= count) resolve();
    const given = await answer(received, received.body, requests.length);
    if (given === null) return;
    const { status = 200, headers: own, body = CREATED, afterMs = 0 } = given ?? {};
    if (afterMs) await pause(afterMs);
    response.writeHead(status, own);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const server = tls ? https.createServer({ key: pem('service.pem'), cert: pem('service.pem'), ...tls }, listener) : http.createServer(listener);
  // A connection that it closes on its own might be one that a create has just taken.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const arrived = (count) => new Promise((resolve) => (requests.length >= count ? resolve() : waiting.push({ count, resolve })));
  try {
    return await test({ url: `${tls ? 'https' : 'http'}://127.0.0.1:${server.address().port}`, requests, arrived });
  } finally {
    server.closeAllConnections();
    await once(server.close(), 'close');
  }
}

/** Runs `test` with a client of a service, of which nothing is taken from the environment. */
export function withBoth(answer, options, test) {
  return withService(answer, async (service) => {
    const client = new VoiceClient({ baseUrl: service.url, token: TOKEN, env: {}, backoffMs: 1, maxBackoffMs: 5, ...options });
    try {
      return await test(client, service);
    } finally {
      await client.close();
    }
  });
}

/** A promise, and what resolves it: what waits for an event of a test. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { open, opened };
}

/** The lines of requests. */
export const lines = (requests) => requests.map(({ method, url }) => `${method} ${url}`);

export async function failure(promise) {
  return promise.then(
    (value) => {
      throw new Error(`expected a failure, got ${JSON.stringify(value)}`);
    },
    (error) => error,
  );
}

/** A logger that keeps its lines. */
export function keeping() {
  const lines = [];
  const keep = (level) => (text) => lines.push(`${level}: ${text}`);
  return { lines, debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
}

/** Runs `test` with the path of a ledger in a folder of its own. */
export async function withLedger(test) {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  try {
    return await test(join(folder, 'calls.db'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs a module of a user as a program, which has the package, and returns what it writes and how it ends, in a minute at the latest. `act` is called at a time; its input ends then. */
export async function ran(source, env = {}, at = undefined, act = (child) => child.stdin.end()) {
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], { cwd, env: { ...process.env, ...env }, timeout: 60_000 });
  const output = { stdout: '', stderr: '' };
  at?.then(() => act(child, output));
  for (const name of ['stdout', 'stderr']) child[name].on('data', (piece) => (output[name] += piece));
  const [code, signal] = await once(child, 'close');
  return { ...output, code, signal };
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
