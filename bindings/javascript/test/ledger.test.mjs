/** Creates with keys: each is carried out once, and its outcome is found again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Ledger, OutcomeUnknownError, VoiceClient } from 'voice-calling';
import { DOCKET, REQUEST, TOKEN, failure, gate, pause, withBoth, withLedger } from './service.mjs';

test('a create with a key is sent once, in a batch and by a later client as well', () =>
  withLedger((path) =>
    withBoth(() => ({}), { ledger: path }, async (client, { requests, url }) => {
      await client.dockets.create(REQUEST, { key: 'crm-1' });
      const each = [{ ...REQUEST, key: 'crm-1' }, { ...REQUEST, externalId: 'crm-2' }];
      const results = await client.dockets.createEach(each, { timeoutMs: 60_000, key: 'externalId' });
      assert.deepEqual(results.map(({ value }) => value.fromLedger), [true, false]);
      await client.close();
      const ledger = new Ledger(pathToFileURL(path));
      await withBoth(() => ({}), { ledger, baseUrl: url }, async (later) => {
        assert.equal((await later.dockets.create({ ...REQUEST, externalId: 'crm-2' }, { key: 'crm-2' })).fromLedger, true);
        assert.equal(later.ledger, ledger);
      });
      await ledger.close();
      assert.match((await failure(ledger.get('crm-1'))).message, /closed/);
      assert.equal(requests.length, 2);
    })));

test('a key without a ledger is refused, and nothing is sent', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    const error = await failure(client.dockets.create(REQUEST, { key: 'crm-1' }));
    assert.deepEqual([error.name, error.problem.subject, requests.length, client.ledger], ['ConfigurationError', 'ledger', 0, undefined]);
  }));

test('what is unknown is not sent again until a person has resolved or released it', () =>
  withLedger((path) =>
    withBoth((_, __, n) => (n > 2 ? {} : { status: 503 }), { ledger: path }, async (client, { requests }) => {
      for (const key of ['crm-1', 'crm-2']) assert.ok((await failure(client.dockets.create(REQUEST, { key }))) instanceof OutcomeUnknownError);
      assert.ok((await failure(client.dockets.create(REQUEST, { key: 'crm-1' }))) instanceof OutcomeUnknownError);
      assert.equal(requests.length, 2);
      const { ledger } = client;
      const unknown = await ledger.unknown();
      assert.deepEqual(unknown.map(({ key, state, function: name }) => [key, state, name]), [['crm-1', 'unknown', 'create_docket_v2'], ['crm-2', 'unknown', 'create_docket_v2']]);
      assert.ok(unknown[0].begunAt instanceof Date && unknown[0].endedAt >= unknown[0].begunAt && unknown[0].message.includes('503'));
      const resolved = await ledger.resolve('crm-1', DOCKET, { by: 'Asha' });
      assert.deepEqual([resolved.state, resolved.createdId, resolved.resolvedBy], ['done', DOCKET, 'Asha']);
      assert.equal((await ledger.release('crm-2', { by: 'Asha' })).state, 'free');
      assert.equal((await client.dockets.create(REQUEST, { key: 'crm-1' })).fromLedger, true);
      assert.equal((await client.dockets.create(REQUEST, { key: 'crm-2' })).fromLedger, false);
      assert.equal(requests.length, 3);
      const refused = [() => ledger.resolve('crm-1', DOCKET, { by: 'Asha' }), () => ledger.resolve('crm-1', DOCKET), () => ledger.get(5), () => ledger.prune({ doneBefore: 'now' })];
      for (const call of refused) assert.equal((await failure(call())).name, 'InvalidInputError');
      assert.equal(await ledger.prune({ doneBefore: new Date(Date.now() + 1000) }), 2);
      assert.equal(await ledger.get('crm-1'), undefined);
    })));

/** A storage in memory, as a database with transactions of its own would be. */
function memory(methods = {}) {
  const entries = new Map();
  return {
    entries,
    async update(key, change) {
      await pause(1);
      const entry = change(entries.get(key));
      if (entry !== undefined) entries.set(key, entry);
      return { changes: 1n };
    },
    ...methods,
  };
}
const SECRET = 'a secret of 16 bytes or more';

