// What the types allow, and what they refuse.
import https from 'node:https';
import {
  type BatchResult,
  type CreatedDocket,
  type Docket,
  type DocketRequest,
  InvalidInput,
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
  const created: CreatedDocket = await client.dockets.create(request, { signal, timeoutMs: 1000 });
  const docket: Docket = await client.dockets.get(created.docketId);
  const count: number | bigint | undefined = docket.outboundCallCount;
  const isOpen: boolean = docket.status === 'OPEN' || docket.status === 'SOMETHING_NEW';
  const ids: (bigint | undefined)[] = (await client.agents.list('org-1')).map((agent) => agent.agentId);
  const results: readonly BatchResult<CreatedDocket>[] = await client.dockets.createMany([request], { timeoutMs: 1 });
  for (const result of results) {
    if (result.ok) console.log(result.value.docketId);
    else console.log(result.error.kind, result.error.attempts[0]?.status);
  }
  const completed = await client.webhooks.parseDocketCompleted(new Uint8Array());
  console.log(count, isOpen, ids, completed?.callInsights?.callDisposition, docket.raw);

  // @ts-expect-error A misspelt field would be lost.
  await client.dockets.create({ ...request, externalID: 'x' });
  // @ts-expect-error A wait has to end.
  await client.dockets.waitFor(created.docketId);
  // @ts-expect-error Results are not to be changed.
  docket.docketId = 'x';
  // @ts-expect-error A field may be absent.
  const name: string = docket.agentName;
  console.log(name);
}

export function told(error: unknown): string | number | undefined {
  if (error instanceof InvalidInput) return error.field;
  if (error instanceof OutcomeUnknown) return String(error.cause);
  if (error instanceof RequestError && error.kind === 'rate-limited') return error.status;
  return undefined;
}

export async function configured(): Promise<void> {
  const agent = new https.Agent({ keepAlive: true });
  const onAttempt = ({ path, status }: { path: string; status?: number }) => console.log(path, status);
  await using client = new VoiceClient({ agent, onAttempt, createRetry: 'not-sent', env: process.env });
  // @ts-expect-error There is no such option.
  new VoiceClient({ baseURL: 'https://a.example' });
  console.log(client.dockets);
}
