/** Everything that a docket needs, on free ports of this machine: the mock, Restate, and the service. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
export const MOCK = process.env.MOCK ?? file('../../../target/debug/voice-calling-mock');
const SERVER = file(`../node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
const TOKEN = 'mock-token-0001';
export const SECRET = '0123456789abcdef01234567';

export type Report = { counts: Record<string, number>; reasons: Record<string, string>; open: number; waiting: number };

/** What the mock has. */
type Seen = {
  entries: { id: string; number: string }[];
  requests: { n: number; method: string; status: number | null }[];
};

/** What dies in the tests. */
export type Mortal = 'service' | 'server';

export class Site {
  /** The phone numbers of the dockets that the mock has created, by docket id. */
  readonly rang = new Map<string, string>();
  /** The requests for a create that have reached the mock, and how many of them it has answered. */
  readonly creates = { begun: 0, answered: 0 };
  readonly cpuMs = { service: 0, server: 0 };
  /** What the service and the server have written to stderr. */
  log = '';
  readonly #folder = mkdtempSync(join(tmpdir(), 'voice-calling-restate-'));
  readonly #processes = new Map<string, ChildProcess>();
  readonly #ports: number[];
  #mock = { url: '', page: '' };

  private constructor(ports: number[]) {
    this.#ports = ports;
  }

