/** What is checked before a create: by a function of the user's, or by rules. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContactRules, InvalidInputError, VoiceClient, normalizeNumber } from 'voice-calling';
import { REQUEST, TOKEN, failure, gate, withBoth, withLedger } from './service.mjs';

const REASON = new Error('the database is gone');
const CALL = { fromAgentName: 'a', toPhoneNumber: '919876543210' };

test('a create that mayCall refuses is not sent, and its key is not claimed', () =>
  withLedger(async (ledger) => {
    const asked = [];
    let may = true;
    const mayCall = async (request) => (asked.push(request), may);
    await withBoth(() => ({ body: { docket_id: '0ad33a9b-593b-4f55-b577-13349e14a5dd', task_id: 't-1' } }), { ledger, mayCall }, async (client, { requests }) => {
      for (may of [false, 'she has asked not to be called']) {
        const error = await failure(client.dockets.create(REQUEST, { key: 'crm-1' }));
        assert.ok(error instanceof InvalidInputError);
        const found = may || 'a number that may not be called';
        assert.deepEqual([error.problem.subject, error.problem.found, error.nextStep], ['toPhoneNumber', found, 'refused']);
      }
      assert.deepEqual([await client.ledger.get('crm-1'), requests.length], [undefined, 0]);
      // A check that forgets its result calls no one.
      for (may of [undefined, null, 1]) assert.equal((await failure(client.calls.make(CALL))).problem.subject, 'mayCall');
      may = true;
      await client.dockets.create(REQUEST, { key: 'crm-1' });
      await client.dockets.createV1(REQUEST);
      await client.calls.make(CALL);
      await client.agents.list('org-1').catch(() => {});
      assert.deepEqual([requests.length, asked.length, asked.at(-1)], [4, 8, CALL]);
    });
  }));

test('what mayCall throws is thrown, and an abort meanwhile sends nothing', () =>
  withBoth(() => ({}), { mayCall: () => Promise.reject(REASON) }, async (client, { requests, url }) => {
    assert.equal(await failure(client.dockets.create(REQUEST)), REASON);
    assert.equal(await failure(Promise.resolve(client.dockets.createEach([REQUEST], { timeoutMs: 60_000 }))), REASON);
    for (const answer of [true, new Promise(() => {})]) {
      const controller = new AbortController();
      const mayCall = () => (controller.abort(REASON), answer);
      const other = new VoiceClient({ baseUrl: url, token: TOKEN, env: {}, mayCall });
      assert.equal(await failure(other.dockets.create(REQUEST, { signal: controller.signal })), REASON);
      await other.close();
    }
    assert.equal(requests.length, 0);
  }));

test('in a batch only what mayCall refuses is left out, in its place and without ending the rest', () =>
  withBoth(() => ({}), { mayCall: ({ externalId }) => !externalId.endsWith('7') }, async ({ dockets }, { requests }) => {
    const each = Array.from({ length: 100 }, (_, index) => ({ ...REQUEST, externalId: `crm-${index}` }));
    const results = await dockets.createEach(each, { timeoutMs: 60_000 });
    assert.deepEqual(results.map(({ index, externalId }) => [index, externalId]), each.map(({ externalId }, index) => [index, externalId]));
    const refused = results.filter(({ ok }) => !ok);
    assert.deepEqual([refused.length, requests.length], [10, 90]);
    assert.ok(refused.every(({ error, index }) => error instanceof InvalidInputError && error.index === index && index % 10 === 7));
    assert.ok(results.every(({ ok, value, externalId }) => !ok || value.docketId && !externalId.endsWith('7')));
  }));

test('a batch that ends while mayCall is asked sends nothing more, and does not wait for the answer', async () => {
  for (const isAnswered of [true, false]) {
    const [asked, answer] = [gate(), gate()];
    const mayCall = () => (asked.open(), answer.opened.then(() => true));
    const sent = await withBoth(() => ({}), { mayCall }, async ({ dockets }, { requests }) => {
      const controller = new AbortController();
      const options = { timeoutMs: 60_000, signal: controller.signal };
      const [closed, aborted] = [1, 2].map(() => dockets.createEach([REQUEST, REQUEST], options).start());
      await asked.opened;
      await closed.close();
      controller.abort(REASON);
      if (isAnswered) answer.open();
      assert.deepEqual((await aborted).map(({ error }) => error.mayHaveCreated), [false, false]);
      return requests;
    });
    assert.equal(sent.length, 0);
  }
});

test('what is refused comes while the rest is open, and requests without end are taken as they are read', () => {
  const { open, opened } = gate();
  return withBoth(() => opened, { mayCall: ({ externalId }) => externalId === 'open' }, async ({ dockets }) => {
    let taken = 0;
    const each = (function* () {
      yield { ...REQUEST, externalId: 'open' };
      for (;;) yield { ...REQUEST, externalId: String(taken++) };
    })();
    const batch = dockets.createEach(each, { timeoutMs: 60_000 });
    assert.deepEqual((await batch.next()).value.index, 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(taken <= 1002, `${taken}`);
    open();
    await batch.close();
  });
});

test('numbers as people write them are normalized, and others are refused without being shown', () => {
  assert.equal(normalizeNumber('+91 98765-43210'), '919876543210');
  assert.equal(normalizeNumber('098765 43210', '91'), '919876543210');
  assert.throws(() => normalizeNumber('12345'), ({ name, message }) => name === 'InvalidInputError' && !message.includes('12345'));
  assert.throws(() => normalizeNumber('98765 43210', '+91'), ({ problem }) => problem.subject === 'countryCode');
});

test('rules refuse numbers of the list and calls outside of the hours, with the reason', () =>
  withBoth(() => ({}), { mayCall: new ContactRules({ doNotCall: ['098765-43210'], countryCode: '91' }).mayCall }, async (client, { requests }) => {
    assert.match((await failure(client.dockets.create(REQUEST))).problem.found, /do-not-call list/);
    await client.dockets.create({ ...REQUEST, toPhoneNumber: '919876543211' });
    assert.equal(requests.length, 1);
    const always = new ContactRules({ hours: 'mon-sun 00:00-24:00', timeZone: 'Asia/Kolkata' });
    assert.equal(always.mayCall(REQUEST), true);
    const today = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: 'UTC' }).format().toLowerCase();
    const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
    const other = new ContactRules({ hours: `${days[(days.indexOf(today) + 3) % 7]} 09:00-17:00`, timeZone: 'UTC' });
    assert.match(other.mayCall(REQUEST), /outside of its calling hours until .*T09:00:00/);
    const wrong = [[{ doNotCall: ['12'] }, 'doNotCall.0'], [{ doNotCall: [12] }, 'doNotCall.0'], [{ hours: 'daily 9-5', timeZone: 'UTC' }, 'hours'], [{ hours: 'mon 09:00-17:00' }, 'timeZone'], [{ gapDays: 1 }, 'gapDays']];
    for (const [rules, subject] of wrong) assert.throws(() => new ContactRules(rules), ({ problem }) => problem.subject.startsWith(subject));
  }));
