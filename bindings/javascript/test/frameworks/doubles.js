/**
 * What a user's tests put in the place of methods and timers, in any framework: `runner` is `jest` or
 * `vi`, `sparing` its option for fake timers that leave `setImmediate` real.
 */
exports.testDoubles = ({ afterEach, expect, test }, runner, sparing, { OutcomeUnknown, ScriptedService, VoiceClient }) => {
  const request = { agentId: 7, toPhoneNumber: '910000000000', callContext: {} };

  /** Creates a docket at a service that fails once. */
  const create = () => new VoiceClient(new ScriptedService([{ status: 503 }]).options).dockets.create(request);

  afterEach(() => void runner.useRealTimers());

  test('a method is replaced, and rejects with an error that is made by hand', async () => {
    const client = new VoiceClient(new ScriptedService().options);
    const error = new OutcomeUnknown('no answer came', { mayHaveCreated: true });
    runner.spyOn(client.dockets, 'create').mockRejectedValue(error);
    await expect(client.dockets.create(request)).rejects.toBeInstanceOf(OutcomeUnknown);
  });

  test('under fake timers that leave setImmediate real, pauses take no time', async () => {
    runner.useFakeTimers(sparing);
    expect((await create()).attempts).toHaveLength(2);
  });

  test('under fake timers that replace setImmediate, a call waits until they are advanced', async () => {
    runner.useFakeTimers();
    const onEnd = runner.fn();
    const created = create().finally(onEnd);
    for (let i = 0; i < 100; i++) await null;
    expect(onEnd).not.toHaveBeenCalled();
    await runner.advanceTimersByTimeAsync(1000);
    expect((await created).attempts).toHaveLength(2);
  });
};
