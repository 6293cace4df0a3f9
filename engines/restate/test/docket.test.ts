/** Dockets on Restate itself. The mock counts the phones that ring. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import http from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { MOCK, SECRET, Site, posted, until } from './site.ts';
import type { Mortal } from './site.ts';

const ORDER = { agentId: 7, pollAfterMs: 3_000, toPhoneNumber: '910000000000', callContext: { name: 'Asha' } };
const DOCKETS = 10;
const KEYS = Array.from({ length: DOCKETS }, (_, index) => `crm-${index}`);
const order = (key: string) => ({ ...ORDER, toPhoneNumber: `9100000001${key.slice(4).padStart(2, '0')}` });
const submitAll = (site: Site, pollAfterMs = HOUR_MS, keys = KEYS) =>
  Promise.all(keys.map((key) => site.submit(key, { ...order(key), pollAfterMs })));
/** Calls end when the mock's clock is set forward. */
const HOUR_MS = 3_600_000;
const CALLS = ['--call-ms', `${HOUR_MS}`];
/** As many creates are begun before one of them has succeeded. */
const FIRST = 5;
/** The mock holds back the answers to these. */
const HELD_MS = 60_000;
const hold = (site: Site) => site.fault(`create-docket-v2:slow:delay-ms=${HELD_MS}`, FIRST);
/** Submits these alone: what waits for its turn might be claimed by a process that is then killed. */
async function submitFirst(site: Site, pollAfterMs = HOUR_MS): Promise<void> {
  await hold(site);
  await submitAll(site, pollAfterMs, KEYS.slice(0, FIRST));
  await site.seen('begun', FIRST);
}

/** Waits for all runs, and checks that each phone rang once. */
async function allCalledOnce(site: Site) {
  const outcomes = await Promise.all(KEYS.map((key) => site.outcome(key)));
  assert.deepEqual(outcomes.map(({ state }) => state), KEYS.map(() => 'completed'));
  await site.look();
  assert.deepEqual([...site.rang.values()].sort(), KEYS.map((key) => order(key).toPhoneNumber).sort());
  return outcomes;
}

/** Submits what is not there yet, waits until all phones ring, and ends the calls. */
async function allEnd(site: Site): Promise<void> {
  await submitAll(site);
  await site.rings(DOCKETS);
  await site.pass(HOUR_MS);
}

async function restart(site: Site, which: Mortal): Promise<void> {
  await site.signal(which, 'SIGKILL');
  await site.start(which);
}

/** What happens until the kill, at each moment, and from there until both are running again and the calls have ended. */
const MOMENTS: Record<string, (site: Site, which: Mortal) => Promise<void>> = {
  async 'before the create'(site, which) {
    await site.signal('service', 'SIGKILL');
    await submitAll(site);
    if (which === 'server') await restart(site, 'server');
    await site.start('service');
    await allEnd(site);
  },
  async 'create in flight'(site, which) {
    await submitFirst(site);
    await restart(site, which);
    await site.pass(HELD_MS);
    await allEnd(site);
  },
  async 'answered and not recorded'(site, which) {
    await submitFirst(site);
    await site.signal('server', 'SIGSTOP');
    await site.pass(HELD_MS);
    await site.seen('answered', FIRST);
    await restart(site, which);
    await site.signal('server', 'SIGCONT');
    await allEnd(site);
  },
  async 'waiting, until the webhook has come'(site, which) {
    // Restate keeps a delivery for a dead service. What it could not take, a poll makes up for.
    await submitAll(site, which === 'service' ? HOUR_MS : 3_000);
    await site.suspended(DOCKETS);
    await site.signal(which, 'SIGKILL');
    await site.pass(HOUR_MS);
    await site.delivered(DOCKETS);
    await site.start(which);
  },
};
for (const which of ['service', 'server'] as const) {
  for (const [moment, happen] of Object.entries(MOMENTS)) {
    test(`${which} killed, ${moment}: each phone rings once, and each run ends`, () =>
      Site.with(CALLS, async (site) => {
        await happen(site, which);
        const outcomes = await allCalledOnce(site);
        const isDelivered = which === 'service' || !moment.startsWith('waiting');
        assert.ok(outcomes.every(({ insights }) => (insights !== undefined) === isDelivered));
      }));
  }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`service asked to end (${signal}), create in flight: the answer is kept, and no one is asked`, () =>
    Site.with(['--call-ms', '100'], async (site) => {
      await submitFirst(site);
      const ended = site.signal('service', signal);
      // It does not end meanwhile.
      assert.equal(await Promise.race([ended, setTimeout(1_000, 'runs')]), 'runs');
      await site.pass(HELD_MS);
      await ended;
      await site.look();
      assert.equal(site.creates.answered, FIRST);
      assert.deepEqual(await site.asked(), []);
      await site.start('service');
      for (const key of KEYS.slice(0, FIRST)) assert.equal((await site.outcome(key)).state, 'completed');
      await site.look();
      assert.deepEqual([site.creates.begun, site.rang.size], [FIRST, FIRST]);
    }));
}

