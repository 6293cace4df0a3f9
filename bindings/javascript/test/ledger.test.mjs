/** Creates with keys: each is carried out once, and its outcome is found again. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Ledger, OutcomeUnknownError } from 'voice-calling';
import { DOCKET, REQUEST, failure, withBoth, withLedger } from './service.mjs';

test('a create with a key is sent once, in a batch and by a later client as well', () =>
  withLedger((path) =>
    withBoth(() => ({}), { ledger: path }, async (client, { requests, url }) => {
      const [first, again] = [await client.dockets.create(REQUEST, { key: 'crm-1' }), await client.dockets.create(REQUEST, { key: 'crm-1' })];
      assert.deepEqual([first.fromLedger, again.fromLedger, again.docketId], [false, true, DOCKET]);
      const each = [{ ...REQUEST, key: 'crm-1' }, { ...REQUEST, externalId: 'crm-2' }];
      const results = await client.dockets.createEach(each, { timeoutMs: 1000, key: 'externalId' });
      assert.deepEqual(results.map(({ value }) => value.fromLedger), [true, false]);
      const other = await failure(client.dockets.create({ ...REQUEST, toPhoneNumber: '919876543211' }, { key: 'crm-1' }));
      assert.deepEqual([other.name, other.problem.subject], ['InvalidInputError', 'key']);
      await client.close();
      const ledger = new Ledger(pathToFileURL(path));
      await withBoth(() => ({}), { ledger, baseUrl: url }, async (later) => {
        assert.equal((await later.dockets.create({ ...REQUEST, externalId: 'crm-2' }, { key: 'crm-2' })).fromLedger, true);
        assert.equal(later.ledger, ledger);
      });
      await ledger.close();
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

test('a copy of the file that is made while it is used is whole', () =>
  withLedger((path) =>
    withBoth(() => ({}), { ledger: path }, async (client) => {
      await client.dockets.create(REQUEST, { key: 'crm-1' });
      copyFileSync(path, `${path}-copy`);
      const copy = new Ledger(`${path}-copy`);
      assert.equal((await copy.get('crm-1')).state, 'done');
      await copy.close();
      assert.match((await failure((async () => copy.get('crm-1'))())).message, /closed/);
    })));
