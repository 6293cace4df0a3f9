// The behaviour of the mock's page that only a browser shows. The page's own tests cover its data
// and the effect of clicks.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import { Stage, startChromium, startMock } from './stage.js';

const NUMBER = '919876543210';
const CONTEXT = '{"reference":"crm-1001","name":"Asha Verma","policy":12345678901234567890}';

let browser;
before(async () => {
  browser = await startChromium();
});
after(() => browser?.close());

/** A test on a page of its own, in whose console there must be no error. */
function testOnPage(name, run) {
  test(name, async () => {
    const stage = new Stage();
    try {
      await stage.open(browser);
      await run(stage, stage.page);
      assert.deepEqual(stage.errors, []);
    } finally {
      await stage.close();
    }
  });
}

testOnPage('a docket rings and is answered by click', async (stage, page) => {
  const created = await stage.create(NUMBER, CONTEXT);
  await stage.opened('.card');
  const card = await stage.text('.card');
  for (const part of [NUMBER, 'renewals', 'attempt 1', 'Asha Verma', '12345678901234567890']) {
    assert.ok(card.includes(part), `${part}: ${card}`);
  }

  await page.click('.card [data-do=answer]');
  const metadata = '{"renewal":98765432109876543210,"amount":0.10,"tag":"<b>"}';
  for (const [field, text] of [
    ['disposition', 'CALL_BACK'],
    ['interest', 'UNKNOWN'],
    ['next_action', 'REDIAL'],
    ['seconds', '17.5'],
    ['metadata', metadata],
  ]) {
    await page.type(`.card [name=${field}]`, text);
  }
  await page.click('.card .stop');

  const body = await stage.delivered;
  const webhook = JSON.parse(body);
  assert.equal(webhook.docket_id, created);
  assert.equal(webhook.call_insights.call_disposition, 'CALL_BACK');
  assert.equal(webhook.attempts[0].call_duration, 17.5);
  assert.ok(body.includes(metadata), `digit by digit: ${body}`);

  await stage.has(0, '.card');
  await page.goto(webhook.dashboard_url);
  await stage.shows('#timeline li:last-child .text', 'The webhook answered 200.');
});

testOnPage('the keyboard finds a phone and says that it is busy', async (stage, page) => {
  await stage.create(NUMBER, CONTEXT);
  await stage.opened('.card');
  for (let presses = 0; !(await stage.isFocused('.card')); presses += 1) {
    assert.ok(presses < 4, 'the first phone is not among the first stops');
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('b');
  await stage.shows('.card .attempt', 'attempt 2');
  await stage.shows('#docket-table .last', 'busy');
  assert.ok(await stage.isFocused('#phones-title, .card'), 'the focus is lost');
});

testOnPage('a phone rings for as long as the clock of the mock says', async (stage, page) => {
  await stage.create(NUMBER, CONTEXT);
  await stage.opened('.card');
  const advanced = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"advance_ms":3600000}' };
  await page.evaluate((advanced) => fetch('/clock', advanced).then(() => {}), advanced);
  await page.waitForFunction(() => document.querySelector('.card .since').textContent.startsWith('60:'));
});

testOnPage('every fault on the page is ordered for its endpoint and cleared', async (stage, page) => {
  await page.click("[data-fault='429']");
  await stage.shows('#orders li', 'create-docket-v2:429:retry-after=2');
  await page.click('#clear');
  await stage.has(0, '#orders li');
  await page.select('#endpoint', 'make-call');
  const buttons = await page.$$('button.fault');
  for (const [before, button] of buttons.entries()) {
    await button.click();
    await stage.has(before + 1, '#orders li');
  }
  const orders = await stage.text('#orders');
  assert.equal(orders.match(/make-call/g).length, 5, orders);
  for (const order of ['503', '429', 'unanswered', 'hang', 'first', 'lost', 'twice', 'late']) {
    assert.ok(orders.includes(order), `${order}: ${orders}`);
  }
  await page.click('#clear');
  await stage.has(0, '#orders li');
});

testOnPage('a docket is shown as it is, although an earlier answer comes later', async (stage, page) => {
  const id = await stage.create(NUMBER, CONTEXT);
  await stage.opened('#docket-table a');
  const network = await page.createCDPSession();
  const first = new Promise((resolve) => {
    network.once('Fetch.requestPaused', ({ requestId }) => {
      network.on('Fetch.requestPaused', (it) => network.send('Fetch.continueRequest', { requestId: it.requestId }));
      resolve(requestId);
    });
  });
  await network.send('Fetch.enable', { patterns: [{ urlPattern: `*/entries/${id}`, requestStage: 'Response' }] });
  await page.click('#docket-table a');
  const requestId = await first;
  await page.click('.card [data-do=BUSY]');
  const last = '#docket-facts div:last-child dd';
  await stage.shows(last, 'busy');
  const late = page.waitForResponse((response) => response.url().endsWith(`/entries/${id}`));
  await network.send('Fetch.continueRequest', { requestId });
  await (await late).text();
  await page.evaluate(() => fetch('/health').then((answer) => answer.text()));
  assert.equal(await stage.text(last), 'busy');
});

