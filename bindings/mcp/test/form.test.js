/** A program that can show a person a page, but no form. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { TOKEN, withService } from '../../javascript/test/service.js';

const SERVER = fileURLToPath(new URL('../server.js', import.meta.url));

test('a person is asked only where the program can show a form', () =>
  withService(() => ({ body: { task_id: 'task-1' } }), async ({ url, requests }) => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { url: {} } } });
    const env = { PATH: process.env.PATH, VOICE_CALLING_BASE_URL: url, VOICE_CALLING_API_TOKEN: TOKEN };
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [SERVER], env }));
    try {
      const given = { 'agent-name': 'renewals', 'to-phone-number': '919876543210' };
      const { isError = false, content } = await client.callTool({ name: 'place-call', arguments: given });
      assert.equal(isError, false, content[0].text);
      assert.deepEqual(requests.map(({ method, url }) => [method, url]), [['POST', '/make_call']]);
    } finally {
      await client.close();
    }
  }));
