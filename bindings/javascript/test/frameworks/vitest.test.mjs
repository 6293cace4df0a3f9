import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import nock from 'nock';
import { afterEach, describe, expect, test, vi } from 'vitest';
import * as package_ from 'voice-calling';
import { ScriptedService } from 'voice-calling/testing';
import { testDoubles } from './doubles.js';

const REQUEST = { agentId: 7, toPhoneNumber: '910000000000', callContext: {} };

const sparing = { toFake: ['setTimeout', 'clearTimeout', 'Date'] };
testDoubles({ afterEach, expect, test }, vi, sparing, { ...package_, ScriptedService });

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
  test('plays answers, and errors after a request was sent', async () => {
    const end = start();
    try {
      const client = new package_.VoiceClient({ baseUrl, token: 'a-token-of-a-test', env: {}, backoffMs: 1, maxBackoffMs: 1 });
      const docket = await client.dockets.create(REQUEST);
      expect(docket.attempts.map(({ status }) => status)).toEqual([503, 200]);
      await expect(client.dockets.create(REQUEST)).rejects.toBeInstanceOf(package_.OutcomeUnknown);
    } finally {
      end();
    }
  });
});