test('a create that never arrived, or was answered 503, asks a person, who must name the docket of this run, and is never sent again', () =>
  Site.with(['--faults', 'create-docket-v2:hang,create-docket-v2:created-then-503', ...CALLS], async (site) => {
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
    await site.pass(HOUR_MS);
    assert.deepEqual(await site.outcome('crm-0'), { state: 'not-created', why: 'not on the dashboard' });
    const outcome = await site.outcome('crm-1');
    assert.deepEqual([outcome.state, outcome.docketId], ['completed', docketId]);
    await site.look();
    assert.deepEqual([site.creates.begun, [...site.rang.values()]], [2, [order('crm-1').toPhoneNumber]]);
  }));

for (const which of ['service', 'server'] as const) {
  test(`${which} away before a create is sent: nothing is sent when its time has passed`, () =>
    Site.with(
      ['--call-ms', '100'],
      async (site) => {
        await submitFirst(site, 3_000);
        // It waits for its turn.
        const notAfterMs = Date.now() + 4_000;
        await site.submit('crm-5', { ...order('crm-5'), notAfterMs });
        const claim = `SELECT 1 FROM sys_journal WHERE id = '${await site.run('crm-5')}' AND name = 'claim'`;
        await until('it has begun', async () => (await site.query(claim)).length > 0);
        if (which === 'service') await site.signal('service', 'SIGKILL');
        else await site.signal('server', 'SIGSTOP');
        await site.pass(HELD_MS); // The claim cannot be recorded.
        await setTimeout(notAfterMs + 3_000 - Date.now());
        if (which === 'service') await site.start('service');
        else await site.signal('server', 'SIGCONT');
        assert.match((await site.outcome('crm-5')).message, /notAfterMs has passed/);
        assert.equal(site.creates.begun, FIRST);
      },
      { TURN_MS: '2_000', MINUTE_MS: '1_000' },
    ));
}

test('a docket that was created again ends with its own completion', () =>
  Site.with(['--faults', 'create-docket-v2:created-then-503', ...CALLS], async (site) => {
    await site.submit('crm-0', { ...order('crm-0'), pollAfterMs: HOUR_MS });
    await until('a person is asked', async () => (await site.asked()).length === 1);
    await site.pass(HOUR_MS / 2);
    await posted(`${site.ingress}/docket/crm-0/answer`, { createAgain: 'a wrong page' });
    await site.rings(2);
    await site.pass(HOUR_MS / 2);
    await until('the first is completed', async () => site.log.includes('answered not created, but'));
    await site.pass(HOUR_MS / 2);
    assert.equal((await site.outcome('crm-0')).docketId, [...site.rang.keys()][1]);
  }));

test('answered as not created although it was: the answer is final, and the log has the docket once it is completed', () =>
  Site.with(['--faults', 'create-docket-v2:created-then-502', ...CALLS], async (site) => {
    const answer = (given: object) => posted(`${site.ingress}/docket/crm-0/answer`, given);
    await assert.rejects(answer({ notCreated: 'too early' }), /409.*has not begun/);
    await site.submit('crm-0', order('crm-0'));
    await until('a person is asked', async () => (await site.asked()).length === 1);
    await site.look();
    const [docketId] = [...site.rang.keys()];
    await answer({ notCreated: 'a wrong page' });
    await assert.rejects(answer({ docketId }), /409.*answered before.*a wrong page/);
    assert.equal((await site.outcome('crm-0')).state, 'not-created');
    await site.pass(HOUR_MS);
    await until('it is logged', async () => site.log.includes(`crm-0: answered not created, but docket ${docketId} completed`));
  }));

