/** The ledger as it is stored: a program that was killed is run again, and no key is taken twice. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs, { chmodSync, existsSync, readFileSync, readdirSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as anyTest } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ConfigurationProblem, InvalidInput, Ledger } from 'voice-calling';
import { DOCKET, REQUEST, endOf, failure, ledgerTest as test, logged, scripted, skipLedger as skip, sqlite, started } from './service.js';

const KEY = 'crm-1001';
const NUMBER = '919876543210';
const CREATE = {
  function: 'dockets.create-docket-v2',
  arguments: [['agent_id', '7'], ['to_phone_number', `"${NUMBER}"`], ['call_context', '{"a":1}']],
};
const DONE = { state: 'done', answer: JSON.stringify({ docket_id: DOCKET }) };
const UNKNOWN = { state: 'unknown', message: 'no answer came' };
const FREE = { state: 'free', message: 'refused' };

const claim = (ledger, key = KEY, create = CREATE) => ledger.claim({ key, ...create });

/** A create that is claimed and has ended. */
async function ended(ledger, outcome, key = KEY, create = CREATE) {
  const { taken } = await claim(ledger, key, create);
  assert.ok(taken);
  await ledger.record(key, taken, outcome);
  return taken;
}

const PROGRAM = `
  import { Ledger } from 'voice-calling';
  const ledger = new Ledger(process.argv[1]);
  const claim = (key) => ledger.claim({ key, ...${JSON.stringify(CREATE)} });
`;

/** Starts a program that has `ledger` and `claim(key)`. */
const program = (path, source) => started(PROGRAM + source, [path]);

for (const [outcome, createdId] of [[DONE, DOCKET], [UNKNOWN, undefined]]) {
  test(`the entry of a create that is ${outcome.state} says what, when and how it ended`, async (path) => {
    const ledger = new Ledger(path);
    await ended(ledger, outcome);
    const { begunAt, endedAt, ...rest } = await ledger.get(KEY);
    const { state, message } = outcome;
    assert.deepEqual(rest, { key: KEY, function: 'dockets.create', state, createdId, message, resolvedBy: undefined });
    assert.ok(Math.abs(begunAt - Date.now()) < 10_000 && endedAt >= begunAt);
    assert.equal((await claim(ledger)).entry.begun_ms, begunAt.getTime());
  });
}

test('a create is begun until it ends, and an outcome that comes later counts, unless it is of another claim', async (path) => {
  const [ledger, other] = [new Ledger(path), new Ledger(path)];
  const { taken } = await claim(ledger);
  for (const it of [ledger, other]) assert.equal((await claim(it)).entry.state, 'begun');
  assert.deepEqual(await other.unknown(), []);
  await ledger.close();
  assert.equal((await other.get(KEY)).state, 'begun');
  await ledger.record(KEY, taken, UNKNOWN);
  await ledger.record(KEY, `${taken}0`, FREE);
  assert.equal((await ledger.get(KEY)).state, 'unknown');
  await ledger.record(KEY, taken, DONE);
  assert.equal((await other.get(KEY)).createdId, DOCKET);
});

test('a claim of a thread that lives is begun, that of one that is gone is unknown', async (path) => {
  const ledger = new Ledger(path);
  const source = `import('voice-calling').then(async ({ Ledger }) => {
    const { workerData: [path, create], parentPort } = require('node:worker_threads');
    globalThis.ledger = new Ledger(path);
    parentPort.on('message', () => {}).postMessage(await ledger.claim(create));
  })`;
  const worker = new Worker(source, { eval: true, workerData: [path, { key: KEY, ...CREATE }] });
  assert.ok((await once(worker, 'message'))[0].taken);
  assert.equal((await claim(ledger)).entry.state, 'begun');
  assert.deepEqual(await ledger.unknown(), []);
  await worker.terminate();
  assert.equal((await claim(ledger)).entry.state, 'unknown');
  assert.deepEqual((await ledger.unknown()).map(({ key }) => key), [KEY]);
  assert.equal(owners(path), 1);
  await ledger.close();
  assert.equal(owners(path), 0);
});

