/** Node-RED itself, in a folder of its own, with the nodes installed as its users install them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DOCKET, TOKEN } from '../../javascript/test/service.mjs';

const folder = fileURLToPath(new URL('..', import.meta.url));

/** Node-RED 4, unless `NODE_RED` names a folder beside this file that has another one. */
const installed = new URL(`./${process.env.NODE_RED ?? '..'}/package.json`, import.meta.url);
const program = createRequire(installed).resolve('node-red/red.js');

const SETTINGS = {
  uiHost: '127.0.0.1',
  uiPort: 0,
  flowFile: 'flows.json',
  credentialSecret: 'of-this-test',
  nodeCloseTimeout: 10_000,
  telemetry: { enabled: false, updateNotification: false },
  editorTheme: { tours: false },
  externalModules: { autoInstall: false, palette: { allowInstall: false } },
};

const LOGGED_WITHIN_MS = 60_000;

export class NodeRed {
  /** Every line that it wrote. */
  lines = [];
  #log;
  #env;

  static async start(settings = {}, env = {}) {
    const nodeRed = new NodeRed();
    nodeRed.#env = env;
    nodeRed.userDir = mkdtempSync(join(tmpdir(), 'voice-calling-node-red-'));
    const scope = join(nodeRed.userDir, 'node_modules', '@voice-calling');
    mkdirSync(scope, { recursive: true });
    symlinkSync(folder, join(scope, 'node-red'));
    const manifest = { private: true, dependencies: { '@voice-calling/node-red': '*' } };
    writeFileSync(join(nodeRed.userDir, 'package.json'), JSON.stringify(manifest));
    const module = `module.exports = ${JSON.stringify({ ...SETTINGS, ...settings })};`;
    writeFileSync(join(nodeRed.userDir, 'settings.js'), module);
    process.once('exit', () => nodeRed.child.kill());
    await nodeRed.#run();
    return nodeRed;
  }

  async #run() {
    const from = this.lines.length;
    this.child = spawn(process.execPath, [program, '--userDir', this.userDir], {
      env: {
        PATH: process.env.PATH,
        HOME: this.userDir,
        VOICE_CALLING_BACKOFF_MS: '1',
        VOICE_CALLING_MAX_BACKOFF_MS: '5',
        VOICE_CALLING_DEADLINE_MS: '60000',
        VOICE_CALLING_ATTEMPT_TIMEOUT_MS: '60000',
        // It must have no effect on a create with a key.
        VOICE_CALLING_CREATE_RETRY: 'server-errors',
        ...this.#env,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#log = createInterface({ input: this.child.stdout }).on('line', (line) => this.lines.push(line));
    const [, url] = await this.logged(/Server now running at (http:\S+?)\/?$/, from);
    this.url = url;
    await this.logged(/Started flows/, from);
  }

  /** Ends it by a signal, and starts it again in its folder. */
  async restart(signal) {
    this.child.kill(signal);
    await once(this.child, 'close');
    await this.#run();
  }

  /** The first match of `pattern` in a line from the `from`th on, which may be yet to come. */
  async logged(pattern, from = 0) {
    const signal = AbortSignal.timeout(LOGGED_WITHIN_MS);
    try {
      for (let index = from; ; index++) {
        while (index >= this.lines.length) await once(this.#log, 'line', { signal });
        const match = pattern.exec(this.lines[index]);
        if (match) return match;
      }
    } catch (cause) {
      throw new Error(`not logged: ${pattern}\n${this.lines.join('\n')}`, { cause });
    }
  }

  /** On a connection of its own: Node-RED closes those that are idle. */
  fetch(path, { headers, ...options } = {}) {
    return fetch(this.url + path, { ...options, headers: { connection: 'close', ...headers } });
  }

  /** Deploys `nodes` in one flow, in place of what was deployed. */
  async deploy(nodes, type = 'full') {
    const from = this.lines.length;
    const flow = { id: 'flow', type: 'tab', label: 'flow' };
    const response = await this.fetch('/flows', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'node-red-deployment-type': type },
      // Without a place, Node-RED takes a node for a configuration.
      body: JSON.stringify([flow, ...nodes.map((node) => (node.z ? { x: 100, y: 100, ...node } : node))]),
    });
    if (response.status !== 204) throw new Error(`deploy: ${response.status} ${await response.text()}`);
    // The answer comes before the nodes are there.
    await this.logged(/Started (modified )?(flows|nodes)/, from);
  }

  /** Sends a message into the flow. The message that comes out, and its output. */
  async send(msg) {
    const response = await this.fetch('/send', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(msg),
    });
    return response.json();
  }

  async stop() {
    if (this.child.exitCode === null && this.child.kill('SIGTERM')) {
      await once(this.child, 'exit');
    }
    rmSync(this.userDir, { recursive: true });
  }
}

/** The one of this file of tests. */
export const nodeRed = await NodeRed.start();
after(() => nodeRed.stop());

/** The answer of a service whose docket has this status. */
export function docketIn(status) {
  return { body: { docket_id: DOCKET, status, call_context: { reference: 'crm-1001' } } };
}

export function account(url, more = {}) {
  return { id: 'account', type: 'voice-calling-account', name: '', baseUrl: url, credentials: { token: TOKEN }, ...more };
}

/** A flow around one node that creates: `send` puts messages in, and gets those that come out. */
export function around(node) {
  const answer = (output) => ({
    ...func(`answer-${output}`, `const { req, res, ...rest } = msg;
      return { req, res, payload: { output: ${output}, ...rest } };`),
    wires: [['answer']],
  });
  return [
    { id: 'in', type: 'http in', z: 'flow', url: '/send', method: 'post', wires: [['open']] },
    { ...func('open', 'return { ...msg.payload, req: msg.req, res: msg.res };'), wires: [['node']] },
    { id: 'node', z: 'flow', timeout: 60, ...node, account: 'account', wires: [['answer-1'], ['answer-2'], ['answer-3']] },
    ...[1, 2, 3].map(answer),
    { id: 'answer', type: 'http response', z: 'flow', wires: [] },
  ];
}

export function func(id, text) {
  return { id, type: 'function', z: 'flow', func: text, outputs: 1, wires: [[]] };
}

/** Nodes that log, in a line of their own, when the node completes a message, what a `catch` node gets of it, and its status. */
export const WATCHERS = [
  { id: 'complete', type: 'complete', z: 'flow', scope: ['node'], wires: [['log-complete']] },
  func('log-complete', "node.log(`complete: ${msg.topic}`);"),
  { id: 'catch', type: 'catch', z: 'flow', scope: ['node'], wires: [['log-catch']] },
  func('log-catch', "node.log(`catch: ${msg.topic}: ${msg.error.message}`);"),
  { id: 'status', type: 'status', z: 'flow', scope: ['node'], wires: [['log-status']] },
  func('log-status', "node.log(`${msg.status.fill} status: ${msg.status.text}`);"),
];
