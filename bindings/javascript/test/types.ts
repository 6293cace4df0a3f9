// What the types allow beyond what the examples of the READMEs show, and what they refuse.
import {
  Breaker,
  type BatchResult,
  type CallOptions,
  ContactRules,
  type CreatedDocket,
  type Docket,
  type DocketRequest,
  InvalidInputError,
  Ledger,
  type LedgerEntry,
  type LedgerStorage,
  OutcomeUnknownError,
  VoiceCallingError,
  VoiceClient,
  WaitTimedOutError,
  nextCallingTime,
  normalizeNumber,
  parseDocketCompleted,
} from 'voice-calling';

interface Lead {
  reference: string;
  tags: string[];
}

export async function everything(client: VoiceClient, lead: Lead, signal: AbortSignal): Promise<BatchResult<CreatedDocket>[]> {
  const request: DocketRequest = { agentId: 7, toPhoneNumber: normalizeNumber('98765 43210', '91'), callContext: lead };
  const options: CallOptions = { signal, account: 'alpha', timeoutMs: 1000, maxRetries: 2 };
  const docket = await client.withOptions({ account: 'beta' }).dockets.get('0ad33a9b', options);
  const count: number | string | undefined = docket.outboundCallCount;
  const isOpen: boolean = docket.status === 'OPEN' || docket.status === 'SOMETHING_NEW';
  for (const { agentId = 7n } of (await client.agents.list('org-1')).agents) await client.dockets.create({ ...request, agentId });
  const begins: Date | undefined = nextCallingTime('mon-fri 09:30-18:00', 'Asia/Kolkata', Date.now());
  new Breaker().onFailure(new OutcomeUnknownError('lost'));
  console.log(begins, count, isOpen, parseDocketCompleted(new Uint8Array())?.docketId);

  // @ts-expect-error A poll has a time of its own, which is not an option of a call.
  await client.dockets.get(docket.docketId, { pollTimeoutMs: 1 });
  // @ts-expect-error A misspelt field would be lost.
  await client.dockets.create({ ...request, externalID: 'x' });
  // @ts-expect-error A wait has to end.
  await client.dockets.wait(docket.docketId);
  // @ts-expect-error A field may be absent.
  const name: string = docket.agentName;
  // @ts-expect-error The variables of a prompt are texts.
  await client.calls.make({ fromAgentName: 'a', toPhoneNumber: '1', callContext: { count: 1 } });
  console.log(name);
  await using batch = client.dockets.createEach([request], { timeoutMs: 1, account: 'beta' }).start();
  for await (const result of batch) console.log(result.ok ? result.value.docketId : result.error.nextStep);
  return client.dockets.createEach(new Set([request]), { timeoutMs: 1 });
}

export function described(error: unknown): string | number | undefined {
  if (error instanceof WaitTimedOutError) return (error as WaitTimedOutError<Docket>).last?.docketId;
  if (error instanceof InvalidInputError) return error.problem?.found;
  if (error instanceof VoiceCallingError && error.kind === 'rate-limited') return error.retryAfterMs;
  // @ts-expect-error There is no such kind.
  if (error instanceof VoiceCallingError && error.kind === 'execution-failed') return error.code;
  return new OutcomeUnknownError('no answer', { externalId: 'crm-1', cause: error }).externalId;
}

export function configured(): void {
  const accounts = { alpha: { token: process.env.ALPHA_TOKEN, createRetry: 'never' } } as const;
  new VoiceClient({ accounts, createRetry: 'not-sent', env: process.env, proxy: false, authorities: new Uint8Array(), logger: console });
  // @ts-expect-error There is no such option.
  new VoiceClient({ baseURL: 'https://a.example' });
  // @ts-expect-error Connections are the client's, not an account's.
  new VoiceClient({ accounts: { alpha: { token: 'x', proxy: 'http://p:1' } } });
}

export async function onceEach(client: VoiceClient, request: DocketRequest): Promise<readonly LedgerEntry[]> {
  const generated = (async function* () {
    yield { ...request, key: 'crm-1001' };
  })();
  for await (const { externalId } of client.dockets.createEach(generated, { timeoutMs: 1 })) externalId satisfies string | undefined;
  // @ts-expect-error Text is no request.
  await client.dockets.createEach(new Set(['910000000000']), { timeoutMs: 1 });
  // @ts-expect-error Nothing is created.
  await client.agents.list('org-1', { key: 'crm-1001' });
  await using ledger = new Ledger('calls.db');
  // @ts-expect-error Someone has to make sure of it.
  await ledger.release('crm-1001');
  return ledger.unknown();
}

export async function checked(request: DocketRequest): Promise<void> {
  const rules = new ContactRules({ doNotCall: new Set(['919876543210']), hours: 'mon-fri 09:30-18:00', timeZone: 'Asia/Kolkata' });
  const entries = new Map<string, string>();
  const storage: LedgerStorage = {
    async update(key, change) {
      const entry = change(entries.get(key));
      if (entry !== undefined) entries.set(key, entry);
    },
  };
  const client = new VoiceClient({ mayCall: rules.mayCall, ledger: Ledger.on(storage, new Uint8Array(16)) });
  new VoiceClient({ mayCall: async ({ toPhoneNumber, externalId }) => externalId !== undefined || `not ${toPhoneNumber}` });
  // @ts-expect-error A check that forgets its result calls no one.
  new VoiceClient({ mayCall: ({ toPhoneNumber }) => void toPhoneNumber });
  // @ts-expect-error There is no such rule.
  new ContactRules({ gapDays: 1 });
  await client.dockets.create(request, { key: 'crm-1001' });
}
