/** Tests with the path of a ledger, in a folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as anyTest } from 'node:test';

export const sqlite = process.getBuiltinModule?.('node:sqlite');
export const skip = sqlite ? false : 'this Node has no node:sqlite';

export function test(name, run, whySkipped = skip) {
  anyTest(name, { skip: whySkipped }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
    t.after(() => rmSync(folder, { recursive: true }));
    await run(join(folder, 'calls.db'));
  });
}
