/** What a user's tests put in the place of methods and timers, in any framework: `runner` is `jest` or `vi`. */
exports.testDoubles = ({ afterEach, expect, test }, runner, { OutcomeUnknownError, VoiceClient, VoiceCallingError }, { ScriptedService }) => {
  const http = require('node:http');
  const request = { agentId: 7, toPhoneNumber: '910000000000', callContext: { tags: ['a'] } };
  const DOCKET = '7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11';

  /** Runs `use` with a client of a service that fails once. */
  async function withClient(use) {
    let received = 0;
    const server = http.createServer((incoming, response) => {
      incoming.resume();
      response.statusCode = received++ === 0 ? 503 : 200;
      response.end(JSON.stringify({ docket_id: DOCKET, status: 'OPEN' }));
    });
    await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
    const baseUrl = `http://127.0.0.1:${server.address().port}`;
    const client = new VoiceClient({ baseUrl, token: 'a-token-of-a-test', env: {}, backoffMs: 1, maxBackoffMs: 1 });
    try {
      await use(client);
    } finally {
      await client.close();
      server.closeAllConnections();
      server.close();
    }
  }

  afterEach(() => void runner.useRealTimers());

  test('a method is replaced, and rejects with an error that is made by hand', async () => {
    const client = new VoiceClient({ baseUrl: 'http://127.0.0.1:9', token: 'a-token-of-a-test', env: {} });
    runner.spyOn(client.dockets, 'create').mockRejectedValue(new OutcomeUnknownError('no answer came'));
    await expect(client.dockets.create(request)).rejects.toBeInstanceOf(OutcomeUnknownError);
  });

  test('values and errors of the environment of a test are those of the package', () =>
    withClient(async (client) => {
      expect((await client.dockets.create(request)).docketId).toBe(DOCKET);
      await expect(client.dockets.create({ ...request, toPhoneNumber: '1' })).rejects.toBeInstanceOf(VoiceCallingError);
      const results = await client.dockets.createEach(new Set([request]), { timeoutMs: 60_000 });
      expect(results[0].ok).toBe(true);
    }));

  test('fake timers and a frozen clock change nothing', async () => {
    runner.useFakeTimers({ now: 0 });
    await withClient(async (client) => {
      expect((await client.dockets.create(request)).attempts).toHaveLength(2);
      for await (const { ok } of client.dockets.createEach([request, request], { timeoutMs: 60_000 })) {
        expect(ok).toBe(true);
        break;
      }
    });
    const service = new ScriptedService().answerWith(async () => undefined);
    const client = service.client();
    const { docketId } = await client.dockets.create(request);
    expect((await client.dockets.wait(docketId, { timeoutMs: 600_000 })).status).toBe('COMPLETED');
  });
};
