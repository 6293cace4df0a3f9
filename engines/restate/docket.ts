/**
 * Dockets of the voice-calling service as durable workflows on Restate: each is created once, waited
 * for as long as it takes, and completed by the service's webhook or by a poll. README.md says how.
 */
import { randomUUID } from 'node:crypto';
import http2 from 'node:http2';
import { setTimeout } from 'node:timers/promises';
import * as restate from '@restatedev/restate-sdk';
import { ConfigurationProblem, InvalidInput, NotFound, RequestError, Unauthorized, VoiceClient } from 'voice-calling';
import type { DocketInsights, DocketRequest } from 'voice-calling';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** How long a create may take. */
const DEADLINE_MS = 30_000;
/** How long a run waits for the completion of its docket, and how long for a person. */
const WAIT_MS = 72 * HOUR_MS;
/** How long it waits for the webhook before it polls; doubled after each poll, up to an hour. */
const POLL_AFTER_MS = Number(process.env.POLL_AFTER_MS ?? 10 * MINUTE_MS);
/** How long a key is remembered after its run has ended. Later it could be called again. */
const KEYS_KEPT = { days: 366 };

/** What a run is started with. Its key becomes the docket's `externalId`. */
interface Order extends Omit<DocketRequest, 'externalId'> {
  /** The time after which the docket is no longer created. Unit: milliseconds since 1970. */
  readonly notAfterMs?: number;
}

/** How a run ends. */
type Outcome =
  | { state: 'completed'; knownBy: 'webhook' | 'poll'; docketId: string; insights?: DocketInsights }
  | { state: 'timed-out'; docketId: string }
  /** A person said so. */
  | { state: 'not-created'; why: string }
  /** Neither a webhook nor a person has said whether there is a docket. */
  | { state: 'unknown' };

/** A person's answer to the question whether there is a docket. */
type Answer = { docketId: string } | { notCreated: string };

/** A completion that the service has confirmed, except for its insights. */
type Completion = { docketId: string; externalId?: string; toPhoneNumber?: string; insights?: DocketInsights };

/** What became of a create. */
type Creation =
  | { kind: 'created'; docketId: string }
  /** A phone may be ringing. */
  | { kind: 'unknown'; why: string }
  /** Nothing was created; it may be tried again, if nothing else is said in a minute. */
  | { kind: 'later'; why: string; afterMs?: number }
  /** Nothing was created, and none will be until someone has corrected a setting. */
  | { kind: 'halted'; why: string }
  /** Nothing was created: the order is at fault. */
  | { kind: 'refused'; why: string };

const client = new VoiceClient({ createRetry: 'not-sent', deadlineMs: DEADLINE_MS });

/** The claims of this process that no create has used. */
const unused = new Set<string>();
/** Its creates that are not in the journal yet, by their claims. */
const begun = new Map<string, Promise<Creation>>();
let isStopping = false;

/** Sends a create. Never rejects: Restate would run it again. */
async function send({ notAfterMs, ...request }: Order, externalId: string): Promise<Creation> {
  if (notAfterMs !== undefined && Date.now() > notAfterMs) return { kind: 'refused', why: 'notAfterMs has passed' };
  try {
    const { docketId } = await client.dockets.create({ ...request, externalId });
    return { kind: 'created', docketId };
  } catch (error) {
    const why = String(error);
    if (!(error instanceof RequestError) || error.mayHaveCreated) return { kind: 'unknown', why };
    if (!error.isPermanent) return { kind: 'later', why, afterMs: error.response?.retryAfterMs };
    const isSetting = [ConfigurationProblem, NotFound, Unauthorized].some((it) => error instanceof it);
    return { kind: isSetting ? 'halted' : 'refused', why };
  }
}

/**
 * Creates the docket, once: a claim is in the journal before anything is sent. Only the process that
 * made the claim may send, and does so once. Another one that replays the journal finds a claim that is
 * not its own, and knows no more than that the create may have been sent.
 */
async function create(ctx: restate.WorkflowContext, order: Order) {
  for (let round = 0; ; round++) {
    const claim = await ctx.run('claim', () => {
      if (isStopping) throw new Error('this process is stopping');
      const claim = randomUUID();
      unused.add(claim);
      return claim;
    });
    let isReplayed = true;
    const creation = await ctx.run<Creation>('create', async () => {
      isReplayed = false;
      if (unused.delete(claim)) begun.set(claim, send(order, ctx.key));
      return begun.get(claim) ?? { kind: 'unknown', why: 'the process that was to create it has ended' };
    });
    begun.delete(claim);
    if (creation.kind === 'created' || creation.kind === 'unknown') return creation;
    if (creation.kind === 'refused') throw new restate.TerminalError(creation.why, { errorCode: 422 });
    if (creation.kind === 'later') await ctx.sleep(creation.afterMs ?? Math.min(MINUTE_MS * 2 ** round, HOUR_MS));
    // A run that was paused and is resumed replays the create, passes here, and tries again.
    if (creation.kind === 'halted') {
      await ctx.run('halted', () => {
        if (!isReplayed) throw new restate.PauseError(creation.why);
      });
    }
  }
}

