/** A docket of the voice-calling service as a workflow on Restate: it is created once. README.md says how. */
import * as restate from '@restatedev/restate-sdk';
import { nextCallingTime } from 'voice-calling';
import type { DocketRequest } from 'voice-calling';
import { HOUR_MS, MINUTE_MS, claim, createOnce, forget, look } from './service.ts';
import type { Completion, Creation, Failed } from './service.ts';

/** How long a run tries to create, and how long it waits for the completion of its docket. */
const CREATE_MS = 30 * 24 * HOUR_MS;
const WAIT_MS = 72 * HOUR_MS;

/** What a run is started with, under the docket's `externalId`. */
export type Order = Omit<DocketRequest, 'externalId'> & {
  /** When nothing is created any more: milliseconds since 1970. */
  notAfterMs?: number;
  /** When the create may be sent, such as `mon-fri 09:30-18:00`, by the clock of `timeZone`. */
  hours?: string;
  timeZone?: string;
  /** How long the webhook is waited for before the first poll, ten minutes; doubled after each, up to an hour. */
  pollAfterMs?: number;
};
const FIELDS = ['agentId', 'toPhoneNumber', 'callContext', 'extra', 'notAfterMs', 'hours', 'timeZone', 'pollAfterMs'];

/** How a run ends; as `not-created` only if a person says so. */
export type Outcome =
  | ({ state: 'completed'; knownBy: 'webhook' | 'poll'; docketId: string } & Partial<Completion['delivered']>)
  | { state: 'open'; docketId: string }
  | { state: 'unanswered'; docketId: string; why: string }
  | { state: 'not-created'; why: string };

/** A person's answer to the question whether there is a docket, and its JSON. Nothing else may end a run. */
type Answer = { docketId: string } | { notCreated: string } | { createAgain: string };
const ANSWER = /^\{("docketId":"[\da-fA-F-]{36}"|"(notCreated|createAgain)":"([^"\\]|\\.)+")\}$/;

/** The codes of the errors of runs, beside those of HTTP. */
export const CANCELLED = 410;
export const terminal = (errorCode: number, why: string) => new restate.TerminalError(why, { errorCode });
const wrong = (field: string, found: unknown, allowed: string) =>
  terminal(422, `${field}: found ${JSON.stringify(found)?.slice(0, 100)}; allowed: ${allowed}`);

/** Checks what the package does not check before it creates. */
export function check(key: string, order: unknown): asserts order is Order {
  if (typeof order !== 'object' || order === null || Array.isArray(order)) throw wrong('the order', order, 'an object');
  const given = order as Record<string, unknown>;
  const unknown = Object.keys(given).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw terminal(422, `${unknown}: unknown field; allowed: ${FIELDS.join(', ')}`);
  const isOneText = key === key.normalize('NFC').trim() && !/[\p{C}\p{Zl}\p{Zp}]/u.test(key);
  if (!isOneText) throw wrong('the key', key, 'printable text in NFC, without space around it');
  for (const name of ['agentId', 'toPhoneNumber', 'callContext']) {
    if (given[name] === undefined) throw terminal(422, `${name}: missing`);
  }
  const { toPhoneNumber, notAfterMs = 1, pollAfterMs = 1, hours, timeZone } = given;
  if (typeof toPhoneNumber !== 'string') throw wrong('toPhoneNumber', toPhoneNumber, 'text');
  if (!Number.isSafeInteger(notAfterMs)) throw wrong('notAfterMs', notAfterMs, 'milliseconds since 1970');
  const isPause = Number.isSafeInteger(pollAfterMs) && Number(pollAfterMs) > 0 && Number(pollAfterMs) <= HOUR_MS;
  if (!isPause) throw wrong('pollAfterMs', pollAfterMs, '1 to 3600000');
  if (hours !== undefined || timeZone !== undefined) opening(given as Order, 0);
}

/** Returns when a call may begin that is due now. */
export function opening({ hours, timeZone }: { hours?: string; timeZone?: string }, nowMs: number): number {
  if (hours === undefined && timeZone === undefined) return nowMs;
  try {
    return Number(nextCallingTime(hours ?? '', timeZone ?? '', nowMs) ?? Infinity);
  } catch (error) {
    throw terminal(422, String(error));
  }
}

