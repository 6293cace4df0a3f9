/** How the server ends: requests that were read are finished, and their answers written. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { DOCKET, TOKEN } from '../../javascript/test/service.mjs';
import { withAgent } from './agent.js';
import { AGREES, CREATE, SERVER, initialize, withLines, withServer, withServers } from './server.js';

const usual = () => ({});
const ALLOWED = ['--allow-calls'];
const calling = (id, given = CREATE) => ({ id, method: 'tools/call', params: { name: 'create-docket-and-call', arguments: given } });
const resultOf = ({ result }) => JSON.parse(result.content[0].text);

/** A service that answers when `events` emits `answer`, and emits `received`. */
function held() {
  const events = new EventEmitter();
  const answer = async () => {
    events.emit('received');
    await once(events, 'answer');
  };
  return { events, answer };
}

test('a script that writes all requests and closes stdin reads all answers; the last line may lack its end', () =>
  withLines(usual, { args: ALLOWED }, async (server, { requests }) => {
    initialize(server);
    for (const id of [1, 2, 3]) server.send(calling(id, { ...CREATE, key: `crm-${id}` }));
    // Two requests with one id: both are answered.
    server.send(calling(3, { ...CREATE, key: 'crm-4' }));
    server.child.stdin.end(JSON.stringify({ jsonrpc: '2.0', ...calling(5, { ...CREATE, key: 'crm-5' }) }));
    assert.equal(await server.ended, 0);
    const answers = server.messages.filter(({ id }) => id > 0);
    assert.deepEqual(answers.map(({ id }) => id).sort(), [1, 2, 3, 3, 5]);
    for (const answer of answers) assert.equal(resultOf(answer).docket_id, DOCKET);
    assert.equal(requests.length, 5);
  }));

/** What happens while a create is in flight, and the status of the server then. */
const MEANWHILE = {
  'stdin ends': [({ stdin }) => stdin.end(), 0],
  'the server gets SIGTERM': [(child) => child.kill('SIGTERM'), 143],
  'the server gets SIGINT': [(child) => child.kill('SIGINT'), 130],
  'its terminal goes away': [(child) => child.kill('SIGHUP'), 129],
};

for (const [what, [happen, expected]] of Object.entries(MEANWHILE)) {
  test(`a create is finished and its answer written although ${what}`, () => {
    const { events, answer } = held();
    return withLines(answer, { args: ALLOWED }, async (server, { requests }) => {
      initialize(server);
      server.send(calling(1));
      await once(events, 'received');
      happen(server.child);
      // What is written to it from now on may not be read.
      events.emit('answer');
      assert.equal(resultOf(await server.answerTo(1)).docket_id, DOCKET);
      assert.equal(await server.ended, expected);
      assert.equal(requests.length, 1);
    });
  });
}

test('a create is finished and its id logged although no one reads its answer', () => {
  const { events, answer } = held();
  return withLines(answer, { args: ALLOWED }, async (server, { requests }) => {
    initialize(server);
    server.send(calling(1));
    await once(events, 'received');
    server.child.stdout.destroy();
    // This answer finds no reader.
    server.send({ id: 2, method: 'tools/list' });
    server.send({ id: 3, method: 'tools/list' });
    events.emit('answer');
    assert.equal(await server.ended, 0);
    assert.match(server.errors.text, new RegExp(`create-docket-and-call with the key crm-1001: created "${DOCKET}"`));
    assert.equal(requests.length, 1);
  });
});

test('a create that the agent gives up is finished, logged, and in the ledger', () => {
  const { events, answer } = held();
  return withServer(answer, { args: ALLOWED }, async ({ call, wrote }, { requests }) => {
    const giveUp = new AbortController();
    const placed = assert.rejects(call('create-docket-and-call', CREATE, { signal: giveUp.signal }));
    await once(events, 'received');
    giveUp.abort();
    await placed;
    events.emit('answer');
    await wrote(`created "${DOCKET}"`);
    assert.equal(JSON.parse((await call('create-docket-and-call', CREATE)).text).from_ledger, true);
    assert.equal(requests.length, 1);
  });
});

test('a wait ends with the server, as pending', () => {
  const { events, answer } = held();
  return withLines(answer, {}, async (server) => {
    initialize(server);
    server.send({ id: 1, method: 'tools/call', params: { name: 'wait-for-docket', arguments: { 'docket-id': DOCKET, 'timeout-s': 600 } } });
    await once(events, 'received');
    server.child.kill('SIGTERM');
    assert.deepEqual(resultOf(await server.answerTo(1)), { outcome: 'pending' });
    assert.equal(await server.ended, 143);
  });
});

test('a question that no one can answer any more ends with the connection, and nothing is sent', () =>
  withLines(usual, {}, async (server, { requests }) => {
    initialize(server, { elicitation: {} });
    server.send(calling(1));
    while (!server.messages.some(({ method }) => method === 'elicitation/create')) await server.line();
    server.child.stdin.end();
    const { result } = await server.answerTo(1);
    assert.match(result.content[0].text, /^No person could be asked \(.*closed its end.*\)\. Nothing was created\.$/);
    assert.equal(await server.ended, 0);
    assert.deepEqual(requests, []);
  }));

test('a call that the agent has given up is not placed when the person agrees at last', async () => {
  const events = new EventEmitter();
  const person = () => {
    events.emit('asked');
    return once(events, 'agree').then(() => AGREES);
  };
  await withServer(usual, { person, protocol: '2025-11-25' }, async ({ call, wrote }, { requests }) => {
    const giveUp = new AbortController();
    const asked = once(events, 'asked');
    const placed = assert.rejects(call('create-docket-and-call', CREATE, { signal: giveUp.signal }));
    await asked;
    giveUp.abort();
    await placed;
    await wrote('create-docket-and-call with the key crm-1001: given up before a person answered; nothing is created');
    events.emit('agree');
    // The server has read the answer before this.
    await call('get-docket', { 'docket-id': DOCKET });
    assert.deepEqual(requests.map(({ method }) => method), ['GET']);
  });
});

test('a log that no one reads ends neither the server nor a create', () =>
  withServers(usual, (_, { url, requests }, folder) => {
    const env = { VOICE_CALLING_BASE_URL: url, VOICE_CALLING_API_TOKEN: TOKEN, XDG_DATA_HOME: folder };
    const args = ['-c', `exec '${process.execPath}' '${SERVER}' --allow-calls 2> >(true)`];
    return withAgent({ command: 'bash', args, env }, async ({ call }) => {
      for (let i = 1; i <= 4; i++) {
        assert.equal((await call('create-docket-and-call', { ...CREATE, key: `crm-${i}` })).isError, false);
        assert.equal(requests.length, i);
      }
    });
  }));