/** Waits for the completion of the docket, by the webhook or else by polls. */
async function complete(ctx: restate.WorkflowContext, docketId: string): Promise<Outcome> {
  const wait = (ms: number) => within(ms, ctx.promise<Completion>('completed').get());
  for (let waitedMs = 0, pauseMs = POLL_AFTER_MS; waitedMs < WAIT_MS; pauseMs = Math.min(2 * pauseMs, HOUR_MS)) {
    const completion = await wait(pauseMs);
    if (completion) return { state: 'completed', knownBy: 'webhook', docketId, insights: completion.insights };
    if (await ctx.run('poll', () => isCompleted(docketId))) {
      // Its webhook may be on the way, and only that has the insights.
      const late = await wait(10_000);
      return { state: 'completed', knownBy: 'poll', docketId, insights: late?.insights };
    }
    waitedMs += pauseMs;
  }
  return { state: 'timed-out', docketId };
}

/** Returns `false` also if the service cannot be asked: there will be another poll. */
async function isCompleted(docketId: string): Promise<boolean> {
  const wait = await client.dockets.waitFor(docketId, { timeoutMs: 1 }).catch(() => undefined);
  return wait?.outcome.kind === 'completed';
}

/** Asks a person whether there is a docket, unless its webhook comes first. */
async function ask(ctx: restate.WorkflowContext, why: string): Promise<Outcome> {
  ctx.set('question', why);
  ctx.console.warn(`${ctx.key}: is there a docket with this externalId? ${why}`);
  const answered = [ctx.promise<Answer>('answer').get(), ctx.promise<Completion>('completed').get()] as const;
  const answer = await within(WAIT_MS, restate.RestatePromise.race(answered));
  ctx.clear('question');
  if (!answer) return { state: 'unknown' };
  return 'docketId' in answer ? complete(ctx, answer.docketId) : { state: 'not-created', why: answer.notCreated };
}

/** Returns what a promise resolves to, or `undefined` if it takes longer. */
async function within<T>(ms: number, promise: restate.RestatePromise<T>): Promise<T | undefined> {
  try {
    return await promise.orTimeout(ms);
  } catch (error) {
    if (error instanceof restate.TimeoutError) return undefined;
    throw error;
  }
}

const docket = restate.workflow({
  name: 'docket',
  handlers: {
    async run(ctx: restate.WorkflowContext, order: Order): Promise<Outcome> {
      ctx.set('toPhoneNumber', order.toPhoneNumber);
      const creation = await create(ctx, order);
      return creation.kind === 'created' ? complete(ctx, creation.docketId) : ask(ctx, creation.why);
    },

    /** Takes the answer to the question whether there is a docket. */
    async answer(ctx: restate.WorkflowSharedContext, answer: Answer): Promise<void> {
      const refusal = (why: string) => new restate.TerminalError(why, { errorCode: 409 });
      if (!(await ctx.get('question'))) throw refusal('there is no open question');
      if ('docketId' in answer) {
        const externalId = await ctx.run('get', async () => (await client.dockets.get(answer.docketId)).externalId);
        if (externalId !== ctx.key) throw refusal(`the externalId of the docket is ${externalId}`);
      }
      await ctx.promise<Answer>('answer').resolve(answer);
    },

    /** Takes a completion that the service has confirmed. */
    completed: restate.handlers.workflow.shared(
      { ingressPrivate: true },
      async (ctx: restate.WorkflowSharedContext, completion: Completion): Promise<void> => {
        const promise = ctx.promise<Completion>('completed');
        const isOurs = completion.toPhoneNumber === (await ctx.get('toPhoneNumber'));
        if (isOurs && !(await promise.peek())) await promise.resolve(completion);
      },
    ),
  },
  options: { workflowRetention: KEYS_KEPT },
});

/** The endpoint for the service, which reports completed dockets there. */
const webhook = restate.service({
  name: 'webhook',
  handlers: {
    deliver: restate.handlers.handler(
      { input: restate.serde.binary, accept: '*/*' },
      async (ctx: restate.Context, delivery: Uint8Array): Promise<void> => {
        const retries = { initialRetryInterval: 1_000, maxRetryInterval: MINUTE_MS, maxRetryDuration: HOUR_MS };
        const completion = await ctx.run('verify', () => verify(delivery), retries);
        if (completion?.externalId) await ctx.workflowClient(docket, completion.externalId).completed(completion);
      },
    ),
  },
});

/** Returns what the service confirms of a delivery, or `undefined` if it is not the completion of a docket. */
async function verify(delivery: Uint8Array): Promise<Completion | undefined> {
  const verification = await client.webhooks.verify(delivery);
  if (verification.kind === 'not-a-completion') return undefined;
  const { docket, delivered, contradicted } = verification.value;
  // The service may report a docket before it shows it as completed.
  if (verification.kind === 'contradicted') throw new Error(`the docket contradicts ${contradicted}`);
  const { docketId, externalId, toPhoneNumber } = docket;
  return { docketId, externalId, toPhoneNumber, insights: delivered.callInsights };
}

const endpoint = restate.createEndpointHandler({
  services: [docket, webhook],
  defaultServiceOptions: {
    // A run that waits leaves this process soon. One that creates is not cut off.
    inactivityTimeout: { seconds: 1 },
    abortTimeout: 2 * DEADLINE_MS,
    asTerminalError: (error) =>
      error instanceof InvalidInput || error instanceof NotFound
        ? new restate.TerminalError(String(error), { errorCode: 400 })
        : undefined,
  },
});
http2.createServer(endpoint).listen(Number(process.env.PORT ?? 9080), '127.0.0.1');

/** Ends when everything that was sent is answered and in the journal. */
process.once('SIGTERM', async () => {
  isStopping = true;
  for (const until = Date.now() + DEADLINE_MS; unused.size + begun.size > 0 && Date.now() < until; ) await setTimeout(50);
  process.exit();
});
