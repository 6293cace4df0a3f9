/** Agents' programs: clients of the protocol, of three times, each with a server that it has started. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Transport2 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as FirstClient } from 'mcp-sdk-2025-06-18/client/index.js';
import { StdioClientTransport as FirstTransport } from 'mcp-sdk-2025-06-18/client/stdio.js';
import { ElicitRequestSchema as FirstElicitRequestSchema } from 'mcp-sdk-2025-06-18/types.js';

/** The clients by the newest protocol that each knows. */
const CLIENTS = {
  '2025-06-18': { Client: FirstClient, Transport: FirstTransport, elicitation: FirstElicitRequestSchema },
  '2025-11-25': { Client, Transport: StdioClientTransport, elicitation: ElicitRequestSchema },
  '2026-07-28': { Client: Client2, Transport: Transport2, elicitation: 'elicitation/create' },
};
export const PROTOCOLS = Object.keys(CLIENTS);
const NEWEST = PROTOCOLS.at(-1);

/**
 * Runs `test` with a client of the server that `command` starts, once it has written `ready` to its
 * stderr. `person` answers when the server asks one: it is the answer, or a function of the question.
 *
 * `agent` has `client`; `asked`, the questions; `call(name, given, options)`, which returns
 * `{ isError, text }`; `pid` of the server; `wrote(text)`, which resolves once its stderr has the text,
 * and `ended`, which resolves once it is gone.
 */
export async function withAgent({ command, args, env, person, capabilities, protocol = NEWEST, ready = '' }, test) {
  const { Client, Transport, elicitation } = CLIENTS[protocol];
  const options = { capabilities: capabilities ?? (person ? { elicitation: {} } : {}) };
  if (protocol === NEWEST) options.versionNegotiation = { mode: { pin: NEWEST } };
  const client = new Client({ name: 'test', version: '1' }, options);
  const asked = [];
  if (options.capabilities.elicitation) {
    client.setRequestHandler(elicitation, ({ params }) => {
      asked.push(params.message);
      return typeof person === 'function' ? person(params) : person;
    });
  }
  const transport = new Transport({ command, args, env: { PATH: process.env.PATH, ...env }, stderr: 'pipe' });
  const ended = new Promise((resolve) => (transport.onclose = resolve));
  let text = '';
  transport.stderr.on('data', (piece) => (text += piece));
  const wrote = async (expected) => {
    while (!text.includes(expected)) await once(transport.stderr, 'data');
  };
  async function call(name, given, { signal, ...more } = {}) {
    const v1 = protocol === NEWEST ? [] : [undefined];
    const { isError = false, content } = await client.callTool({ name, arguments: given }, ...v1, { signal, ...more });
    assert.equal(content.length, 1);
    return { isError, text: content[0].text };
  }
  try {
    await client.connect(transport);
    await wrote(ready);
    return await test({ client, asked, call, wrote, ended, pid: transport.pid });
  } catch (error) {
    error.message += text;
    throw error;
  } finally {
    await client.close();
  }
}
