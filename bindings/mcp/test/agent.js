/** An agent's program: a client of the protocol, with a server that it has started. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

export const CREATE = {
  'agent-id': 7,
  'to-phone-number': '919876543210',
  'call-context': '{"reference": "crm-1001", "amount": 0.10}',
};

/**
 * Runs `test` with a client of the server that `command` starts, once it has written `ready` to its
 * stderr. `person` answers when the server asks one, by `forms` of the program; `asked` is what it
 * asked; `server` has the server's process id, `wrote(text)`, which resolves once its stderr has the
 * text, and `ended`, which resolves once it is gone.
 */
export async function withAgent({ command, args, env, person, forms = {}, ready = '' }, test) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: person ? { elicitation: forms } : {} });
  const asked = [];
  if (person) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return person;
    });
  }
  const transport = new StdioClientTransport({ command, args, env: { PATH: process.env.PATH, ...env }, stderr: 'pipe' });
  const ended = new Promise((resolve) => (transport.onclose = resolve));
  let text = '';
  transport.stderr.on('data', (piece) => (text += piece));
  const wrote = async (expected) => {
    while (!text.includes(expected)) await once(transport.stderr, 'data');
  };
  try {
    await client.connect(transport);
    await wrote(ready);
    return await test(client, asked, { pid: transport.pid, wrote, ended });
  } catch (error) {
    error.message += text;
    throw error;
  } finally {
    await client.close();
  }
}

/** What a tool returns: one text. */
export async function call(client, name, given) {
  const { isError = false, content } = await client.callTool({ name, arguments: given });
  assert.equal(content.length, 1);
  return { isError, text: content[0].text };
}
