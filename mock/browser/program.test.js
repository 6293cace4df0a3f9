// The lines of docs/mock.md that start and end a mock in another language.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { test } from 'node:test';

const page = readFileSync(new URL('../../docs/mock.md', import.meta.url), 'utf8');
const PATH = [dirname(process.env.MOCK), process.env.PATH].join(delimiter);

test('the lines in Python start and end a mock', () => {
  const [, lines] = page.match(/```python\n([^]*?)```/);
  const env = { ...process.env, PATH, no_proxy: '127.0.0.1' };
  const printed = execFileSync('python3', ['-c', lines], { env, encoding: 'utf8', timeout: 60_000 });
  assert.equal(printed, '[]\n');
});
