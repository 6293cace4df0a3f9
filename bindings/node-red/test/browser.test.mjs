import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { DOCKET, TOKEN, lines, withService } from '../../javascript/test/service.js';
import { docketIn, nodeRed } from './node_red.mjs';

let browser;
before(async () => {
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    // As root, in containers, Chromium starts only without its sandbox; it opens only loopback.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
});
after(() => browser?.close());

/** Runs `test` with the editor in a browser. */
async function withEditor(test) {
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  await page.setViewport({ width: 1400, height: 900 });
  const failures = [];
  page.on('pageerror', (error) => failures.push(error));
  await page.goto(nodeRed.url);
  await page.waitForSelector('.red-ui-palette-node[data-palette-type="voice-calling-docket"]');
  await page.waitForSelector('#red-ui-loading-progress', { hidden: true });
  await test(page);
  assert.deepEqual(failures, []);
  await page.close();
}

/** Clicks what the page shows with this text in `where`, once it no longer moves. */
function click(page, where, text) {
  return page.locator(`${where} ::-p-text(${text})`).click();
}

async function importExample(page, name) {
  await page.keyboard.down('Control');
  await page.keyboard.press('i');
  await page.keyboard.up('Control');
  await click(page, '#red-ui-clipboard-dialog-import-tabs', 'Examples');
  const examples = '#red-ui-clipboard-dialog-import-tab-examples';
  await click(page, examples, '@voice-calling/node-red');
  // `call` is in the package's name too.
  await page.locator(`${examples} ::-p-xpath(.//*[normalize-space(text())="${name}"])`).click();
  await page.locator('#red-ui-clipboard-dialog-ok:not(.ui-state-disabled)').click();
  await page.waitForSelector('#red-ui-clipboard-dialog-ok', { hidden: true });
}

/** Fills in the dialog of the account, as a double click on it opens it. */
async function fillIn(page, values) {
  await page.evaluate(() => {
    const { RED } = window;
    RED.nodes.eachConfig((node) => {
      if (node.type === 'voice-calling-account') RED.editor.editConfig('', node.type, node.id);
    });
  });
  for (const [name, value] of Object.entries(values)) {
    const input = `#node-config-input-${name}`;
    // Another field gets the focus when the dialog is open, perhaps while this one is filled in.
    do await page.locator(input).fill(value);
    while ((await page.$eval(input, (it) => it.value)) !== value);
  }
  await page.locator('#node-config-dialog-ok').click();
  await page.waitForSelector('#node-config-dialog-ok', { hidden: true });
}

test('every example is imported into a flow of its own, with nodes that are all known', () =>
  withEditor(async (page) => {
    const files = readdirSync(new URL('../examples/', import.meta.url));
    assert.ok(files.length > 2, String(files));
    for (const file of files) {
      const name = basename(file, '.json');
      await importExample(page, name);
      const nodes = JSON.parse(readFileSync(new URL(`../examples/${file}`, import.meta.url)));
      const { label } = nodes.find(({ type }) => type === 'tab');
      await page.waitForSelector(`#red-ui-workspace-tabs ::-p-text(${label})`, { visible: true });
      const types = await page.evaluate((label) => {
        const { nodes } = window.RED;
        const tab = nodes.getWorkspaceOrder().find((id) => nodes.workspace(id).label === label);
        return nodes.filterNodes({ z: tab }).map(({ type }) => type);
      }, label);
      assert.ok(types.includes(`voice-calling-${name}`), `${name}: ${types}`);
      assert.ok(!types.includes('unknown'), `${name}: ${types}`);
    }
  }));

test('the palette shows the help of each node', () =>
  withEditor(async (page) => {
    for (const [type, sentence] of [
      ['docket', 'Creates a docket'],
      ['call', 'Makes one call'],
      ['fetch', 'Fetches a docket'],
      ['completed', 'Receives the webhook'],
      ['account', "An organization's account"],
    ]) {
      await page.evaluate((type) => window.RED.sidebar.help.show(`voice-calling-${type}`), type);
      await page.waitForSelector(`.red-ui-help ::-p-text(${sentence})`, { visible: true });
    }
  }));

test('the example is imported, its account filled in, deployed and injected, and the result seen', () =>
  withService(
    ({ method }) => (method === 'POST' ? {} : docketIn('COMPLETED')),
    ({ url, requests }) =>
      withEditor(async (page) => {
        await importExample(page, 'docket');
        await click(page, '#red-ui-workspace-tabs', 'Docket');
        await page.locator('.red-ui-flow-node-button-button').wait();
        await fillIn(page, { baseUrl: url, token: TOKEN });
        const from = nodeRed.lines.length;
        await page.locator('#red-ui-header-button-deploy:not(.disabled)').click();
        await nodeRed.logged(/Started flows/, from);
        // Until the answer is there, the editor takes no clicks.
        await page.waitForSelector('#red-ui-editor-shade', { hidden: true });

        await page.evaluate(() => window.RED.sidebar.show('debug'));
        await page.locator('.red-ui-flow-node-button-button').click();
        const shown = await page.waitForSelector('.red-ui-debug-msg', { visible: true });
        const text = await shown.evaluate((it) => it.innerText);
        assert.match(text, /completed/);
        assert.match(text, /docketId: "0ad33a9b/);
        assert.deepEqual(lines(requests), ['POST /api/v2/dockets', `GET /api/v1/dockets/${DOCKET}`]);
        assert.equal(requests[0].headers.auth_token, `Bearer ${TOKEN}`);
        assert.equal(JSON.parse(requests[0].body).external_id, 'crm-1001');
      }),
  ));
