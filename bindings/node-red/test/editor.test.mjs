/** What the editor has of the nodes: their dialogs, their help, and the examples. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { DOCKET, TOKEN, lines, withService } from '../../javascript/test/service.mjs';
import { account, docketIn, nodeRed } from './node_red.mjs';

const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const { nodes: files } = JSON.parse(read('package.json'))['node-red'];

/** The types that the pages of the nodes register, each with its page. */
const types = {};
for (const file of Object.values(files)) {
  const page = read(file.replace('.js', '.html'));
  const [, script] = /<script type="text\/javascript">(.*?)<\/script>/s.exec(page);
  const registerType = (type, definition) => (types[type] = { page, ...definition });
  runInNewContext(script, { RED: { nodes: { registerType } } });
}

test('the dialog of each node has its values and nothing else, and there is help for it', () => {
  assert.equal(Object.keys(types).length, 5);
  for (const [type, { page, category, defaults, credentials }] of Object.entries(types)) {
    const [, dialog] = new RegExp(`data-template-name="${type}">(.*?)</script>`, 's').exec(page);
    const inputs = [...dialog.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    const prefix = category === 'config' ? 'node-config-input-' : 'node-input-';
    const expected = Object.keys({ ...defaults, ...credentials }).map((name) => prefix + name);
    assert.deepEqual(inputs.sort(), expected.sort(), type);
    assert.match(page, new RegExp(`data-help-name="${type}">\\s+\\w`));
  }
});

/** The nodes of an example, with a service. */
function example(file, url) {
  const { credentials } = account(url);
  return JSON.parse(read(`examples/${file}`)).map((node) => {
    if (node.type === 'debug') return { ...node, console: true };
    return node.baseUrl ? { ...node, baseUrl: url, credentials } : node;
  });
}

test('every example is deployed: Node-RED knows its nodes', async () => {
  for (const file of readdirSync(new URL('../examples/', import.meta.url))) {
    await nodeRed.deploy(example(file, 'http://127.0.0.1:9'));
  }
});

test('the example creates a docket and waits for its completion', () =>
  withService(({ method }) => (method === 'POST' ? {} : docketIn('COMPLETED')), async ({ url, requests }) => {
    await nodeRed.deploy(example('docket.json', url));
    const from = nodeRed.lines.length;
    await nodeRed.fetch('/inject/vc-docket-inject', { method: 'POST' });
    await nodeRed.logged(/\[debug:completed\]/, from);
    assert.deepEqual(lines(requests), ['POST /api/v2/dockets', `GET /api/v1/dockets/${DOCKET}`]);
    assert.equal(requests[0].headers.auth_token, `Bearer ${TOKEN}`);
    assert.equal(JSON.parse(requests[0].body).external_id, 'crm-1001');
  }));
