/** The server as a program: with an agent's client, or by the lines of the protocol. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TOKEN, withService } from '../../javascript/test/service.mjs';
import { withAgent } from './agent.js';

export const SERVER = fileURLToPath(new URL('../server.js', import.meta.url));
export const AGREES = { action: 'accept', content: { call: true } };
export const CREATE = {
  key: 'crm-1001',
  'agent-id': 7,
  'to-phone-number': '919876543210',
  'call-context': '{"reference": "crm-1001", "amount": 0.10}',
};
export const PLACE = { key: 'crm-1002', 'agent-name': 'renewals', 'to-phone-number': '919876543210', 'call-context': { name: 'Asha' } };

/** Runs `test` with a folder for data, which no other test uses. */
async function withFolder(test) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'));
  try {
    return await test(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const environment = (url, folder, settings) => ({
  XDG_DATA_HOME: folder,
  VOICE_CALLING_BASE_URL: url,
  VOICE_CALLING_API_TOKEN: TOKEN,
  VOICE_CALLING_BACKOFF_MS: '1',
  VOICE_CALLING_MAX_BACKOFF_MS: '1',
  // They do not end what a slow machine would have finished.
  VOICE_CALLING_ATTEMPT_TIMEOUT_MS: '60000',
  VOICE_CALLING_DEADLINE_MS: '120000',
  ...settings,
});

/**
 * Runs `test` with a service, which answers as `answer` says, and with `start(options, test)`, which
 * runs a test with an agent (`agent.js`) whose server has these `args` and `settings`, and the folder
 * for data of all the agents of this test.
 */
export const withServers = (answer, test) =>
  withFolder((folder) =>
    withService(answer, (service) => {
      const start = ({ args = [], settings, ...options }, test) =>
        withAgent({ command: process.execPath, args: [SERVER, ...args], env: environment(service.url, folder, settings), ...options }, test);
      return test(start, service, folder);
    }));

/** Runs `test` with one agent, and the service of its server. */
export const withServer = (answer, options, test) =>
  withServers(answer, (start, service, folder) => start(options, (agent) => test(agent, service, folder)));

/**
 * Runs `test` with a server that is written to line by line: `send(message)`; `messages`, those that it
 * wrote; `line()`, which resolves with the next; `answerTo(id)`, which resolves to the answer with this
 * id; the process, with its `errors`; and `ended`, which resolves to its status.
 */
export const withLines = (answer, { args = [], settings }, test) =>
  withFolder((folder) =>
    withService(answer, async (service) => {
      const child = spawn(process.execPath, [SERVER, ...args], { env: { PATH: process.env.PATH, ...environment(service.url, folder, settings) } });
      const messages = [];
      const lines = createInterface({ input: child.stdout });
      lines.on('line', (line) => messages.push(JSON.parse(line)));
      const errors = { text: '' };
      child.stderr.on('data', (piece) => (errors.text += piece));
      const ended = once(child, 'close').then(([status]) => status);
      const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      async function answerTo(id) {
        for (;;) {
          const found = messages.find((it) => it.id === id && !it.method);
          if (found) return found;
          await once(lines, 'line');
        }
      }
      try {
        return await test({ child, send, answerTo, line: () => once(lines, 'line'), messages, errors, ended }, service);
      } finally {
        child.kill('SIGKILL');
        await ended;
      }
    }));

/** The first lines of a client of 2025-11-25 with these capabilities. */
export function initialize({ send }, capabilities = {}) {
  send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'lines', version: '1' } } });
  send({ method: 'notifications/initialized' });
}

/** The parameters of a tool call, from a client of 2026-07-28 whose person can be asked. */
export const modern = (params) => ({
  ...params,
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'lines', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  },
});
