/** Dockets of the voice-calling service as workflows on Restate; each is created once. README.md says how. */
import { randomUUID } from 'node:crypto';
import http2 from 'node:http2';
import { setTimeout } from 'node:timers/promises';
import * as restate from '@restatedev/restate-sdk';
import { VoiceCallingError, VoiceClient } from 'voice-calling';
import type { Docket, DocketInsights, DocketRequest, NextStep } from 'voice-calling';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** How long a create may take. */
const DEADLINE_MS = 30_000;
/** How long a run waits for the completion of its docket. */
const WAIT_MS = 72 * HOUR_MS;
/** How long it waits for the webhook before it polls; doubled after each poll, up to an hour. */
const POLL_AFTER_MS = Number(process.env.POLL_AFTER_MS ?? 10 * MINUTE_MS);

/** What a run is started with, under the docket's `externalId`. Nothing is created after `notAfterMs` (since 1970). */
type Order = Omit<DocketRequest, 'externalId'> & { notAfterMs?: number };

/** How a run ends; as `not-created` only if a person says so. */
type Outcome =
  | ({ state: 'completed'; knownBy: 'webhook' | 'poll'; docketId: string } & Partial<Completion['delivered']>)
  | { state: 'timed-out'; docketId: string }
  | { state: 'not-created'; why: string };

/** A person's answer to the question whether there is a docket, and its JSON. Nothing else may end a run. */
type Answer = { docketId: string } | { notCreated: string };
const ANSWER = /^\{("docketId":"[\da-fA-F-]{36}"|"notCreated":"([^"\\]|\\.)+")\}$/;

/** A completion that the service has confirmed, except for what was `delivered`; its `rawJson` has all digits. */
type Completion = Pick<Docket, 'docketId' | 'externalId' | 'toPhoneNumber'> & {
  delivered: { insights?: DocketInsights; rawJson: string };
};

/** What became of a create. If that is `unknown`, a phone may be ringing. */
type Creation = { kind: 'created'; docketId: string } | { kind: NextStep; why: string; afterMs?: number };

const client = new VoiceClient({ createRetry: 'not-sent', timeoutMs: DEADLINE_MS });
const terminal = (errorCode: number, why: string) => new restate.TerminalError(why, { errorCode });

/** The creates of this process that are not in the journal yet, by their claims; `undefined` until it is sent. */
const creates = new Map<string, Promise<Creation> | undefined>();
let isStopping = false;

/** Sends a create. Never rejects: Restate would run it again. */
async function send({ notAfterMs, ...request }: Order, externalId: string): Promise<Creation> {
  // A date as text is no number, and never in the future.
  const isInTime = notAfterMs === undefined || Date.now() <= notAfterMs;
  if (!isInTime) return { kind: 'refused', why: 'notAfterMs has passed, or is not in milliseconds since 1970' };
  try {
    const { docketId } = await client.dockets.create({ ...request, externalId });
    return { kind: 'created', docketId };
  } catch (error) {
    const failure = error instanceof VoiceCallingError ? error : undefined;
    const afterMs = failure?.retryAfterMs;
    return { kind: failure?.nextStep ?? 'unknown', why: String(error), afterMs };
  }
}

/**
 * Creates the docket, once: a claim is in the journal before anything is sent. Only the process that made
 * it sends, and does so once. A replay in another process knows only that the create may have been sent.
 */
async function create(ctx: restate.WorkflowContext, order: Order) {
  for (let round = 0; ; round++) {
    const claim = await ctx.run('claim', () => {
      if (isStopping) throw new Error('this process is stopping');
      const claim = randomUUID();
      creates.set(claim, undefined);
      return claim;
    });
    let isReplayed = true;
    const creation = await ctx.run<Creation>('create', async () => {
      isReplayed = false;
      if (creates.has(claim)) creates.set(claim, creates.get(claim) ?? send(order, ctx.key));
      return creates.get(claim) ?? { kind: 'unknown', why: 'the process that was to create it has ended' };
    });
    creates.delete(claim);
    if (creation.kind === 'created' || creation.kind === 'unknown') return creation;
    if (creation.kind === 'refused') throw terminal(422, creation.why);
    if (creation.kind === 'retry-later') await ctx.sleep(creation.afterMs ?? Math.min(MINUTE_MS * 2 ** round, HOUR_MS));
    // A run that was paused and is resumed replays the create, passes here, and tries again.
    await ctx.run('fix-setting', () => {
      if (creation.kind === 'fix-setting' && !isReplayed) throw new restate.PauseError(creation.why);
    });
  }
}

/** Waits for the completion of the docket, by the webhook or else by polls. */
async function complete(ctx: restate.WorkflowContext, docketId: string): Promise<Outcome> {
  const wait = (ms: number) =>
    ctx.promise<Completion>('completed').get().orTimeout(ms).map((completion, failure) => {
      if (failure && !(failure instanceof restate.TimeoutError)) throw failure;
      return completion;
    });
  for (let waitedMs = 0, pauseMs = POLL_AFTER_MS; waitedMs < WAIT_MS; pauseMs = Math.min(2 * pauseMs, HOUR_MS)) {
    const completion = await wait(pauseMs);
    if (completion) return { state: 'completed', knownBy: 'webhook', docketId, ...completion.delivered };
    const poll = () => client.dockets.get(docketId).then(({ status }) => status === 'COMPLETED', () => false);
    const isCompleted = await ctx.run('poll', poll);
    // Its webhook may be on the way, and only that has the insights.
    if (isCompleted) return { state: 'completed', knownBy: 'poll', docketId, ...(await wait(10_000))?.delivered };
    waitedMs += pauseMs;
  }
  return { state: 'timed-out', docketId };
}

