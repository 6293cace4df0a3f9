/** An agent's program: a client of the protocol, with a server that it has started. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

/**
 * Runs `test` with a client of the server that `command` starts, once it has written `ready` to its
 * stderr. `person` answers when the server asks one; `asked` is what it asked; `server` has the
 * server's process id and `wrote(text)`, which resolves once its stderr has the text.
 */
export async function withAgent({ command, args, env, person, ready = '' }, test) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: person ? { elicitation: {} } : {} });
  const asked = [];
  if (person) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return person;
    });
  }
  const transport = new StdioClientTransport({
    command,
    args,
    env: { PATH: process.env.PATH, ...env },
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr.on('data', (piece) => (said += piece));
  const wrote = async (text) => {
    while (!said.includes(text)) await once(transport.stderr, 'data');
    return said;
  };
  try {
    await client.connect(transport);
    await wrote(ready);
    return await test(client, asked, { pid: transport.pid, wrote });
  } catch (error) {
    error.message += said;
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
