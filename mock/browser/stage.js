// A mock whose calls ring until someone answers, its page in headless Chromium, and the receiver of
// its webhook.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import puppeteer from 'puppeteer-core';

/** Starts Chromium, which its caller closes. */
export function startChromium() {
  return puppeteer.launch({
    executablePath: process.env.CHROMIUM,
    timeout: 120_000,
    // Tests run as root in containers, whose /dev/shm is small.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

/** Starts a mock that keeps its page at this port, and returns it once the page is served. */
export async function startMock(pagePort, ...more) {
  const page = ['--control-port', String(pagePort), '--manual'];
  const child = spawn(process.env.MOCK, ['--port', '0', ...page, ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const stop = () => child.kill('SIGKILL') && ended;
  let baseUrl;
  for await (const line of createInterface({ input: child.stdout })) {
    baseUrl ??= line.match(/VOICE_CALLING_BASE_URL=(.*)/)?.[1];
    const pageUrl = line.match(/^The page: (.*)/)?.[1];
    if (pageUrl) return { baseUrl, pageUrl, stop };
  }
  throw new Error('the mock ended at once');
}

export class Stage {
  /** The errors in the console of the page. */
  errors = [];
  receiver = createServer(async (request, response) => {
    this.receiver.emit('delivery', Buffer.concat(await request.toArray()).toString());
    response.end();
  });
  delivered = once(this.receiver, 'delivery').then(([body]) => body);

  async open(browser) {
    await once(this.receiver.listen(0, '127.0.0.1'), 'listening');
    const { port } = this.receiver.address();
    this.mock = await startMock(0, '--webhook', `http://127.0.0.1:${port}/webhook`);
    this.page = await browser.newPage();
    // On a busy machine.
    this.page.setDefaultTimeout(120_000);
    this.page.on('pageerror', ({ message }) => this.errors.push(message));
    this.page.on('console', (line) => line.type() === 'error' && this.errors.push(line.text()));
    await this.page.setViewport({ width: 1440, height: 900 });
    await this.page.goto(this.mock.pageUrl);
    await this.shows('#link', 'Live');
    // What it lays out first is there: what is clicked does not move.
    await this.shows('#base-url', this.mock.baseUrl);
  }

  /** Ends what was opened. */
  async close() {
    await this.page?.close();
    await this.mock?.stop();
    this.receiver.close();
  }

  async post(path, body) {
    const headers = { auth_token: 'Bearer mock-token-0001', 'content-type': 'application/json' };
    const answer = await fetch(this.mock.baseUrl + path, { method: 'POST', headers, body });
    return answer.json();
  }

  /** Creates a docket with this context, which is text, and returns its id. */
  async create(number, context, agentId = 7) {
    const id = JSON.stringify(JSON.parse(context).reference ?? null);
    const docket = `{"agent_id":${agentId},"to_phone_number":"${number}","external_id":${id},
      "extra_config":{"call_context":${context}}}`;
    for (;;) {
      const created = await this.post('/api/v2/dockets', docket);
      // Retried after a 503, as clients do.
      if (created.docket_id) return created.docket_id;
    }
  }

  /** Waits until the first element that matches has this text, as it is displayed. */
  shows(selector, text) {
    const shown = (selector, text) => document.querySelector(selector)?.innerText === text;
    return this.page.waitForFunction(shown, {}, selector, text);
  }

  /** Waits until so many elements match. */
  has(count, selector) {
    const counted = (selector, count) => document.querySelectorAll(selector).length === count;
    return this.page.waitForFunction(counted, {}, selector, count);
  }

  /** Waits until an element that matches is displayed. */
  opened(selector) {
    return this.page.waitForSelector(selector, { visible: true });
  }

  /** Waits until the first element that matches is not displayed. */
  closed(selector) {
    return this.page.waitForSelector(selector, { hidden: true });
  }

  /** Returns the text of the first element that matches, displayed or not. */
  text(selector) {
    return this.page.$eval(selector, (element) => element.textContent);
  }

  /** Returns whether the focus is on an element that matches. */
  isFocused(selector) {
    return this.page.evaluate((selector) => document.activeElement.matches(selector), selector);
  }

  /** Makes the page display for a user who prefers these colours, and no motion. */
  prefer(colours) {
    return this.page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: colours },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ]);
  }
}