const owners = (path) => readdirSync(join(path, '..')).filter((name) => name.endsWith('.owner')).length;

test('two processes that claim the same keys take each once', async (path) => {
  const source = `
    process.stdout.write('ready ');
    await new Promise((begin) => process.stdin.once('data', begin));
    let taken = 0;
    for (let i = 0; i < 200; i += 20) {
      const keys = Array.from({ length: 20 }, (_, j) => 'crm-' + (i + j));
      for (const it of await Promise.all(keys.map(claim))) {
        if (it.taken) taken++;
      }
    }
    console.log(taken);
    process.exit();`;
  const children = [program(path, source), program(path, source)];
  await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
  for (const { stdin } of children) stdin.write('begin');
  const counts = (await Promise.all(children.map(endOf))).map(({ stdout }) => Number(stdout));
  assert.equal(counts[0] + counts[1], 200, String(counts));
  assert.equal((await new Ledger(path).unknown()).length, 200);
});

test('a docket that may be that of an unknown create resolves it, and the answer of the create counts more', async (path) => {
  const ledger = new Ledger(path);
  const taken = await ended(ledger, UNKNOWN);
  await ended(ledger, UNKNOWN, 'call', { ...CREATE, function: 'calls.make-call' });
  const seen = { keys: ['other', 'call', KEY, KEY], docket_id: DOCKET };
  const { begunAt } = await ledger.get(KEY);
  const day = Math.floor(begunAt / 86_400_000);
  for (const [number, created_day] of [['910000000000', day], [NUMBER, day - 2], [NUMBER, null]]) {
    await ledger.observe({ ...seen, to_phone_number: `"${number}"`, created_day });
  }
  assert.equal((await ledger.unknown()).length, 2);
  await ledger.observe({ ...seen, to_phone_number: `"${NUMBER}"`, created_day: day - 1 });
  assert.deepEqual((await ledger.unknown()).map(({ key }) => key), ['call']);
  const resolved = async () => {
    const { state, createdId, resolvedBy } = await ledger.get(KEY);
    return [state, createdId, resolvedBy];
  };
  assert.deepEqual(await resolved(), ['done', DOCKET, 'docket']);
  await ledger.record(KEY, taken, UNKNOWN);
  await ledger.record(KEY, `${taken}0`, FREE);
  assert.equal((await ledger.get(KEY)).state, 'done');
  const answered = DOCKET.replace('0', '1');
  await ledger.record(KEY, taken, { ...DONE, answer: JSON.stringify({ docket_id: answered }) });
  assert.deepEqual(await resolved(), ['done', answered, undefined]);
});

test('an unknown entry is resolved or released by someone, no other one is', async (path) => {
  const ledger = new Ledger(path);
  await ended(ledger, UNKNOWN);
  await ended(ledger, UNKNOWN, 'agent', { ...CREATE, function: 'agents.create-agent' });
  await ended(ledger, UNKNOWN, 'free');
  await ended(ledger, UNKNOWN, 'call', { ...CREATE, function: 'calls.make-call' });
  assert.equal((await ledger.resolve(KEY, DOCKET, { by: 'Asha' })).resolvedBy, 'Asha');
  const { createdId } = await ledger.resolve('agent', 2n ** 53n + 1n, { by: 'Asha' });
  assert.equal(createdId, 2n ** 53n + 1n);
  assert.equal((await ledger.release('free', { by: 'Asha' })).state, 'free');
  const { taken } = await claim(ledger, 'free');
  await ledger.record('free', taken, UNKNOWN);
  for (const [act, subject, found] of [
    [() => ledger.resolve(KEY, DOCKET, { by: 'Asha' }), 'key', 'an entry that is done'],
    [() => ledger.release('none', { by: 'Asha' }), 'key', 'no entry'],
    [() => ledger.resolve('free', 7, { by: 'Asha' }), 'createdId', '7'],
    [() => ledger.resolve('free', DOCKET.replaceAll('-', ''), { by: 'Asha' }), 'createdId', `"${DOCKET.replaceAll('-', '')}"`],
    [() => ledger.resolve('call', '', { by: 'Asha' }), 'createdId', 'an empty text'],
    [() => ledger.resolve('free', DOCKET), 'by', 'nothing'],
    [() => ledger.release('free', { by: '' }), 'by', 'an empty text'],
    [() => ledger.get(7), 'key', '7'],
    [() => ledger.prune({ doneBefore: 'today' }), 'doneBefore', '"today"'],
  ]) {
    const error = await failure(act());
    assert.ok(error instanceof InvalidInput);
    assert.deepEqual([error.problem.subject, error.problem.found], [subject, found]);
  }
  assert.equal(await ledger.prune({ doneBefore: new Date(0) }), 0);
  assert.equal(await ledger.prune({ doneBefore: new Date(Date.now() + 1000) }), 2);
  assert.equal(await ledger.get(KEY), undefined);
  assert.equal((await ledger.get('free')).state, 'unknown');
});

