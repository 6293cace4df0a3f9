// The documentation's site in headless Chromium, as a folder of files.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { newPage, startChromium } from './stage.js';

test('every page opens and fits a telephone', async (t) => {
  const site = process.env.VOICE_CALLING_SITE;
  const files = readdirSync(site, { recursive: true });
  // The list of pages is left out, which the others load in a frame.
  const pages = files.filter((file) => file.endsWith('.html') && file !== 'toc.html');
  assert.ok(pages.length > 25, `only ${pages.length} pages`);
  const browser = await startChromium();
  t.after(() => browser.close());
  const errors = [];
  const page = await newPage(browser, errors);
  for (const width of [1440, 400]) {
    await page.setViewport({ width, height: 800 });
    for (const file of pages) {
      await page.goto(pathToFileURL(join(site, file)).href);
      await page.waitForSelector('main h1');
      assert.notEqual(await page.title(), '', file);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(overflow <= 0, `${file} is ${overflow} pixels too wide for ${width}`);
      assert.deepEqual(errors, [], file);
    }
  }
});