test('a webhook before the answer to the create, and one that comes twice, complete the run, which its key does not begin again', () =>
  Site.with(['--faults', 'create-docket-v2:completed-first:delay-ms=2000,webhook:twice'], async (site) => {
    const callContext = '{"policy":12345678901234567890,"due":0.10}';
    await site.submit('crm-0', { ...order('crm-0'), callContext, pollAfterMs: HOUR_MS });
    const { state, knownBy, insights, rawJson } = await site.outcome('crm-0');
    assert.deepEqual([state, knownBy, insights.callDisposition], ['completed', 'webhook', 'INTERESTED']);
    assert.ok(rawJson.includes(callContext), 'all digits of the delivery');
    const again = (await site.submit('crm-0', order('crm-1'))) as { status: string };
    assert.equal(again.status, 'PreviouslyAccepted');
    await site.look();
    assert.deepEqual([...site.rang.values()], [order('crm-0').toPhoneNumber]);
  }));

test('a forged delivery completes nothing', () =>
  Site.with(CALLS, async (site) => {
    const deliver = (body: object | string) => posted(site.webhook(SECRET), body);
    await site.submit('crm-0', order('crm-0'));
    await site.rings(1);
    const forged = { status: 'COMPLETED', call_insights: { call_disposition: 'FORGED' }, external_id: 'crm-0' };
    await deliver({ ...forged, docket_id: [...site.rang.keys()][0] });
    await deliver({ ...forged, docket_id: '0ad33a9b-593b-4f55-b577-13349e14a5dd' });
    await deliver('"no docket"');
    // That of the docket which is open is tried again: the service may report one before it shows it.
    const tried = () => site.query(`SELECT id FROM sys_invocation WHERE target_service_name = 'webhook' AND status = 'backing-off'`);
    await until('one is refused', async () => (await tried()).length === 1);
    for (const { id } of await tried()) await site.cancel(id!);
    await site.pass(HOUR_MS);
    const { insights } = await site.outcome('crm-0');
    assert.equal(insights.callDisposition, 'INTERESTED');
    await assert.rejects(posted(`${site.ingress}/docket/crm-0/completed`, {}), /40\d/);
  }));

test('a delivery counts only under the secret, and may be gzipped, within the bound', () =>
  Site.with([...CALLS, '--faults', 'webhook:lost'], async (site) => {
    await site.submit('crm-0', { ...order('crm-0'), pollAfterMs: HOUR_MS });
    await site.rings(1);
    await site.pass(HOUR_MS);
    const [docketId] = [...site.rang.keys()];
    const delivery = JSON.stringify({ docket_id: docketId, status: 'COMPLETED', call_insights: { call_disposition: 'LATE' } });
    const padded = delivery.padEnd(1 << 21);
    const calls: [string, string | Uint8Array<ArrayBuffer>, RegExp][] = [
      ['another-secret-0123456789', delivery, /404.*another secret/],
      [SECRET, gzipSync(padded), /400.*the delivery/],
      [SECRET, padded, /400.*InvalidInputError/],
    ];
    for (const [secret, body, reason] of calls) {
      const answer = await fetch(site.webhook(secret).replace(/\/send$/, ''), { method: 'POST', body, headers: { 'content-type': 'text/plain' } });
      assert.match(`${answer.status} ${await answer.text()}`, reason);
    }
    const headers = { expect: '100-continue', 'content-encoding': 'gzip', 'content-type': 'application/json' };
    const request = http.request(site.webhook(SECRET), { method: 'POST', headers });
    await once(request, 'continue');
    request.end(gzipSync(delivery));
    assert.equal(((await once(request, 'response')) as [IncomingMessage])[0].statusCode, 202);
    assert.equal((await site.outcome('crm-0')).insights.callDisposition, 'LATE');
  }));