test('the file is private, and no file contains a phone number', async (path) => {
  writeFileSync(path, '', { mode: 0o644 });
  const ledgers = [new Ledger(path), new Ledger(`${path}-2`)];
  for (const it of ledgers) await ended(it, DONE);
  for (const name of readdirSync(join(path, '..'))) {
    const file = join(path, '..', name);
    assert.equal(statSync(file).mode & 0o777, 0o600, name);
    if (!name.endsWith('.owner')) assert.ok(!readFileSync(file).includes(NUMBER), name);
  }
  // It closes after what is under way.
  for (const it of ledgers) await Promise.all([it.get(KEY), it.close()]);
  assert.deepEqual(readdirSync(join(path, '..')).sort(), ['calls.db', 'calls.db-2']);
});

/** Files that are no ledger of this version, and what an error says of them. */
const UNUSABLE = {
  'another SQLite database': [(path) => written(path, 'CREATE TABLE t (x)'), /another SQLite database/],
  'a ledger of a later version': [
    (path) => written(path, `CREATE TABLE t (x); PRAGMA application_id = ${0x564f4943}; PRAGMA user_version = 2`),
    /a ledger of version 2, not 1/,
  ],
  'a damaged file': [(path) => writeFileSync(path, 'x'.repeat(5000)), /not a database/],
  'a read-only file': [(path) => chmodSync(written(path, 'PRAGMA journal_mode = WAL'), 0o400), /a read-only file/],
};

function written(path, sql) {
  const database = new sqlite.DatabaseSync(path);
  database.exec(sql);
  database.close();
  return path;
}

for (const [what, [make, message]] of Object.entries(UNUSABLE)) {
  test(`${what} is an error that names it, and is not changed`, async (path) => {
    make(path);
    const before = readFileSync(path);
    const ledger = new Ledger(path);
    const { message: reason } = await failure(claim(ledger));
    assert.ok(reason.startsWith(`${path}: `));
    assert.match(reason, message);
    const error = await failure(ledger.get(KEY));
    assert.ok(error instanceof ConfigurationProblem);
    assert.equal(error.problem.found, reason);
    assert.equal((await failure(ledger.record(KEY, 'a/1', DONE))).message, reason);
    assert.deepEqual(readFileSync(path), before);
    assert.deepEqual(readdirSync(join(path, '..')), ['calls.db']);
  });
}

for (const isReplaced of [false, true]) {
  test(`a ledger whose file is ${isReplaced ? 'replaced' : 'removed'} takes no more keys`, async (path) => {
    const ledger = new Ledger(path);
    const { taken } = await claim(ledger);
    renameSync(path, `${path}-old`);
    if (isReplaced) await new Ledger(path).unknown();
    for (let i = 0; i < 2; i++) {
      assert.match((await failure(claim(ledger, 'crm-1002'))).message, /it was removed or replaced while it was open/);
    }
    assert.match((await failure(ledger.record(KEY, taken, DONE))).message, /it was removed or replaced/);
    assert.equal(existsSync(path), isReplaced);
  }, skip || (process.platform === 'win32' && 'a file that is open cannot be removed'));
}

