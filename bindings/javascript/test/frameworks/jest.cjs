/** Jest loads the package by `require`. */
const { OutcomeUnknown, VoiceClient } = require('voice-calling');
const { ScriptedService } = require('voice-calling/testing');

const REQUEST = { agentId: 7, toPhoneNumber: '910000000000', callContext: {} };

/** Creates a docket at a service that fails once. */
const create = () => new VoiceClient(new ScriptedService([{ status: 503 }]).options).dockets.create(REQUEST);

afterEach(() => jest.useRealTimers());

test('a method is replaced, and rejects with an error that is made by hand', async () => {
  const client = new VoiceClient(new ScriptedService().options);
  const error = new OutcomeUnknown('no answer came', { mayHaveCreated: true });
  jest.spyOn(client.dockets, 'create').mockRejectedValue(error);
  await expect(client.dockets.create(REQUEST)).rejects.toBeInstanceOf(OutcomeUnknown);
});

test('under fake timers that leave setImmediate real, pauses take no time', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  expect((await create()).attempts).toHaveLength(2);
});

test('under fake timers that replace setImmediate, a call waits until they are advanced', async () => {
  jest.useFakeTimers();
  const onEnd = jest.fn();
  const created = create().finally(onEnd);
  for (let i = 0; i < 100; i++) await null;
  expect(onEnd).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(1000);
  expect((await created).attempts).toHaveLength(2);
});