const paused = (site: Site) => site.query(`SELECT id FROM sys_invocation WHERE status = 'paused'`);
const reasons = async (site: Site) => {
  const events = await site.query(`SELECT event_json FROM sys_journal_events WHERE event_type = 'Paused'`);
  return events.map((event) => event.event_json!);
};
const resume = (site: Site, id: string) => fetch(`${site.admin}/invocations/${id}/resume`, { method: 'PATCH' });

async function restartWith(site: Site, env: Record<string, string>): Promise<void> {
  await site.signal('service', 'SIGKILL');
  await site.start('service', env);
}

test('a wrong token pauses a handful of runs with the reason; resumed under the right one, all call', () =>
  Site.with(['--call-ms', '100'], async (site) => {
    await restartWith(site, { VOICE_CALLING_API_TOKEN: 'another-token' });
    await submitAll(site);
    await until('five are paused', async () => (await paused(site)).length === 5);
    assert.match((await reasons(site))[0]!, /rejected the token \(401\)/);
    await restart(site, 'service');
    for (const { id } of await paused(site)) await resume(site, id!);
    await allCalledOnce(site);
  }));

test('a token that is revoked while a docket waits pauses its run with the reason', () =>
  Site.with([...CALLS, '--faults', 'webhook:lost'], async (site) => {
    await site.submit('crm-0', order('crm-0'));
    await site.suspended(1);
    await restartWith(site, { VOICE_CALLING_API_TOKEN: 'another-token' });
    await until('it is paused', async () => (await paused(site)).length === 1);
    assert.match((await reasons(site))[0]!, /rejected the token \(401\)/);
    await restart(site, 'service');
    await site.pass(HOUR_MS);
    for (const { id } of await paused(site)) await resume(site, id!);
    const { state, knownBy } = await site.outcome('crm-0');
    assert.deepEqual([state, knownBy], ['completed', 'poll']);
  }));

for (const [fault, state] of [['slow', 'open'], ['503', 'unanswered']] as const) {
  test(`a docket that is not completed in the time of a run is ${state} if its poll is ${fault}`, () =>
    Site.with(
      ['--call-ms', '3600000'],
      async (site) => {
        await site.fault(`get-docket:${fault}`, 10);
        await site.submit('crm-0', order('crm-0'));
        const outcome = await site.outcome('crm-0');
        assert.equal(outcome.state, state);
        assert.equal(/503/.test(outcome.why ?? ''), state === 'unanswered');
        assert.ok(outcome.docketId);
      },
      { WAIT_MS: '1' },
    ));
}

for (const [moment, flags, begun] of [
  ['in flight', [], /cancelled; docket ID was created/],
  ['waiting', [], /cancelled; docket ID was created/],
  ['asking', ['--faults', 'create-docket-v2:created-then-503'], /cancelled; a docket may have been created: sent at .*503/],
] as const) {
  test(`a run that is cancelled when it is ${moment} says what it has begun`, () =>
    Site.with([...CALLS, ...flags], async (site) => {
      if (moment === 'in flight') await hold(site);
      await site.submit('crm-0', order('crm-0'));
      if (moment === 'in flight') await site.seen('begun', 1);
      else await site.suspended(1);
      await site.cancel(await site.run('crm-0'));
      await site.pass(HELD_MS);
      const { code, message } = await site.outcome('crm-0');
      await site.look();
      const [docketId] = [...site.rang.keys()];
      assert.match(message.replace(docketId, 'ID'), begun);
      assert.deepEqual([code, site.creates.begun], [410, 1]);
    }));
}