test('a full disk is an error before anything is sent', async (path) => {
  const { client, service } = scripted([], { ledger: path });
  await client.dockets.create(REQUEST, { once: KEY });
  const { exec } = sqlite.DatabaseSync.prototype;
  sqlite.DatabaseSync.prototype.exec = function (sql) {
    // No fewer than it has.
    if (sql === 'BEGIN IMMEDIATE') exec.call(this, 'PRAGMA max_page_count = 1');
    return exec.call(this, sql);
  };
  try {
    const error = await failure(client.dockets.create(REQUEST, { once: 'x'.repeat(10_000) }));
    assert.match(`${error.name}: ${error.message}`, /^ConfigurationProblem: ledger: found .*: database or disk is full/);
    assert.equal(service.requests.length, 1);
  } finally {
    sqlite.DatabaseSync.prototype.exec = exec;
  }
});

test('a claim that is not on the disk is an error, and unknown', async (path) => {
  const ledger = new Ledger(path);
  const { fsync } = fs;
  fs.fsync = (_, then) => then(new Error('the disk failed'));
  const claimed = failure(claim(ledger)).finally(() => (fs.fsync = fsync));
  assert.equal((await claimed).message, `${path}: the disk failed`);
  assert.equal((await claim(ledger)).entry.state, 'unknown');
});

test('old drafts and the files of owners that are gone are removed, no other ones', async (path) => {
  const zeros = '0'.repeat(32);
  const others = [`${path}-${'1'.repeat(32)}.new`, `${path}-old-${zeros}.new`, `${path}-old-${zeros}.owner`];
  for (const it of [`${path}-${zeros}.new`, `${path}-${zeros}.owner`, ...others]) {
    writeFileSync(it, '');
    if (it !== others[0]) utimesSync(it, 0, 0);
  }
  const ledger = new Ledger(path);
  await ledger.unknown();
  await ledger.close();
  const names = readdirSync(join(path, '..')).map((name) => join(path, '..', name));
  assert.deepEqual(names.sort(), [path, ...others].sort());
});

test('a file that others have locked does not stop the event loop', async (path) => {
  const ledger = new Ledger(path);
  await ended(ledger, DONE);
  const database = new sqlite.DatabaseSync(path);
  database.exec('BEGIN IMMEDIATE');
  setTimeout(() => database.close(), 300);
  let isOver = false;
  const found = claim(ledger).finally(() => (isOver = true));
  let turns = 0;
  for (; !isOver; turns++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal((await found).entry.state, 'done');
  assert.ok(turns > 10, String(turns));
});

test('a file that others have locked for 30 s is an error, and a create that could not be recorded is unknown', async (path) => {
  const ledger = new Ledger(path);
  const { taken } = await claim(ledger);
  const database = new sqlite.DatabaseSync(path);
  database.exec('BEGIN IMMEDIATE');
  const recorded = ledger.record(KEY, taken, DONE);
  const { now } = performance;
  performance.now = () => now.call(performance) + 30_000;
  const later = claim(ledger, 'crm-1002');
  try {
    assert.equal((await failure(recorded)).message, `${path}: others have locked it for 30 s`);
  } finally {
    performance.now = now;
    database.close();
  }
  assert.ok((await later).taken);
  assert.equal((await claim(ledger)).entry.state, 'unknown');
});

test('an entry that cannot be read is left out with a warning, and hides no other one', async (path) => {
  const ledger = new Ledger(path);
  await claim(ledger, 'bad');
  await ended(ledger, UNKNOWN, 'unknown');
  written(path, "UPDATE creates SET begun_ms = 1 << 60, state = 'unknown' WHERE key = 'bad'");
  let keys;
  const lines = await logged(async () => (keys = (await ledger.unknown()).map(({ key }) => key)));
  assert.deepEqual(keys, ['unknown']);
  assert.ok(lines.join('').includes('the entry with the key "bad" cannot be read'), lines.join(''));
});

anyTest('a runtime without SQLite is refused, with what is needed', { skip: !skip && 'this Node has node:sqlite' }, () => {
  assert.throws(() => new Ledger('calls.db'), /ledger: found a runtime without node:sqlite; allowed: Node 22.13 or newer/);
});
