/** Dockets on Restate itself. The mock counts the phones that ring. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Site, posted, until } from './site.ts';
import type { Mortal } from './site.ts';

const ORDER = { agentId: 7, toPhoneNumber: '910000000000', callContext: { name: 'Asha' } };
const DOCKETS = 10;
const KEYS = Array.from({ length: DOCKETS }, (_, index) => `crm-${index}`);
const order = (key: string) => ({ ...ORDER, toPhoneNumber: `9100000001${key.slice(4).padStart(2, '0')}` });
const submitAll = (site: Site) => Promise.all(KEYS.map((key) => site.submit(key, order(key))));

/** Waits for all runs, and checks that each phone rang once. */
async function allCalledOnce(site: Site): Promise<void> {
  for (const outcome of await Promise.all(KEYS.map((key) => site.outcome(key)))) {
    assert.equal((outcome as { state: string }).state, 'completed');
  }
  await site.look();
  assert.deepEqual([...site.rang.values()].sort(), KEYS.map((key) => order(key).toPhoneNumber).sort());
}

/** The keys of the runs that ask a person. */
const asked = async (site: Site) =>
  (await site.query(`SELECT service_key FROM state WHERE key = 'question'`)).map((row) => row.service_key);

test('the same key is the same run, and is never called again', () =>
  Site.with(['--call-ms', '100'], async (site) => {
    await site.submit('crm-1', ORDER);
    await site.outcome('crm-1');
    const again = (await site.submit('crm-1', { ...ORDER, toPhoneNumber: '910000000009' })) as { status: string };
    assert.equal(again.status, 'PreviouslyAccepted');
    await site.look();
    assert.deepEqual([...site.rang.values()], [ORDER.toPhoneNumber]);
  }));

async function restart(site: Site, which: Mortal): Promise<void> {
  await site.signal(which, 'SIGKILL');
  await site.start(which);
}

/** What happens until the kill, at each moment, and from there until both are running again. */
const MOMENTS: Record<string, (site: Site, which: Mortal) => Promise<void>> = {
  async 'before the create'(site, which) {
    await site.signal('service', 'SIGKILL');
    await submitAll(site);
    if (which === 'server') await restart(site, 'server');
    await site.start('service');
  },
  async 'create in flight'(site, which) {
    await submitAll(site);
    await site.seen('begun', DOCKETS);
    await restart(site, which);
  },
  async 'answered and not recorded'(site, which) {
    await submitAll(site);
    await site.seen('begun', DOCKETS);
    await site.signal('server', 'SIGSTOP');
    await site.seen('answered', DOCKETS);
    await restart(site, which);
    await site.signal('server', 'SIGCONT');
  },
  async waiting(site, which) {
    await submitAll(site);
    await site.seen('answered', DOCKETS);
    await setTimeout(3_000);
    await restart(site, which);
  },
};
for (const which of ['service', 'server'] as const) {
  for (const [moment, happen] of Object.entries(MOMENTS)) {
    test(`${which} killed, ${moment}: each phone rings once, and each run ends`, () =>
      Site.with(['--call-ms', '8000', '--delay-ms', '1500'], async (site) => {
        await happen(site, which);
        await allCalledOnce(site);
      }));
  }
}