test('a rate limit is slept through in Restate, for a minute at least; then the docket is created', async () => {
  /** Submits, and returns for how long the run sleeps at least, and at most. Unit: milliseconds. */
  const sleep = async (site: Site, seconds: number) => {
    const beganMs = Date.now();
    await site.fault(`create-docket-v2:429:retry-after=${seconds}`, 10);
    await site.submit('crm-0', order('crm-0'));
    const rows = () => site.query(`SELECT entry_json FROM sys_journal WHERE entry_type = 'Command: Sleep'`);
    await until('it sleeps', async () => (await rows()).length > 0);
    const wakesMs = JSON.parse((await rows())[0]!.entry_json!).Command.Sleep.wake_up_time;
    return [wakesMs - Date.now(), wakesMs - beganMs] as const;
  };
  await Site.with(['--call-ms', '100'], async (site) => {
    const [least, most] = await sleep(site, 3600);
    assert.ok(least <= HOUR_MS && most >= HOUR_MS, `${least} to ${most} ms`);
  });
  await Site.with(['--call-ms', '100'], async (site) => {
    const [least, most] = await sleep(site, 0);
    await site.fault();
    assert.ok(least <= 60_000 && most >= 60_000, `${least} to ${most} ms`);
    await restart(site, 'service');
    assert.equal((await site.outcome('crm-0')).state, 'completed');
    await site.look();
    assert.equal(site.rang.size, 1, `${site.creates.begun} creates`);
  });
});

/** Orders that can never run, and what their errors say. */
const WRONG: Record<string, [unknown, RegExp]> = {
  nothing: [null, /the order: found null; allowed: an object/],
  misspelt: [{ ...ORDER, toPhoneNumbr: '1' }, /toPhoneNumbr: unknown field; allowed: agentId, /],
  missing: [{ ...ORDER, agentId: undefined }, /agentId: missing/],
  agent: [{ ...ORDER, agentId: 'seven' }, /agentId/],
  number: [{ ...ORDER, toPhoneNumber: '98765' }, /toPhoneNumber/],
  integer: [{ ...ORDER, toPhoneNumber: 910000000000 }, /toPhoneNumber: found 910000000000; allowed: text/],
  context: [{ ...ORDER, callContext: 7 }, /callContext/],
  late: [{ ...ORDER, notAfterMs: 1 }, /notAfterMs has passed/],
  date: [{ ...ORDER, notAfterMs: '2030-01-01' }, /notAfterMs: found "2030-01-01"; allowed: milliseconds/],
  hours: [{ ...ORDER, hours: 'always', timeZone: 'UTC' }, /hours: found always; allowed: days and times/],
  'space ': [ORDER, /the key: found "space "; allowed: /],
};

test('an order that can never run is an error of its run, alone, and nothing is created', () =>
  Site.with([], async (site) => {
    for (const [key, [given, reason]] of Object.entries(WRONG)) {
      await site.submit(key, given);
      assert.match((await site.outcome(key)).message, reason, key);
    }
    for (const [wrong, reason] of [
      [{ maxOpen: 0 }, /maxOpen: allowed: 1 or more/],
      [{ perMinute: 0 }, /perMinute: allowed: 0.01/],
      [{ doNotCall: ['98765'] }, /InvalidInputError/],
      [{ doNotCall: null }, /doNotCall: allowed: a list/],
      [{ max_open: 1 }, /max_open: unknown field; allowed: contacts, /],
    ] as const) {
      await assert.rejects(posted(`${site.ingress}/campaign/may/start`, { contacts: [], maxOpen: 1, ...wrong }), reason);
    }
    await site.look();
    assert.equal(site.creates.begun, 0);
  }));

const contacts = (count: number) => Array.from({ length: count }, (_, index) => {
  const { pollAfterMs: _p, ...contact } = { ...ORDER, externalId: `crm-${index}`, toPhoneNumber: `91${String(index).padStart(10, '0')}` };
  return contact;
});

test('a campaign calls each of the good once, and reports each of the bad with its reason', () =>
  Site.with(['--call-ms', '300'], async (site) => {
    const { externalId, ...known } = contacts(2)[1]!;
    await site.submit(externalId, known);
    const bad = Object.entries(WRONG).filter(([, [given]]) => given !== null);
    const wrong = bad.map(([externalId, [given]]) => ({ ...(given as object), externalId }));
    const spared = contacts(3)[2]!.toPhoneNumber;
    const plan = { contacts: [...contacts(300), ...contacts(5), ...wrong, null], maxOpen: 100, doNotCall: [`+${spared}`] };
    const { counts, reasons } = await site.campaign('may', plan);
    assert.deepEqual(counts, { refused: bad.length + 1, 'do-not-call': 2, 'known-before': 1, completed: 298 });
    for (const [externalId, [, reason]] of bad) assert.match(reasons[externalId]!, reason);
    assert.match(reasons['contacts[315]']!, /externalId/);
    await site.look();
    assert.deepEqual([site.rang.size, new Set(site.rang.values()).size], [299, 299]);
    assert.ok(![...site.rang.values()].includes(spared));
    await assert.rejects(posted(`${site.ingress}/campaign/may/start`, plan), /409.*started before/);
  }));