test("an own storage has the entries of creates, without numbers, and what a person resolves", () => {
  const storage = memory({
    entriesAfter: (after) => [...storage.entries].filter(([key]) => key > after).toSorted(([a], [b]) => (a < b ? -1 : 1)).values(),
    prune: async (before) => {
      const done = [...storage.entries].filter(([, it]) => JSON.parse(it).state === 'done' && JSON.parse(it).ended_ms < before);
      return done.filter(([key]) => storage.entries.delete(key)).length;
    },
    isOfAnotherKey: (id, key) => [...storage.entries].some(([other, entry]) => other !== key && entry.includes(id)),
  });
  const ledger = Ledger.on(storage, SECRET);
  return withBoth(({ body }) => (body.includes('lost') ? { status: 503 } : {}), { ledger }, async (client, { requests }) => {
    const [first, again] = [await client.dockets.create(REQUEST, { key: 'crm-1' }), await client.dockets.create(REQUEST, { key: 'crm-1' })];
    assert.deepEqual([first.fromLedger, again.fromLedger, again.docketId, requests.length], [false, true, DOCKET, 1]);
    assert.equal((await failure(client.dockets.create({ ...REQUEST, toPhoneNumber: '919876543211' }, { key: 'crm-1' }))).name, 'InvalidInputError');
    assert.ok((await failure(client.dockets.create({ ...REQUEST, externalId: 'lost' }, { key: 'crm-2' }))) instanceof OutcomeUnknownError);
    assert.deepEqual((await ledger.unknown()).map(({ key }) => key), ['crm-2']);
    assert.equal((await ledger.release('crm-2', { by: 'Asha' })).state, 'free');
    assert.ok(![...storage.entries.values()].join().includes(REQUEST.toPhoneNumber));
    assert.deepEqual([ledger.path, await ledger.prune({ doneBefore: new Date(Date.now() + 1000) }), await ledger.get('crm-1')], [undefined, 1, undefined]);
    await ledger.close();
  });
});

test('nothing is sent if an own storage fails, does not call change, or gives back what is no entry', () => {
  const failing = [
    [{ update: () => Promise.reject(new Error('the database is gone')) }, /the database is gone/],
    [{ update: () => {} }, /has not called change/],
    [{ update: (_, change) => void change('{"state":"new"}') }, /entry: unknown variant/],
    [{ update: (_, change) => (change(undefined), Promise.reject('the disk is full')) }, /the disk is full/],
  ];
  return withBoth(() => ({}), {}, async ({ agents }, { requests, url }) => {
    for (const [methods, message] of failing) {
      const client = new VoiceClient({ baseUrl: url, token: TOKEN, env: {}, ledger: Ledger.on(memory(methods), SECRET) });
      const error = await failure(client.dockets.create(REQUEST, { key: 'crm-1' }));
      assert.deepEqual([error.name, error.mayHaveCreated], ['ConfigurationError', false], error.message);
      assert.match(error.message, message);
      assert.match((await failure(client.ledger.unknown())).message, /no method entriesAfter/);
      await client.close();
    }
    assert.equal(requests.length, 0);
    assert.throws(() => Ledger.on({}, SECRET), ({ problem }) => problem.subject === 'storage');
    assert.throws(() => Ledger.on(memory(), 'short'), ({ problem }) => problem.subject === 'secret');
  });
});

test('processes and threads that share a storage create once: a change is decided on the entry that is there', () => {
  const storage = memory();
  const { open, opened } = gate();
  return withBoth(() => opened.then(() => ({})), {}, async (_, { requests, url }) => {
    const clients = Array.from({ length: 8 }, () => new VoiceClient({ baseUrl: url, token: TOKEN, env: {}, ledger: Ledger.on(storage, SECRET) }));
    const refused = [];
    const refuse = (error) => refused.push(error) === 7 && open();
    const created = await Promise.all(clients.map((client) => client.dockets.create(REQUEST, { key: 'crm-1' }).catch(refuse)));
    assert.deepEqual([requests.length, created.filter((it) => it?.docketId === DOCKET).length], [1, 1]);
    for (const { problem } of refused) assert.equal(problem.subject, 'key');
    for (const client of clients) await client.close();
  });
});