/** If the run is cancelled meanwhile, its error says what it had begun. */
async function unlessCancelled<T>(begun: string, part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch (error) {
    throw error instanceof restate.CancelledError ? terminal(CANCELLED, `cancelled; ${begun}`) : error;
  }
}

/** Pauses the run until a person resumes it, unless that has happened: it then replays, passes here, and goes on. */
async function pauseFor(ctx: restate.WorkflowContext, { kind, why }: Failed, isReplayed: boolean) {
  await ctx.run('fix-setting', () => {
    if (kind === 'fix-setting' && !isReplayed) throw new restate.PauseError(why);
  });
}

/**
 * Creates the docket, once: a claim is in the journal before anything is sent. Only the process that made
 * it sends, and does so once. A replay in another process knows only that the create may have been sent.
 */
async function create(ctx: restate.WorkflowContext, { notAfterMs, hours, timeZone, pollAfterMs, ...order }: Order) {
  const beganMs = await ctx.date.now();
  let backOffMs = MINUTE_MS;
  for (let nowMs = beganMs; ; nowMs = await ctx.date.now()) {
    const claimed = await ctx.run('claim', async () => {
      // Not what the journal says: the run may have been interrupted for hours.
      const claimMs = Date.now();
      const opensMs = opening({ hours, timeZone }, claimMs);
      if (opensMs > (notAfterMs ?? Infinity)) throw terminal(422, 'notAfterMs has passed');
      const afterMs = opensMs - claimMs;
      return afterMs > 0 ? { kind: 'not-begun', why: 'not within its hours', afterMs } : claim(ctx.key);
    });
    if (typeof claimed !== 'string') {
      if (nowMs - beganMs > CREATE_MS) throw terminal(504, `not created in 30 days: ${claimed.why}`);
      await ctx.sleep(claimed.afterMs);
      continue;
    }
    let isReplayed = true;
    const creating = ctx.run<Creation>('create', () => {
      isReplayed = false;
      return createOnce(ctx.key, claimed, { ...order, externalId: ctx.key });
    });
    let isCancelled = false;
    const creation = await creating.catch((error) => {
      if (!(error instanceof restate.CancelledError)) throw error;
      isCancelled = true;
      // What was sent gets its answer.
      return creating.map((it) => it!);
    });
    forget(ctx.key);
    if (creation.kind === 'unknown') creation.why = `sent at ${claimed.slice(0, 24)}; ${creation.why}`;
    if (isCancelled) throw terminal(CANCELLED, `cancelled; ${begunBy(creation)}`);
    if (creation.kind === 'created' || creation.kind === 'unknown') return creation;
    if (creation.kind === 'refused') throw terminal(422, creation.why);
    if (nowMs - beganMs > CREATE_MS) throw terminal(504, `not created in 30 days: ${creation.why}`);
    if (creation.kind === 'retry-later') await ctx.sleep(Math.max(backOffMs, creation.afterMs ?? 0));
    backOffMs = Math.min(2 * backOffMs, HOUR_MS);
    await pauseFor(ctx, creation, isReplayed);
  }
}

function begunBy(creation: Creation): string {
  if (creation.kind === 'created') return `docket ${creation.docketId} was created, and the service goes on with it`;
  return creation.kind === 'unknown' ? `a docket may have been created: ${creation.why}` : 'nothing was created';
}

/** Waits for the completion of the docket, by the webhook or else by polls. */
async function complete(ctx: restate.WorkflowContext, docketId: string, { pollAfterMs }: Order): Promise<Outcome> {
  const wait = (ms: number) =>
    completionOf(ctx, docketId).get().orTimeout(ms).map((completion, failure) => {
      if (failure && !(failure instanceof restate.TimeoutError)) throw failure;
      return completion;
    });
  let unanswered: Failed | undefined;
  let pauseMs = pollAfterMs ?? 10 * MINUTE_MS;
  for (let waitedMs = 0; waitedMs < WAIT_MS; pauseMs = Math.min(2 * pauseMs, HOUR_MS)) {
    const completion = await wait(pauseMs);
    if (completion) return { state: 'completed', knownBy: 'webhook', docketId, ...completion.delivered };
    let isReplayed = true;
    const seen = await ctx.run('poll', () => ((isReplayed = false), look(docketId)));
    unanswered = 'why' in seen ? seen : undefined;
    // Its webhook may be on the way, and only that has the insights.
    const isCompleted = 'isCompleted' in seen && seen.isCompleted;
    if (isCompleted) return { state: 'completed', knownBy: 'poll', docketId, ...(await wait(10_000))?.delivered };
    if (unanswered) await pauseFor(ctx, unanswered, isReplayed);
    waitedMs += pauseMs;
  }
  return unanswered ? { state: 'unanswered', docketId, why: unanswered.why } : { state: 'open', docketId };
}

