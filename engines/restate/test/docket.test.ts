/** Dockets on Restate itself. The mock counts the phones that ring. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MOCK, Site, posted, until } from './site.ts';
import type { Mortal } from './site.ts';

const ORDER = { agentId: 7, toPhoneNumber: '910000000000', callContext: { name: 'Asha' } };
const DOCKETS = 10;
const KEYS = Array.from({ length: DOCKETS }, (_, index) => `crm-${index}`);
const order = (key: string) => ({ ...ORDER, toPhoneNumber: `9100000001${key.slice(4).padStart(2, '0')}` });
const submitAll = (site: Site) => Promise.all(KEYS.map((key) => site.submit(key, order(key))));

/** Waits for all runs, and checks that each phone rang once. */
async function allCalledOnce(site: Site) {
  const outcomes = await Promise.all(KEYS.map((key) => site.outcome(key)));
  assert.deepEqual(outcomes.map(({ state }) => state), KEYS.map(() => 'completed'));
  await site.look();
  assert.deepEqual([...site.rang.values()].sort(), KEYS.map((key) => order(key).toPhoneNumber).sort());
  return outcomes;
}

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
  async 'waiting, until the webhook has come'(site, which) {
    await submitAll(site);
    await site.seen('answered', DOCKETS);
    await site.signal(which, 'SIGKILL');
    await setTimeout(9_000);
    await site.start(which);
  },
};
for (const which of ['service', 'server'] as const) {
  for (const [moment, happen] of Object.entries(MOMENTS)) {
    test(`${which} killed, ${moment}: each phone rings once, and each run ends`, () =>
      Site.with(['--call-ms', '8000', '--delay-ms', '1500'], async (site) => {
        await happen(site, which);
        const outcomes = await allCalledOnce(site);
        // Restate keeps a delivery for a dead service. What it could not take, a poll makes up for.
        const isDelivered = which === 'service' || !moment.startsWith('waiting');
        assert.ok(outcomes.every(({ insights }) => (insights !== undefined) === isDelivered));
      }));
  }
}

test('service asked to end (SIGTERM), create in flight: the answer is kept, and no one is asked', () =>
  Site.with(['--call-ms', '100', '--delay-ms', '3000'], async (site) => {
    await submitAll(site);
    await site.seen('begun', DOCKETS);
    await site.signal('service', 'SIGTERM');
    await site.look();
    assert.equal(site.creates.answered, DOCKETS);
    assert.deepEqual(await site.asked(), []);
    await site.start('service');
    await allCalledOnce(site);
  }));

test('a create that never arrived, or was answered 503, asks a person, who must name the docket of this run, and is never sent again', () =>
  Site.with(['--faults', 'create-docket-v2:hang,create-docket-v2:created-then-503', '--call-ms', '8000'], async (site) => {
    const answer = (key: string, given: object) => posted(`${site.ingress}/docket/${key}/answer`, given);
    await site.submit('crm-0', order('crm-0'));
    await site.seen('begun', 1);
    await assert.rejects(answer('crm-0', { notCreated: 'too early' }), /409.*is creating/);
    await restart(site, 'service');
    await site.submit('crm-1', order('crm-1'));
    await until('both are asked for', async () => (await site.asked()).length === 2);
    await site.look();
    const [docketId] = [...site.rang.keys()];
    await assert.rejects(answer('crm-0', { docketId }), /409.*the docket of another run/);
    for (const wrong of [{ docketid: docketId }, { docketId: 'no id' }, { notCreated: '' }, { docketId, notCreated: 'both' }]) {
      await assert.rejects(answer('crm-0', wrong), /400.*docketId.*notCreated/, JSON.stringify(wrong));
    }
    await answer('crm-0', { notCreated: 'not on the dashboard' });
    await answer('crm-1', { docketId });
    assert.deepEqual(await site.outcome('crm-0'), { state: 'not-created', why: 'not on the dashboard' });
    const outcome = await site.outcome('crm-1');
    assert.deepEqual([outcome.state, outcome.docketId], ['completed', docketId]);
    await site.look();
    assert.deepEqual([site.creates.begun, [...site.rang.values()]], [2, [order('crm-1').toPhoneNumber]]);
  }));

test('answered as not created although it was: the answer is final, and the log has the docket once it is completed', () =>
  Site.with(['--faults', 'create-docket-v2:created-then-502', '--call-ms', '6000'], async (site) => {
    const answer = (given: object) => posted(`${site.ingress}/docket/crm-0/answer`, given);
    await assert.rejects(answer({ notCreated: 'too early' }), /409.*has not begun/);
    await site.submit('crm-0', order('crm-0'));
    await until('a person is asked', async () => (await site.asked()).length === 1);
    await site.look();
    const [docketId] = [...site.rang.keys()];
    await answer({ notCreated: 'a wrong page' });
    await assert.rejects(answer({ docketId }), /409.*answered before.*a wrong page/);
    assert.equal((await site.outcome('crm-0')).state, 'not-created');
    await until('it is logged', async () => site.log.includes(`crm-0: answered not-created, but docket ${docketId} completed`));
  }));