/** Asks a person whether there is a docket, unless its webhook comes first. */
async function ask(ctx: restate.WorkflowContext, why: string): Promise<Outcome> {
  ctx.set('question', why);
  ctx.console.warn(`${ctx.key}: is there a docket with this externalId? ${why}`);
  const answered = [ctx.promise<Answer>('answer').get(), ctx.promise<Completion>('completed').get()] as const;
  const answer = await restate.RestatePromise.race(answered);
  ctx.clear('question');
  return 'docketId' in answer ? complete(ctx, answer.docketId) : { state: 'not-created', why: answer.notCreated };
}

const docket = restate.workflow({
  name: 'docket',
  handlers: {
    async run(ctx: restate.WorkflowContext, order: Order): Promise<Outcome> {
      if (typeof order?.toPhoneNumber !== 'string') throw terminal(422, 'toPhoneNumber: allowed: text');
      ctx.set('toPhoneNumber', order.toPhoneNumber);
      const creation = await create(ctx, order);
      return creation.kind === 'created' ? complete(ctx, creation.docketId) : ask(ctx, creation.why);
    },

    /** Takes the answer to the question whether there is a docket. It is final. */
    async answer(ctx: restate.WorkflowSharedContext, answer: Answer): Promise<void> {
      if (!ANSWER.test(JSON.stringify(answer))) throw terminal(400, 'allowed: one of docketId (UUID), notCreated');
      const earlier = await ctx.promise<Answer>('answer').peek();
      if (earlier) throw terminal(409, `answered before: ${JSON.stringify(earlier)}`);
      const state = (await ctx.get('toPhoneNumber')) ? 'is creating, waiting or at an end' : 'has not begun';
      if ((await ctx.get('question')) === null) throw terminal(409, `no question: the run ${state}`);
      const get = async () => ('docketId' in answer ? (await client.dockets.get(answer.docketId)).externalId : ctx.key);
      const key = await ctx.run('get', get);
      if (key !== ctx.key) throw terminal(409, `the docket of another run, ${key}`);
      await ctx.promise<Answer>('answer').resolve(answer);
    },

    /** Takes a completion that the service has confirmed. */
    completed: restate.handlers.workflow.shared({ ingressPrivate: true }, async (ctx, completion: Completion) => {
      const promise = ctx.promise<Completion>('completed');
      const isOurs = completion.toPhoneNumber === (await ctx.get('toPhoneNumber'));
      if (isOurs && !(await promise.peek())) await promise.resolve(completion);
      const answer = await ctx.promise<Answer>('answer').peek();
      const isDenied = isOurs && answer && 'notCreated' in answer;
      if (isDenied) ctx.console.warn(`${ctx.key}: answered not-created, but docket ${completion.docketId} completed`);
    }),
  },
  // How long a key is remembered after its run has ended. Later it could be called again.
  options: { workflowRetention: { days: 366 } },
});

/** The endpoint for the service, which reports completed dockets there. */
const webhook = restate.service({
  name: 'webhook',
  handlers: {
    deliver: restate.handlers.handler({ input: restate.serde.binary, accept: '*/*' }, async (ctx, body: Uint8Array) => {
      const retries = { initialRetryInterval: 1_000, maxRetryInterval: MINUTE_MS, maxRetryDuration: HOUR_MS };
      const completion = await ctx.run('verify', () => verify(body), retries);
      if (completion?.externalId) await ctx.workflowClient(docket, completion.externalId).completed(completion);
    }),
  },
});

/** Returns what the service confirms of a delivery, or `undefined` if it is not the completion of a docket. */
async function verify(body: Uint8Array): Promise<Completion | undefined> {
  const verification = await client.webhooks.verify(body);
  if (verification.kind === 'not-a-completion') return undefined;
  const { docket, contradicted, delivered: { callInsights: insights, rawJson } } = verification;
  // The service may report a docket before it shows it as completed.
  if (verification.kind === 'contradicted') throw new Error(`the docket contradicts ${contradicted}`);
  const { docketId, externalId, toPhoneNumber } = docket;
  return { docketId, externalId, toPhoneNumber, delivered: { insights, rawJson } };
}

const endpoint = restate.createEndpointHandler({
  services: [docket, webhook],
  defaultServiceOptions: {
    // A run that waits leaves this process soon. One that creates is not cut off.
    inactivityTimeout: { seconds: 1 },
    abortTimeout: 2 * DEADLINE_MS,
    asTerminalError: (error) =>
      error instanceof VoiceCallingError && error.nextStep === 'refused' ? terminal(400, String(error)) : undefined,
  },
});
http2.createServer(endpoint).listen(Number(process.env.PORT ?? 9080), '127.0.0.1');

/** Ends when everything that was sent is answered and in the journal. */
process.once('SIGTERM', async () => {
  isStopping = true;
  for (const until = Date.now() + DEADLINE_MS; creates.size > 0 && Date.now() < until; ) await setTimeout(50);
  process.exit();
});
