// What the types allow beyond what the examples of the READMEs show, and what they refuse.
import https from 'node:https';
import {
  type BatchResult,
  type CallDetails,
  type CallOptions,
  type CreatedDocket,
  type DocketRequest,
  InProgress,
  type LedgerEntry,
  type LedgerStorage,
  NoAnswerError,
  VoiceClient,
} from 'voice-calling';

interface Lead {
  reference: string;
  tags: string[];
}

export async function everything(client: VoiceClient, lead: Lead, signal: AbortSignal): Promise<readonly BatchResult<CreatedDocket>[]> {
  const request: DocketRequest = { agentId: 7, toPhoneNumber: '919876543210', callContext: lead };
  const options: CallOptions = { signal, account: 'alpha', timeoutMs: 1000, maxRetries: 2 };
  const docket = await client.dockets.get('0ad33a9b', options);
  const count: number | bigint | undefined = docket.outboundCallCount;
  const isOpen: boolean = docket.status === 'OPEN' || docket.status === 'SOMETHING_NEW';
  // What came may be given, and so may a bigint.
  for (const { agentId = 7n } of (await client.agents.list('org-1')).agents) await client.dockets.create({ ...request, agentId });
  console.log(count, isOpen);

  // @ts-expect-error A poll has a time of its own, which is not an option of a call.
  await client.dockets.get(docket.docketId, { pollTimeoutMs: 1 });
  // @ts-expect-error A misspelt field would be lost.
  await client.dockets.create({ ...request, externalID: 'x' });
  // @ts-expect-error A wait has to end.
  await client.dockets.waitFor(docket.docketId);
  // @ts-expect-error Results are not to be changed.
  docket.docketId = 'x';
  // @ts-expect-error A field may be absent.
  const name: string = docket.agentName;
  // @ts-expect-error The variables of a prompt are texts.
  await client.calls.make({ fromAgentName: 'a', toPhoneNumber: '1', callContext: { count: 1 } });
  console.log(name);
  return client.dockets.createMany([request], { timeoutMs: 1, account: 'beta' });
}

export async function narrowed(client: VoiceClient, body: Uint8Array): Promise<readonly CallDetails[]> {
  const verification = await client.webhooks.verify(body);
  if (verification.kind === 'contradicted') console.log(verification.value.contradicted.join());
  // @ts-expect-error There is nothing to verify.
  if (verification.kind === 'not-a-completion') console.log(verification.value);
  const { outcome } = await client.calls.waitForDetails('task-1', { timeoutMs: 1, pollTimeoutMs: 1, maxRetries: 1 });
  if (outcome.kind === 'completed') return outcome.value.calls;
  // @ts-expect-error Nothing may have been seen.
  return outcome.value.calls;
}

export function described(error: unknown): string | undefined {
  if (error instanceof InProgress) return error.problem.found;
  if (error instanceof NoAnswerError) return error.response satisfies undefined;
  return undefined;
}

export async function configured(): Promise<void> {
  const agent = new https.Agent({ keepAlive: true });
  const accounts = { alpha: { token: process.env.ALPHA_TOKEN, createRetry: 'never' } } as const;
  await using client = new VoiceClient({ agent, accounts, createRetry: 'not-sent', env: process.env });
  // @ts-expect-error There is no such option.
  new VoiceClient({ baseURL: 'https://a.example' });
  // @ts-expect-error Connections are the client's, not an account's.
  new VoiceClient({ accounts: { alpha: { token: 'x', agent } } });
  console.log(client.dockets);
}

export async function onceEach(own: LedgerStorage, request: DocketRequest): Promise<readonly LedgerEntry[]> {
  const client = new VoiceClient({ ledger: own });
  const generated = (async function* () {
    yield { ...request, once: 'crm-1001' };
  })();
  for await (const { externalId } of client.dockets.createMany(generated, { timeoutMs: 1 })) externalId satisfies string | undefined;
  // @ts-expect-error Text is no request.
  await client.dockets.createMany(new Set(['910000000000']), { timeoutMs: 1 });
  // @ts-expect-error Nothing is created.
  await client.agents.list('org-1', { once: 'crm-1001' });
  const ledger = new VoiceClient({ ledger: 'calls.db' }).ledger;
  // @ts-expect-error Someone has to make sure of it.
  await ledger?.release('crm-1001');
  return ledger?.unknown() ?? [];
}