testOnPage('a duplicate is marked and counted, and a request is opened', async (stage, page) => {
  await stage.create(NUMBER, CONTEXT);
  await stage.create(NUMBER, CONTEXT);
  for (const table of ['docket', 'request']) {
    await stage.shows(`#${table}-table tr.repeats .duplicate`, 'duplicate');
  }
  await stage.has(1, '#docket-table tr.repeats'); // the first one is none
  await page.click('#docket-table tr.repeats a');
  await stage.opened('#docket-repeats');
  await page.goBack();
  await stage.closed('#docket');

  await stage.shows('#requests-count', '2, duplicates: 1');
  await page.click('#request-table button');
  await stage.opened('#request');
  assert.match(await stage.text('#request-body'), /auth_token.*12345678901234567890/s);
  await page.keyboard.press('Escape');
  await stage.closed('#request');
  assert.ok(await stage.isFocused('#request-table *'), 'the focus is not back');
});

testOnPage('markup from outside stays text', async (stage, page) => {
  const markup = '<img src=x id=injected onerror=window.injected=1><script>window.injected=1</script>';
  await stage.post('/agents/', JSON.stringify({ agent_name: markup }));
  const extra = { call_context: { [markup]: markup } };
  const call = { from_agent_name: markup, to_phone_number: markup, extra_config: extra };
  await stage.post('/make_call', JSON.stringify(call));
  await stage.opened('.card');
  for (const place of [
    '.card .number',
    '.card .agent',
    '.card .context dt',
    '.card .context dd',
    '#docket-table .number',
    '#docket-table .agent',
  ]) {
    assert.equal(await stage.text(place), markup, place);
  }
  await page.click('#docket-table a');
  await page.waitForSelector('#timeline li');
  await page.click('#request-table button');
  await stage.opened('#request');
  for (const place of ['#docket-title', '#docket-facts', '#docket-context', '#request-body']) {
    const text = await stage.text(place);
    assert.ok(text.includes('<img src=x'), `${place}: ${text}`);
  }
  await stage.has(0, '#injected, body script, [onerror]');
  assert.equal(await page.evaluate(() => window.injected), undefined);
});

testOnPage('of a thousand dockets the newest are listed', async (stage, page) => {
  const numbers = Array.from({ length: 1000 }, (_, n) => `91${String(n).padStart(10, '0')}`);
  const create = async () => {
    while (numbers.length) await stage.create(numbers.pop(), CONTEXT);
  };
  await Promise.all(Array.from({ length: 32 }, create));
  await page.goto(stage.mock.pageUrl);
  await stage.shows('#dockets-count', '1,000');
  await stage.has(500, '#docket-table tbody tr');
  await stage.shows('#more-dockets', '500 older ones');
});

testOnPage('the focus stays on its docket when another one comes', async (stage, page) => {
  for (let n = 0; n < 30; n += 1) {
    await stage.create(`9198765432${String(n).padStart(2, '0')}`, CONTEXT);
  }
  await stage.shows('#dockets-count', '30');
  await page.focus('#docket-table a');
  for (let n = 0; n < 3; n += 1) await page.keyboard.press('ArrowDown');
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  assert.equal(await focused(), '919876543226');
  await stage.create('919876543299', CONTEXT);
  await stage.shows('#dockets-count', '31');
  assert.equal(await focused(), '919876543226');
  await page.keyboard.press('End');
  assert.equal(await focused(), '919876543200');
  await page.keyboard.press('Enter');
  await stage.shows('#docket-title', '919876543200');
});

testOnPage('new rings are announced to screen readers', async (stage, page) => {
  const live = await page.$eval('#announcements', (element) => element.ariaLive);
  assert.equal(live, 'polite');
  const pass = await page.evaluateHandle(() => {
    const timers = [];
    window.setTimeout = (run) => timers.push(run);
    return () => timers.splice(0).forEach((run) => run());
  });
  const runTimers = () => pass.evaluate((pass) => pass());
  await stage.create(NUMBER, CONTEXT);
  await stage.has(1, '.card');
  await runTimers();
  assert.match(await stage.text('#announcements'), new RegExp(NUMBER));
  for (let n = 0; n < 3; n += 1) await stage.create(`91987654320${n}`, CONTEXT);
  await stage.has(4, '.card');
  await runTimers();
  assert.equal(await stage.text('#announcements'), '3 phones ring');
});

testOnPage('a page whose mock is reset is empty', async (stage) => {
  await stage.create(NUMBER, CONTEXT);
  await stage.opened('.card');
  await fetch(`${stage.mock.pageUrl}/reset`, { method: 'POST' });
  await stage.has(0, '.card');
  await stage.has(0, '#docket-table tbody tr');
});

