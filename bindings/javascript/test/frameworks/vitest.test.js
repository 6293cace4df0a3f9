import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import nock from 'nock';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { OutcomeUnknown, VoiceClient } from 'voice-calling';
import { VoiceClient as FetchClient } from 'voice-calling/fetch';
import { ScriptedService } from 'voice-calling/testing';

const REQUEST = { agentId: 7, toPhoneNumber: '910000000000', callContext: {} };

/** Creates a docket at a service that fails once. */
const create = () => new VoiceClient(new ScriptedService([{ status: 503 }]).options).dockets.create(REQUEST);

afterEach(() => {
  vi.useRealTimers();
});

test('a method is replaced, and rejects with an error that is made by hand', async () => {
  const client = new VoiceClient(new ScriptedService().options);
  const error = new OutcomeUnknown('no answer came', { mayHaveCreated: true });
  vi.spyOn(client.dockets, 'create').mockRejectedValue(error);
  await expect(client.dockets.create(REQUEST)).rejects.toBeInstanceOf(OutcomeUnknown);
});

test('under fake timers that leave setImmediate real, pauses take no time', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  expect((await create()).attempts).toHaveLength(2);
});

test('under fake timers that replace setImmediate, a call waits until they are advanced', async () => {
  vi.useFakeTimers();
  const onEnd = vi.fn();
  const created = create().finally(onEnd);
  for (let i = 0; i < 100; i++) await null;
  expect(onEnd).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1000);
  expect((await created).attempts).toHaveLength(2);
});

// It replaces what sends requests as soon as it is imported.
nock.restore();

const baseUrl = 'https://service.test';
const path = '/api/v2/dockets';
const CREATED = { docket_id: '7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11', status: 'OPEN', created: true };

/** What plays a 503, a docket, and an error of the network, in this order. */
const MOCKS = {
  msw: () => {
    const answers = [new HttpResponse(null, { status: 503 }), HttpResponse.json(CREATED), HttpResponse.error()];
    const server = setupServer(http.post(baseUrl + path, () => answers.shift()));
    server.listen({ onUnhandledRequest: 'error' });
    return () => server.close();
  },
  nock: () => {
    nock.activate();
    nock(baseUrl).post(path).reply(503).post(path).reply(200, CREATED).post(path).replyWithError('reset');
    return () => nock.restore();
  },
};

describe.each(Object.entries(MOCKS))('%s', (_, start) => {
  test.each([['node:http', VoiceClient], ['fetch', FetchClient]])('plays answers, and errors after a request was sent: %s', async (_, Client) => {
    const end = start();
    try {
      const client = new Client({ baseUrl, token: 'a-token-of-a-test', env: {}, backoffMs: 1, maxBackoffMs: 1 });
      const docket = await client.dockets.create(REQUEST);
      expect(docket.attempts.map(({ status }) => status)).toEqual([503, 200]);
      await expect(client.dockets.create(REQUEST)).rejects.toBeInstanceOf(OutcomeUnknown);
    } finally {
      end();
    }
  });
});