test('a webhook before the answer to the create, and one that comes twice, complete the run, which its key does not begin again', () =>
  Site.with(['--faults', 'create-docket-v2:completed-first:delay-ms=2000,webhook:twice'], async (site) => {
    const callContext = '{"policy":12345678901234567890,"due":0.10}';
    await site.submit('crm-0', { ...order('crm-0'), callContext });
    const { state, knownBy, insights, rawJson } = await site.outcome('crm-0');
    assert.deepEqual([state, knownBy, insights.callDisposition], ['completed', 'webhook', 'INTERESTED']);
    assert.ok(rawJson.includes(callContext), 'all digits of the delivery');
    const again = (await site.submit('crm-0', order('crm-1'))) as { status: string };
    assert.equal(again.status, 'PreviouslyAccepted');
    await site.look();
    assert.deepEqual([...site.rang.values()], [order('crm-0').toPhoneNumber]);
  }));

test('a forged delivery completes nothing', () =>
  Site.with(['--call-ms', '6000'], async (site) => {
    const deliver = (body: object | string) => posted(`${site.ingress}/webhook/deliver/send`, body);
    await site.submit('crm-0', order('crm-0'));
    await until('it rings', async () => (await site.look(), site.rang.size === 1));
    const forged = { status: 'COMPLETED', call_insights: { call_disposition: 'FORGED' }, external_id: 'crm-0' };
    await deliver({ ...forged, docket_id: [...site.rang.keys()][0] });
    await deliver({ ...forged, docket_id: '0ad33a9b-593b-4f55-b577-13349e14a5dd' });
    await deliver('"no docket"');
    const { insights } = await site.outcome('crm-0');
    assert.equal(insights.callDisposition, 'INTERESTED');
    await assert.rejects(posted(`${site.ingress}/docket/crm-0/completed`, {}), /40\d/);
  }));

test('a wrong token pauses the run with the reason; resumed under the right one, it calls', () =>
  Site.with(['--call-ms', '100'], async (site) => {
    await site.signal('service', 'SIGKILL');
    await site.start('service', { VOICE_CALLING_API_TOKEN: 'another-token' });
    await submitAll(site);
    const paused = () => site.query(`SELECT id FROM sys_invocation WHERE status = 'paused'`);
    await until('all are paused', async () => (await paused()).length === DOCKETS);
    const [event] = await site.query(`SELECT event_json FROM sys_journal_events WHERE event_type = 'Paused'`);
    assert.match(event!.event_json!, /rejected the token \(401\)/);
    await restart(site, 'service');
    for (const { id } of await paused()) await fetch(`${site.admin}/invocations/${id}/resume`, { method: 'PATCH' });
    await allCalledOnce(site);
  }));

test('a rate limit of an hour is slept through in Restate; after a shorter one the docket is created', async () => {
  const limited = (seconds: number) => ['--call-ms', '100', '--faults', `create-docket-v2:429:retry-after=${seconds}`];
  /** Submits, and returns for how long the run sleeps. Unit: milliseconds. */
  const sleep = async (site: Site) => {
    await site.submit('crm-0', order('crm-0'));
    const rows = () => site.query(`SELECT entry_json FROM sys_journal WHERE entry_type = 'Command: Sleep'`);
    await until('it sleeps', async () => (await rows()).length > 0);
    return JSON.parse((await rows())[0]!.entry_json!).Command.Sleep.wake_up_time - Date.now();
  };
  await Site.with(limited(3600), async (site) => {
    const ms = await sleep(site);
    assert.ok(ms > 3_500_000 && ms <= 3_600_000, `${ms} ms`);
  });
  await Site.with(limited(32), async (site) => {
    await sleep(site);
    await restart(site, 'service');
    assert.equal((await site.outcome('crm-0')).state, 'completed');
    await site.look();
    assert.deepEqual([site.creates.begun, site.rang.size], [2, 1]);
  });
});

test('an order that is at fault is an error of its run, and nothing is created', () =>
  Site.with([], async (site) => {
    await site.submit('crm-0', { ...ORDER, toPhoneNumber: '98765' });
    await site.submit('crm-1', { ...ORDER, notAfterMs: Date.now() - 1 });
    await site.submit('crm-2', { ...ORDER, notAfterMs: new Date(Date.now() + 3_600_000).toISOString() });
    await posted(`${site.ingress}/docket/crm-3/run/send`, 'null');
    for (const key of ['crm-0', 'crm-3']) assert.match(JSON.stringify(await site.outcome(key)), /toPhoneNumber/);
    for (const key of ['crm-1', 'crm-2']) assert.match(JSON.stringify(await site.outcome(key)), /notAfterMs has passed/);
    await site.look();
    assert.equal(site.creates.begun, 0);
  }));

test('the first docket, and what is open after it, by the commands of the README', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const commands = [...readme.matchAll(/```sh\n([^]*?)```/g)].map(([, text]) => text).join('');
  const folder = fileURLToPath(new URL('..', import.meta.url));
  const data = mkdtempSync(join(tmpdir(), 'voice-calling-restate-'));
  symlinkSync(join(folder, 'docket.ts'), join(data, 'docket.ts'));
  const env = { ...process.env, HOME: data, RESTATE_DISABLE_TELEMETRY: 'true', MOCK };
  const program = `set -e; trap 'kill $(jobs -p); wait' EXIT; voice-calling-mock() { exec "$MOCK" "$@"; }\n${commands}`;
  const { stdout } = await promisify(execFile)('bash', ['-c', program], { cwd: data, env, timeout: 60_000 });
  rmSync(data, { recursive: true, maxRetries: 10 });
  assert.match(stdout, /"state":"completed","knownBy":"webhook".*(\{"rows":\[\]\}){3}The mock service has stopped\.\n$/s);
});