/** The completion of a docket. */
const completionOf = (ctx: restate.WorkflowSharedContext, docketId: string) =>
  ctx.promise<Completion>(`completed-${docketId.toLowerCase()}`);

/** The answer to a question: a run has several if it creates again. */
const answerTo = (ctx: restate.WorkflowSharedContext, round: number | null) =>
  ctx.promise<Answer>(`answer-${round ?? 0}`);

/** Asks a person whether there is a docket, unless its webhook comes first. */
async function ask(ctx: restate.WorkflowContext, question: string, round: number): Promise<Answer> {
  ctx.set('round', round);
  ctx.set('question', question);
  ctx.console.warn(`${ctx.key}: is there a docket with this externalId? ${question}`);
  const answered = [answerTo(ctx, round).get(), ctx.promise<Completion>('completed').get()] as const;
  const answer = await restate.RestatePromise.race(answered);
  ctx.clear('question');
  return answer;
}

export const docket = restate.workflow({
  name: 'docket',
  handlers: {
    async run(ctx: restate.WorkflowContext, order: Order): Promise<Outcome> {
      check(ctx.key, order);
      ctx.set('toPhoneNumber', order.toPhoneNumber);
      for (let round = 0; ; round++) {
        const creation = await unlessCancelled('nothing was created', create(ctx, order));
        let answer: Answer = creation.kind === 'created' ? creation : { createAgain: '' };
        if (creation.kind !== 'created') {
          const asking = ask(ctx, `to ${order.toPhoneNumber}, ${creation.why}`, round);
          answer = await unlessCancelled(begunBy(creation), asking);
        }
        if ('notCreated' in answer) return { state: 'not-created', why: answer.notCreated };
        if ('createAgain' in answer) continue;
        const { docketId } = answer;
        return await unlessCancelled(begunBy({ kind: 'created', docketId }), complete(ctx, docketId, order));
      }
    },

    /** Takes the answer to the question whether there is a docket. It is final. */
    async answer(ctx: restate.WorkflowSharedContext, answer: Answer): Promise<void> {
      const allowed = 'one of docketId (UUID), notCreated, createAgain (who says so)';
      if (!ANSWER.test(JSON.stringify(answer))) throw terminal(400, `allowed: ${allowed}`);
      const promise = answerTo(ctx, await ctx.get('round'));
      const earlier = await promise.peek();
      if (earlier) throw terminal(409, `answered before: ${JSON.stringify(earlier)}`);
      const state = (await ctx.get('toPhoneNumber')) ? 'is creating, waiting or at an end' : 'has not begun';
      if ((await ctx.get('question')) === null) throw terminal(409, `no question: the run ${state}`);
      if ('docketId' in answer) {
        const seen = await ctx.run('look', () => look(answer.docketId));
        if ('why' in seen) throw terminal(409, seen.why);
        if (seen.externalId !== ctx.key) throw terminal(409, `the docket of another run, ${seen.externalId}`);
      }
      await promise.resolve(answer);
    },

    /** Takes a completion that the service has confirmed. */
    completed: restate.handlers.workflow.shared({ ingressPrivate: true }, async (ctx, completion: Completion) => {
      const isOurs = completion.toPhoneNumber === (await ctx.get('toPhoneNumber'));
      // A person may have had another docket created: each run waits for its own.
      for (const promise of [ctx.promise<Completion>('completed'), completionOf(ctx, completion.docketId)]) {
        if (isOurs && !(await promise.peek())) await promise.resolve(completion);
      }
      const answer = await answerTo(ctx, await ctx.get('round')).peek();
      const isDenied = isOurs && answer && !('docketId' in answer);
      if (isDenied) ctx.console.warn(`${ctx.key}: answered not created, but docket ${completion.docketId} completed`);
    }),
  },
  // How long a key is remembered after its run has ended. Later it could be called again.
  options: { workflowRetention: { days: 366 } },
});
