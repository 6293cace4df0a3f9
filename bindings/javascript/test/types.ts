// What the types allow, and what they refuse.
import https from 'node:https';
import {
  type BatchResult,
  type CallDetails,
  type CallOptions,
  type CreatedDocket,
  type Docket,
  type DocketRequest,
  InProgress,
  Ledger,
  type LedgerEntry,
  type LedgerStorage,
  NoAnswerError,
  OutcomeUnknown,
  RequestError,
  VoiceClient,
} from 'voice-calling';

interface Lead {
  reference: string;
  tags: string[];
}

export async function everything(client: VoiceClient, lead: Lead, signal: AbortSignal): Promise<void> {
  const request: DocketRequest = { agentId: 7, toPhoneNumber: '919876543210', callContext: lead };
  const options: CallOptions = { signal, account: 'alpha', timeoutMs: 1000, maxRetries: 2 };
  const created: CreatedDocket = await client.dockets.create(request, options);
  const docket: Docket = await client.dockets.get(created.docketId);
  const count: number | bigint | undefined = docket.outboundCallCount;
  const isOpen: boolean = docket.status === 'OPEN' || docket.status === 'SOMETHING_NEW';
  const { agents } = await client.agents.list('org-1');
  for (const { agentId } of agents) {
    // What came may be given, and so may a bigint.
    if (agentId !== undefined) await client.dockets.create({ ...request, agentId });
  }
  await client.dockets.create({ ...request, agentId: 7n });
  const batch = { timeoutMs: 1, account: 'beta' };
  const results: readonly BatchResult<CreatedDocket>[] = await client.dockets.createMany([request], batch);
  console.log(count, isOpen, created.requestId, docket.rawJson, results);

  // @ts-expect-error A poll has a time of its own, which is not an option of a call.
  await client.dockets.get(created.docketId, { pollTimeoutMs: 1 });
  // @ts-expect-error A misspelt field would be lost.
  await client.dockets.create({ ...request, externalID: 'x' });
  // @ts-expect-error A wait has to end.
  await client.dockets.waitFor(created.docketId);
  // @ts-expect-error Results are not to be changed.
  docket.docketId = 'x';
  // @ts-expect-error A field may be absent.
  const name: string = docket.agentName;
  // @ts-expect-error The variables of a prompt are texts.
  await client.calls.make({ fromAgentName: 'a', toPhoneNumber: '1', callContext: { count: 1 } });
  console.log(name);
}

export async function waited(client: VoiceClient): Promise<readonly CallDetails[]> {
  const { outcome } = await client.calls.waitForDetails('task-1', { timeoutMs: 1, pollTimeoutMs: 1, maxRetries: 1 });
  if (outcome.kind === 'completed') return outcome.value.calls;
  // @ts-expect-error Nothing may have been seen.
  console.log(outcome.value.calls);
  return outcome.value?.calls ?? [];
}

export async function verified(client: VoiceClient, body: Uint8Array | string): Promise<string | undefined> {
  const completed = await client.webhooks.parse(body);
  const verification = await client.webhooks.verify(body, { account: 'alpha' });
  switch (verification.kind) {
    case 'confirmed':
      return verification.value.docket.docketId;
    case 'contradicted':
      return verification.value.contradicted.join();
    case 'not-a-completion':
      // @ts-expect-error There is nothing to verify.
      console.log(verification.value);
      return completed?.callInsights?.callDisposition;
  }
}

export function described(error: unknown): string | number | undefined {
  if (error instanceof InProgress) return error.problem.found;
  if (error instanceof OutcomeUnknown) return error.response?.status ?? String(error.cause);
  if (error instanceof NoAnswerError) {
    const never: undefined = error.response;
    return never;
  }
  if (error instanceof RequestError && error.kind === 'execution-failed') return String(error.mayHaveCreated);
  return undefined;
}

export async function configured(): Promise<void> {
  const agent = new https.Agent({ keepAlive: true });
  const onAttempt = ({ path, status }: { path: string; status?: number }) => console.log(path, status);
  const accounts = { alpha: { token: process.env.ALPHA_TOKEN, createRetry: 'never' } } as const;
  await using client = new VoiceClient({ agent, onAttempt, accounts, createRetry: 'not-sent', env: process.env });
  // @ts-expect-error There is no such option.
  new VoiceClient({ baseURL: 'https://a.example' });
  // @ts-expect-error Connections are the client's, not an account's.
  new VoiceClient({ accounts: { alpha: { token: 'x', agent } } });
  console.log(client.dockets);
}

export async function onceEach(own: LedgerStorage, request: DocketRequest): Promise<boolean> {
  const client = new VoiceClient({ ledger: new VoiceClient({ ledger: 'calls.db' }).ledger ?? own });
  await client.dockets.createMany([{ ...request, once: 'crm-1001' }], { timeoutMs: 1, once: 'externalId' });
  const generated = (async function* () {
    yield request;
  })();
  for await (const { externalId } of client.dockets.createMany(generated, { timeoutMs: 1 })) externalId satisfies string | undefined;
  // @ts-expect-error Text is no request.
  await client.dockets.createMany(new Set(['910000000000']), { timeoutMs: 1 });
  // @ts-expect-error Nothing is created.
  await client.agents.list('org-1', { once: 'crm-1001' });
  return (await client.dockets.create(request, { once: 'crm-1002' })).fromLedger;
}

export async function noted(path: string): Promise<readonly LedgerEntry[]> {
  await using ledger = new Ledger(path);
  const entry: LedgerEntry | undefined = await ledger.get('crm-1001');
  if (entry?.state === 'unknown') await ledger.resolve(entry.key, '0ad33a9b', { by: 'Asha' });
  // @ts-expect-error Someone has to make sure of it.
  await ledger.release('crm-1001');
  console.log(await ledger.prune({ doneBefore: new Date() }));
  return ledger.unknown();
}
