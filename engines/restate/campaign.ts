/** A campaign: many dockets, of which a bounded number is open, within hours and at a pace. */
import * as restate from '@restatedev/restate-sdk';
import { normalizeNumber } from 'voice-calling';
import { CANCELLED, check, docket, opening, terminal } from './docket.ts';
import type { Order } from './docket.ts';

type Pace = { maxOpen: number; perMinute?: number; hours?: string; timeZone?: string };
type Contact = Order & { externalId: string };
type Plan = Pace & { contacts: Contact[]; doNotCall?: string[] };
type Ended = { externalId: string; state: string; why?: string };

/** How many dockets ended in which state, and why those that were not completed were not. */
type Report = { counts: Record<string, number>; reasons: Record<string, string>; open: number };

/** The contacts are kept in parts, so that a step reads few of them. */
const PART = 100;
const FIELDS = ['contacts', 'maxOpen', 'perMinute', 'doNotCall', 'hours', 'timeZone'];

/** Checks a plan, and returns the numbers that must not be called. */
function checkPlan(plan: Plan): Set<string> {
  const unknown = Object.keys(plan ?? {}).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw terminal(422, `${unknown}: unknown field; allowed: ${FIELDS.join(', ')}`);
  if (!Array.isArray(plan?.contacts)) throw terminal(422, 'contacts: allowed: a list');
  if (!Number.isSafeInteger(plan.maxOpen) || plan.maxOpen < 1) throw terminal(422, 'maxOpen: allowed: 1 or more');
  const { perMinute = 1, doNotCall = [] } = plan;
  if (!(perMinute >= 0.01 && perMinute <= 100_000)) throw terminal(422, 'perMinute: allowed: 0.01 to 100000');
  if (!Array.isArray(doNotCall)) throw terminal(422, 'doNotCall: allowed: a list');
  opening(plan, 0);
  return new Set(doNotCall.map((number) => normalizeNumber(String(number))));
}

/** Returns the contacts that may be called, each once, and how the others ended. */
function sort(plan: Plan, doNotCall: Set<string>): { contacts: Contact[]; refused: Ended[] } {
  const contacts = new Map<string, Contact>();
  const refused: Ended[] = [];
  for (const [index, contact] of plan.contacts.entries()) {
    const { externalId: given, ...order } = contact ?? {};
    const externalId = typeof given === 'string' && given !== '' ? given : `contacts[${index}]`;
    try {
      if (externalId !== given) throw terminal(422, 'externalId: allowed: text that is not empty');
      check(externalId, order);
      if (doNotCall.has(order.toPhoneNumber)) refused.push({ externalId, state: 'do-not-call' });
      else if (!contacts.has(externalId)) contacts.set(externalId, contact);
    } catch (error) {
      refused.push({ externalId, state: 'refused', why: (error as Error).message });
    }
  }
  return { contacts: [...contacts.values()], refused };
}

function add(report: Report, { externalId, state, why }: Ended) {
  report.counts[state] = (report.counts[state] ?? 0) + 1;
  if (why) report.reasons[externalId] = `${state}: ${why.slice(0, 200)}`;
}

const reported = async (ctx: restate.ObjectSharedContext) =>
  (await ctx.get<Report>('report')) ?? { counts: {}, reasons: {}, open: 0 };

export const campaign = restate.object({
  name: 'campaign',
  handlers: {
    async start(ctx: restate.ObjectContext, plan: Plan): Promise<void> {
      const doNotCall = checkPlan(plan);
      if (await ctx.get('pace')) throw terminal(409, 'this campaign was started before');
      const { contacts, refused } = sort(plan, doNotCall);
      const report = await reported(ctx);
      for (const ended of refused) add(report, ended);
      const { maxOpen, perMinute, hours, timeZone } = plan;
      ctx.set<Pace>('pace', { maxOpen, perMinute, hours, timeZone });
      ctx.set('report', report);
      ctx.set('waiting', contacts.length);
      for (let at = 0; at < contacts.length; at += PART) ctx.set(`part-${at / PART}`, contacts.slice(at, at + PART));
      ctx.set('next', 0);
      ctx.objectSendClient(campaign, ctx.key).step();
    },

    /** Begins the next dockets, and sends for the next step: each is a short invocation, however long the list is. */
    step: restate.handlers.object.exclusive({ ingressPrivate: true }, async (ctx) => {
      const { maxOpen, perMinute, hours, timeZone } = (await ctx.get<Pace>('pace'))!;
      const [next, waiting] = [(await ctx.get<number>('next'))!, (await ctx.get<number>('waiting'))!];
      const report = await reported(ctx);
      const free = Math.min(maxOpen - report.open, waiting, PART - (next % PART));
      ctx.set('isIdle', free === 0 && waiting > 0);
      if (free === 0) return;
      const nowMs = await ctx.date.now();
      const step = (delay: number) => ctx.objectSendClient(campaign, ctx.key).step(restate.rpc.sendOpts({ delay }));
      const opensMs = opening({ hours, timeZone }, nowMs);
      if (opensMs > nowMs) return void step(opensMs - nowMs);
      const part = (await ctx.get<Contact[]>(`part-${Math.floor(next / PART)}`))!;
      const begun = part.slice(next % PART).slice(0, perMinute ? 1 : free);
      for (const { externalId, ...order } of begun) {
        const own = order.hours === undefined && order.timeZone === undefined ? { hours, timeZone } : {};
        ctx.serviceSendClient(contact).call({ campaign: ctx.key, externalId, order: { ...order, ...own } });
      }
      ctx.set('report', { ...report, open: report.open + begun.length });
      ctx.set('next', next + begun.length);
      ctx.set('waiting', waiting - begun.length);
      step(perMinute ? 60_000 / perMinute : 0);
    }),

    settled: restate.handlers.object.exclusive({ ingressPrivate: true }, async (ctx, ended: Ended) => {
      const report = await reported(ctx);
      add(report, ended);
      ctx.set('report', { ...report, open: report.open - 1 });
      if (!(await ctx.get('isIdle'))) return;
      ctx.set('isIdle', false);
      ctx.objectSendClient(campaign, ctx.key).step();
    }),

    /** Begins no further docket. Those that are open go on. */
    async stop(ctx: restate.ObjectContext): Promise<void> {
      ctx.set('waiting', 0);
    },

    /** What is begun meanwhile is read after what waits, so that no contact is in neither. */
    progress: restate.handlers.object.shared(async (ctx) => {
      const waiting = (await ctx.get<number>('waiting')) ?? 0;
      return { ...(await reported(ctx)), waiting };
    }),
  },
  options: { enableLazyState: true },
});

/** Waits for the docket of a contact, and reports its end to the campaign. */
export const contact = restate.service({
  name: 'contact',
  handlers: {
    async call(ctx: restate.Context, given: { campaign: string; externalId: string; order: Order }): Promise<void> {
      const { externalId, order } = given;
      let ended: Ended;
      try {
        const outcome = await ctx.workflowClient(docket, externalId).run(order);
        ended = { externalId, state: outcome.state, why: 'why' in outcome ? outcome.why : undefined };
      } catch (error) {
        if (!(error instanceof restate.TerminalError)) throw error;
        const states: Record<number, string> = { 409: 'known-before', [CANCELLED]: 'cancelled' };
        const code = error instanceof restate.CancelledError ? CANCELLED : error.code;
        ended = { externalId, state: states[code] ?? 'refused', why: error.message };
      }
      ctx.objectSendClient(campaign, given.campaign).settled(ended);
    },
  },
  options: { ingressPrivate: true },
});