testOnPage('a page whose mock has ended says so and begins anew with the next one', async (stage) => {
  await stage.create(NUMBER, CONTEXT);
  await stage.opened('.card');
  await stage.mock.stop();
  await stage.shows('#link', 'Disconnected');
  await stage.opened('#lost');
  stage.mock = await startMock(new URL(stage.mock.pageUrl).port);
  await stage.has(0, '.card');
  await stage.shows('#link', 'Live');
  stage.errors.length = 0;
});

/** Fills each part of the page: dockets that have ended, a fault, three phones of which one is a
 * duplicate, and orders. */
async function furnish(stage, page) {
  for (const [number, name, agentId, ...ends] of [
    ['919812300017', 'Meera Nair', 8, 'BUSY', 'NO_ANSWER'],
    ['919812300024', 'Imran Sheikh', 7, 'NO_ANSWER', 'answer'],
    ['919812300031', 'Kavya Rao', 8, 'answer'],
    ['919812300048', 'Arjun Mehta', 7, 'BUSY', 'answer'],
  ]) {
    const context = { name, due: '2026-12-01', amount: 1250 };
    await stage.create(number, JSON.stringify(context), agentId);
    for (const [before, end] of ends.entries()) {
      await stage.shows('.card .attempt', `attempt ${before + 1}`);
      await page.click(`.card [data-do=${end}]`);
      if (end === 'answer') await page.click('.card .stop');
    }
    await stage.has(0, '.card');
    await stage.shows('#docket-table .status', 'completed');
  }
  await page.click("[data-fault='503']");
  await stage.has(1, '#orders li');
  for (const [number, name] of [
    ['919876500011', 'Asha Verma'],
    ['919876500028', 'Ravi Kumar'],
    ['919876500028', 'Ravi Kumar'],
  ]) {
    const reference = `crm-10${number.slice(10)}`;
    await stage.create(number, JSON.stringify({ reference, name, amount_due: 12345.5 }));
  }
  await stage.has(3, '.card');
  await page.click("[data-fault='429']");
  await stage.has(1, '#orders li');
  await page.click('[data-delivery=twice]');
  await stage.has(2, '#orders li');
}

/** Opens the details behind clicks: a docket, a request, the form of an answered phone. */
async function openEverything(stage, page) {
  await page.click('#docket-table tbody tr:nth-child(4) a');
  await page.waitForSelector('#timeline ::-p-text(Completed)');
  await page.click('#request-table button');
  await stage.opened('#request');
  await page.click('.card [data-do=answer]');
}

/** Returns what people who do not see the page well, or use no mouse, would miss. */
async function problems(page) {
  await page.evaluate(axe.source);
  const found = [];
  // axe does not judge the contrast to a gradient, which is that to both ends of it.
  for (const ground of ['var(--accent-soft)', 'var(--raised)']) {
    await page.$$eval('.card', (cards, ground) => cards.forEach((it) => (it.style.background = ground)), ground);
    const { violations } = await page.evaluate(() => axe.run());
    found.push(...violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)));
  }
  return found;
}

testOnPage('everything on the page has a name and enough contrast', async (stage, page) => {
  await furnish(stage, page);
  const checkBoth = async () => {
    for (const colours of ['light', 'dark']) {
      await stage.prefer(colours);
      assert.deepEqual(await problems(page), [], colours);
    }
  };
  await checkBoth();
  await openEverything(stage, page);
  await checkBoth();
  await page.$eval('#close-request', (button) => button.replaceChildren());
  assert.match((await problems(page))[0], /button-name/);
});

testOnPage('the page is drawn light, dark and narrow', async (stage, page) => {
  const draw = async (name, colours, width, height) => {
    await stage.prefer(colours);
    await page.setViewport({ width, height });
    const [ground, overflow] = await page.evaluate(() => [
      getComputedStyle(document.body).backgroundColor,
      document.documentElement.scrollWidth - window.innerWidth,
    ]);
    assert.equal(ground.startsWith('rgb(16,'), colours === 'dark', `${name}: ${ground}`);
    assert.ok(overflow <= 0, `${name} is cut at the right`);
    // WebP is small: every clone of the repository contains these.
    const picture = await page.screenshot({ type: 'webp', quality: 80 });
    const folder = process.env.PAGE_PICTURES;
    if (!folder) return;
    assert.ok(picture.length < 150_000, `${name}: ${picture.length} bytes`);
    await writeFile(`${folder}/page-${name}.webp`, picture);
  };
  await furnish(stage, page);
  await draw('light', 'light', 1440, 900);
  await openEverything(stage, page);
  await draw('dark', 'dark', 1440, 1200);
  await draw('narrow', 'light', 420, 900);
});