test('an outage leaves a handful of questions, and calls no one twice', () =>
  Site.with(
    ['--call-ms', '300'],
    async (site) => {
      // Each success permits one more create in flight.
      await site.campaign('april', { contacts: contacts(3), maxOpen: 50 });
      await site.fault('create-docket-v2:503', 100);
      const over = site.campaign('may', { contacts: contacts(300).slice(3), maxOpen: 50 });
      await until('someone is asked', async () => (await site.asked()).length > 0);
      await setTimeout(5_000);
      await site.fault();
      let asked: string[] = [];
      const allElse = async () => {
        asked = await site.asked();
        const { open, waiting } = await site.progress('may');
        return waiting === 0 && open === asked.length;
      };
      await until('all that can be has been called', allElse, 600_000);
      assert.ok(asked.length > 0 && asked.length <= 15, `${asked.length} questions`);
      for (const key of asked) await posted(`${site.ingress}/docket/${key}/answer`, { createAgain: 'none on the dashboard' });
      assert.deepEqual((await over).counts, { completed: 297 });
      await site.look();
      assert.deepEqual([site.rang.size, new Set(site.rang.values()).size], [300, 300]);
    },
    { MINUTE_MS: '1_000' },
  ));

test('a campaign begins within its hours, and its contacts within theirs, at its pace', () =>
  Site.with(['--call-ms', '300'], async (site) => {
    const day = new Date(Date.now() + 172_800_000).toUTCString().slice(0, 3);
    const closed = { hours: `${day} 09:00-10:00`, timeZone: 'UTC' };
    const always = { hours: 'mon-sun 00:00-24:00', timeZone: 'Asia/Kolkata' };
    const [first, ...others] = contacts(4);
    await posted(`${site.ingress}/campaign/may/start`, { contacts: [first], maxOpen: 1, ...closed });
    await posted(`${site.ingress}/campaign/june/start`, { contacts: [{ ...others[0], ...closed }], maxOpen: 1, ...always });
    const began = Date.now();
    const { counts } = await site.campaign('july', { contacts: contacts(7).slice(4), maxOpen: 9, perMinute: 30 });
    assert.deepEqual(counts, { completed: 3 });
    assert.ok(Date.now() - began > 4_000);
    assert.deepEqual([(await site.progress('may')).waiting, (await site.progress('june')).open], [1, 1]);
    await site.look();
    assert.equal(site.creates.begun, 3);
  }));

test('the first docket, and what is open after it, by the commands of the README', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const commands = [...readme.matchAll(/```sh\n([^]*?)```/g)].map(([, text]) => text).join('');
  const folder = fileURLToPath(new URL('..', import.meta.url));
  const data = mkdtempSync(join(tmpdir(), 'voice-calling-restate-'));
  for (const name of ['endpoint.ts', 'docket.ts', 'campaign.ts', 'service.ts']) symlinkSync(join(folder, name), join(data, name));
  const env = { ...process.env, HOME: data, TMPDIR: data, RESTATE_DISABLE_TELEMETRY: 'true', MOCK };
  const program = `set -e; trap 'kill $(jobs -p); wait' EXIT; voice-calling-mock() { exec "$MOCK" "$@"; }\n${commands}`;
  const { stdout } = await promisify(execFile)('bash', ['-c', program], { cwd: data, env, timeout: 300_000 });
  rmSync(data, { recursive: true });
  assert.match(stdout, /"state":"completed","knownBy":"webhook".*(\{"rows":\[\]\}){3}The mock service has stopped\.\n$/s);
});
