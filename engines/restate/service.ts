/** The voice-calling service: creates, each of which this process sends once, and what it says of dockets. */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Breaker, NotBegunError, VoiceCallingError, VoiceClient } from 'voice-calling';
import type { Docket, DocketInsights, DocketRequest, NextStep } from 'voice-calling';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
/** How long a create may take. */
export const DEADLINE_MS = 30_000;
/** How long a create waits for those in flight, before its run sleeps. */
const LONGEST_TURN_MS = 20_000;
/** How long a claim keeps its turn without a create. */
const TURN_MS = DEADLINE_MS;
/** For how long no create is begun after too many have failed; doubled until one succeeds, up to an hour. */
const PAUSE_MS = MINUTE_MS;

const client = new VoiceClient({ createRetry: 'not-sent', timeoutMs: DEADLINE_MS });

/** What became of a create. If that is `unknown`, a phone may be ringing. */
export type Creation = { kind: 'created'; docketId: string } | Failed;
/** Why a create was not begun, and for how long. */
export type NotBegun = { kind: 'not-begun'; why: string; afterMs: number };
/** What follows from a failure, and how long the service asks to wait. */
export type Failed = { kind: NextStep; why: string; afterMs?: number };

/** A completion that the service has confirmed, except for what was `delivered`; its `rawJson` has all digits. */
export type Completion = Pick<Docket, 'docketId' | 'externalId' | 'toPhoneNumber'> & {
  delivered: { insights?: DocketInsights; rawJson: string };
};

const breaker = new Breaker();
let pauseMs = PAUSE_MS;
let opensAtMs: number | undefined;
let isStopping = false;
let ended = Promise.withResolvers<void>();

/** Returns why a create may not begin now; otherwise it begins. */
async function begin(): Promise<NotBegun | undefined> {
  for (const latestMs = performance.now() + LONGEST_TURN_MS; ; ) {
    const decision = breaker.decide();
    const nowMs = performance.now();
    if (decision === 'begin') return undefined;
    if (decision === 'wait') {
      const why = 'creates in flight have to end first';
      if (isStopping || nowMs >= latestMs) return { kind: 'not-begun', why, afterMs: PAUSE_MS / 6 };
      await Promise.race([ended.promise, setTimeout(1_000)]);
    } else if (opensAtMs === undefined) {
      opensAtMs = nowMs + pauseMs;
      pauseMs = Math.min(2 * pauseMs, 60 * PAUSE_MS);
      console.error(`no docket is created for a while: ${breaker.reason}`);
    } else if (nowMs < opensAtMs) {
      return { kind: 'not-begun', why: breaker.reason!, afterMs: opensAtMs - nowMs };
    } else {
      opensAtMs = undefined;
      breaker.resume();
    }
  }
}

function end(failure?: VoiceCallingError) {
  if (failure) breaker.onFailure(failure);
  else breaker.onSuccess();
  pauseMs = failure ? Math.max(pauseMs, failure.retryAfterMs ?? 0) : PAUSE_MS;
  ended.resolve();
  ended = Promise.withResolvers();
}

const failed = (error: unknown): Failed =>
  error instanceof VoiceCallingError
    ? { kind: error.nextStep, why: String(error), afterMs: error.retryAfterMs }
    : { kind: 'unknown', why: String(error) };

/** Sends a create. Never rejects: Restate would run it again. */
async function send(request: DocketRequest): Promise<Creation> {
  try {
    const { docketId } = await client.dockets.create(request);
    end();
    return { kind: 'created', docketId };
  } catch (error) {
    end(error instanceof VoiceCallingError ? error : new VoiceCallingError(String(error)));
    return failed(error);
  }
}

/** The creates of this process that are not in the journal yet, by the keys of their runs; none until it is sent. */
const creates = new Map<string, Own>();
type Own = { claim: string; turn?: NodeJS.Timeout; creation?: Promise<Creation> };

/** Gives up the turn of a claim that is not sent: it is not sent any more. */
function giveUp(own: Own): void {
  const why = 'its turn was not taken';
  own.creation = Promise.resolve({ kind: 'retry-later', why });
  end(new NotBegunError(why));
}

/** Makes a claim as soon as a create may begin. Its turn ends if the create does not follow soon. */
export async function claim(key: string): Promise<string | NotBegun> {
  if (isStopping) throw new Error('this process is stopping');
  const wait = await begin();
  if (wait) return wait;
  forget(key);
  const claim = `${new Date().toISOString()} ${randomUUID()}`;
  const own: Own = { claim };
  own.turn = globalThis.setTimeout(giveUp, TURN_MS, own).unref();
  creates.set(key, own);
  return claim;
}

/** Sends the create of a claim. A process that did not make the claim knows only that it may have been sent. */
export async function createOnce(key: string, claim: string, request: DocketRequest): Promise<Creation> {
  const own = creates.get(key);
  if (own?.claim !== claim) return { kind: 'unknown', why: 'the process that was to create it has ended' };
  clearTimeout(own.turn);
  return (own.creation ??= send(request));
}

/** Forgets a claim whose create is in the journal, or that is not there itself. */
export function forget(key: string): void {
  const own = creates.get(key);
  creates.delete(key);
  if (!own || own.creation) return;
  clearTimeout(own.turn);
  giveUp(own);
}

/** Ends the process when everything that was sent is answered and in the journal. */
export async function stop(): Promise<never> {
  isStopping = true;
  for (const until = Date.now() + DEADLINE_MS; creates.size > 0 && Date.now() < until; ) await setTimeout(50);
  process.exit();
}

/** Returns whether the docket is completed, or why the service does not say. */
export async function look(docketId: string): Promise<{ isCompleted: boolean; externalId?: string } | Failed> {
  try {
    const verification = await client.webhooks.verify(JSON.stringify({ docket_id: docketId, status: 'COMPLETED' }));
    const externalId = verification.kind === 'not-a-completion' ? undefined : verification.docket.externalId;
    return { isCompleted: verification.kind === 'confirmed', externalId };
  } catch (error) {
    return failed(error);
  }
}

/** Returns what the service confirms of a delivery, or `undefined` if it is not the completion of a docket. */
export async function verify(body: Uint8Array): Promise<Completion | undefined> {
  const verification = await client.webhooks.verify(body);
  if (verification.kind === 'not-a-completion') return undefined;
  const { docket, contradicted, delivered: { callInsights: insights, rawJson } } = verification;
  // The service may report a docket before it shows it as completed.
  if (verification.kind === 'contradicted') throw new Error(`the docket contradicts ${contradicted}`);
  const { docketId, externalId, toPhoneNumber } = docket;
  return { docketId, externalId, toPhoneNumber, delivered: { insights, rawJson } };
}