  /** Starts all of it, the mock with these flags, and runs `use`. */
  static async with(flags: string[], use: (site: Site) => Promise<void>, constants = {}): Promise<void> {
    const site = new Site(await freePorts(4));
    try {
      site.#copy(constants);
      await site.#startMock(flags);
      await Promise.all([site.start('server'), site.start('service')]);
      await posted(`${site.admin}/deployments`, { uri: site.#at(3) });
      await until('the ingress has the services', () => site.progress('none').then(() => true, () => false));
      await use(site);
    } finally {
      await Promise.all([...site.#processes.values()].map((process) => ended(process, 'SIGKILL')));
      rmSync(site.#folder, { recursive: true });
    }
  }

  /** Copies the files, in which these constants have other values. */
  #copy(constants: Record<string, string>) {
    for (const name of ['endpoint.ts', 'docket.ts', 'campaign.ts', 'service.ts']) {
      let text = readFileSync(file(`../${name}`), 'utf8');
      for (const [constant, value] of Object.entries(constants)) {
        text = text.replace(new RegExp(`(const ${constant} =) .*;`), `$1 ${value};`);
      }
      writeFileSync(join(this.#folder, name), text);
    }
    mkdirSync(join(this.#folder, 'tmp'));
    for (const name of ['package.json', 'node_modules']) symlinkSync(file(`../${name}`), join(this.#folder, name));
  }

  #at = (index: number) => `http://127.0.0.1:${this.#ports[index]}`;
  get ingress() {
    return this.#at(0);
  }
  get admin() {
    return this.#at(1);
  }

  /** Where the service delivers to. */
  webhook(secret: string) {
    return `${this.ingress}/webhook/${secret}/deliver/send`;
  }

  async #startMock(flags: string[]) {
    const webhook = this.webhook(SECRET);
    const fixed = ['--port', '0', '--calls', 'answered', '--webhook', webhook];
    const mock = spawn(MOCK, [...fixed, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#processes.set('mock', mock);
    for await (const line of createInterface({ input: mock.stdout })) {
      this.#mock.url ||= /BASE_URL=(\S+)/.exec(line)?.[1] ?? '';
      this.#mock.page = /The page: (\S+)/.exec(line)?.[1] ?? '';
      if (this.#mock.page) return;
    }
    throw new Error(`${MOCK} ended at once`);
  }

  /** Starts what is not running, and returns when it can be reached. */
  async start(which: Mortal, env: Record<string, string> = {}): Promise<void> {
    const [ingress, admin, node] = this.#ports.map((port) => `127.0.0.1:${port}`);
    const stdio = ['ignore', 'ignore', 'pipe'] as const;
    if (which === 'server') {
      const own = { RESTATE_INGRESS__BIND_ADDRESS: ingress, RESTATE_ADMIN__BIND_ADDRESS: admin, RESTATE_BIND_ADDRESS: node };
      const folders = { RESTATE_BASE_DIR: join(this.#folder, 'data'), TMPDIR: join(this.#folder, 'tmp') };
      const rest = { ...folders, RESTATE_DISABLE_TELEMETRY: 'true', RUST_LOG: 'error' };
      this.#processes.set(which, spawn(SERVER, { env: { ...process.env, ...own, ...rest, ...env }, stdio: [...stdio] }));
    } else {
      const own = { VOICE_CALLING_BASE_URL: this.#mock.url, VOICE_CALLING_API_TOKEN: TOKEN, PORT: String(this.#ports[3]) };
      const rest = { VOICE_CALLING_ATTEMPT_TIMEOUT_MS: '30000', VOICE_CALLING_WEBHOOK_SECRET: SECRET, RESTATE_LOGGING: 'WARN' };
      const program = [join(this.#folder, 'endpoint.ts')];
      this.#processes.set(which, spawn(process.execPath, program, { env: { ...process.env, ...own, ...rest, ...env }, stdio: [...stdio] }));
    }
    this.#processes.get(which)!.stderr!.on('data', (text) => {
      this.log += text;
      if (process.env.VERBOSE) process.stderr.write(text);
    });
    const isThere =
      which === 'service'
        ? () => isListening(this.#ports[3]!)
        : async () => (await isOk(`${this.ingress}/restate/health`)) && isOk(`${this.admin}/health`);
    await until(`${which} is there`, isThere);
  }

  /** Sends a signal, and waits for the end of the process unless it is one that stops or continues it. */
  async signal(which: Mortal, signal: NodeJS.Signals): Promise<void> {
    const process = this.#processes.get(which)!;
    this.cpuMs[which] += signal === 'SIGKILL' ? cpuMs(process.pid!) : 0;
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') process.kill(signal);
    else await ended(process, signal);
  }

  /** Reads what the mock has. */
  async look(): Promise<void> {
    const response = await fetch(`${this.#mock.page}/changes`);
    const { entries, requests } = (await response.json()) as Seen;
    for (const { id, number } of entries) this.rang.set(id, number);
    for (const { n, method, status } of requests) if (method === 'POST') this.#requests.set(n, status);
    this.creates.begun = this.#requests.size;
    this.creates.answered = [...this.#requests.values()].filter((status) => status).length;
  }
  readonly #requests = new Map<number, number | null>();

  /** Waits until `creates` is what a test needs. */
  seen(what: keyof Site['creates'], count: number): Promise<void> {
    return until(`${count} creates are ${what}`, async () => (await this.look(), this.creates[what] >= count));
  }

  /** Waits until as many phones have rung. */
  rings(count: number): Promise<void> {
    return until(`${count} phones ring`, async () => (await this.look(), this.rang.size >= count));
  }

  /** Lets time pass for the mock: calls end, and answers that it held back are sent. */
  async pass(ms: number): Promise<void> {
    await posted(`${this.#mock.page}/clock`, { advance_ms: ms });
  }

  /** Waits until as many webhooks were answered, or could not be sent. */
  delivered(count: number): Promise<void> {
    const deliveries = async () => (await (await fetch(`${this.#mock.page}/deliveries`)).json()) as unknown[];
    return until(`${count} webhooks are sent`, async () => (await deliveries()).length >= count);
  }

  /** Orders a fault of as many next requests; without one, cancels those that are left. */
  async fault(order?: string, times = 1): Promise<void> {
    const url = `${this.#mock.page}/faults`;
    if (!order) await fetch(url, { method: 'DELETE' });
    else for (let count = 0; count < times; count++) await posted(url, { order });
  }

  /** Begins a campaign, and returns its report as soon as nothing is open or waits. */
  async campaign(name: string, plan: object): Promise<Report> {
    await posted(`${this.ingress}/campaign/${name}/start`, plan);
    const isOver = async () => {
      const { open, waiting } = await this.progress(name);
      return open + waiting === 0;
    };
    await until('the campaign is over', isOver, 600_000);
    return this.progress(name);
  }

  progress = (name: string) => posted(`${this.ingress}/campaign/${name}/progress`, '') as Promise<Report>;

  /** The invocation of the run of a docket. */
  async run(key: string): Promise<string> {
    const where = `target = 'docket/${key}/run'`;
    return (await this.query(`SELECT id FROM sys_invocation WHERE ${where}`))[0]!.id!;
  }

  async cancel(id: string): Promise<void> {
    await fetch(`${this.admin}/invocations/${id}/cancel`, { method: 'PATCH' });
  }

  submit(key: string, order: unknown): Promise<unknown> {
    return posted(`${this.ingress}/docket/${encodeURIComponent(key)}/run/send`, JSON.stringify(order));
  }

  /** Waits for the end of a run, also across a restart, and returns its outcome or its error. */
  async outcome(key: string): Promise<Record<string, any>> {
    const url = `${this.ingress}/restate/workflow/docket/${encodeURIComponent(key)}/attach`;
    for (;;) {
      const response = await fetch(url).catch(() => undefined);
      if (response && response.status < 500) return (await response.json()) as Record<string, any>;
      await setTimeout(100);
    }
  }

  /** The rows that a query yields. */
  async query(query: string): Promise<Record<string, string>[]> {
    return ((await posted(`${this.admin}/query`, { query })) as { rows: Record<string, string>[] }).rows;
  }

  /** Waits until as many runs wait for something, such as the completions of their dockets. */
  suspended(count: number): Promise<void> {
    const rows = () => this.query(`SELECT id FROM sys_invocation WHERE target LIKE 'docket/%/run' AND status = 'suspended'`);
    return until(`${count} runs wait`, async () => (await rows()).length === count);
  }

  /** The keys of the runs that ask a person. */
  async asked(): Promise<string[]> {
    return (await this.query(`SELECT service_key FROM state WHERE key = 'question'`)).map((row) => row.service_key!);
  }

  /** What lies on the disk. */
  bytes(): number {
    const names = readdirSync(join(this.#folder, 'data'), { recursive: true, withFileTypes: true });
    const files = names.filter((name) => name.isFile());
    return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  }

  /** Processor time so far, of those that were killed too. Unit: milliseconds. */
  cpu(which: Mortal): number {
    return this.cpuMs[which] + cpuMs(this.#processes.get(which)!.pid!);
  }
}

/** Posts JSON, and returns the JSON that it is answered with. */
export async function posted(url: string, body: object | string): Promise<unknown> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, { method: 'POST', headers, body: text });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${answer}`);
  return answer ? JSON.parse(answer) : undefined;
}

export async function until(what: string, isSo: () => Promise<boolean>, longestMs = 120_000): Promise<void> {
  for (const end = Date.now() + longestMs; !(await isSo()); await setTimeout(100)) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
  }
}

/** Sends a signal, and waits for the end of the process. */
async function ended(process: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const end = once(process, 'exit');
  process.kill(signal);
  await end;
}

const isOk = (url: string) => fetch(url).then(({ ok }) => ok, () => false);

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isThere = await once(socket, 'connect').then(() => true, () => false);
  socket.destroy();
  return isThere;
}

/** Returns free ports below those that the system gives to connections. */
async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(10_000, 20_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(() => true, () => false);
    if (!isFree) continue;
    await once(server.close(), 'close');
    ports.add(port);
  }
  return [...ports];
}

/** User and system time of a process; the kernel counts in hundredths of a second. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
