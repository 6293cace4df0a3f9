/**
 * The tools, in the order in which agents read them: names, texts and parameters, which are those of
 * `wit/tools/tools.wit`, and what each does with a client, and returns for an agent to read.
 */
import { randomUUID } from 'node:crypto';
import { WaitTimedOutError } from 'voice-calling';
import { z } from 'zod';

/** Integers that a JSON number cannot hold exactly are taken as texts. */
const integer = z.union([z.int(), z.string().regex(/^-?\d{1,19}$/)]);

const docketId = z.string().describe("the docket's UUID");
const raw = z.boolean().optional().describe("true for the service's whole answer");

export const TOOLS = {
  'list-agents': {
    rings: false,
    description: 'List the voice agents of an organization: id and name of each.',
    parameters: {
      'organization-id': z.string().describe("the organization's id; ask the user if you do not have it"),
      raw,
    },
    async run(client, given, options) {
      const list = await client.agents.list(given['organization-id'], options);
      return given.raw ? list.rawJson : { agents: list.agents.map(brief.agent) };
    },
  },
  'get-docket': {
    rings: false,
    description:
      'Look at a docket, a task that needs one or more calls: status, number of calls made, why it was closed; not what the person said, which only its webhook has. COMPLETED means that no further call will be made.',
    parameters: { 'docket-id': docketId, raw },
    async run(client, given, options) {
      const docket = await client.dockets.get(given['docket-id'], options);
      return given.raw ? docket.rawJson : brief.docket(docket);
    },
  },
  'wait-for-docket': {
    rings: false,
    description:
      'Wait until a docket is completed, then return what get-docket returns. Calls may take hours: pending is a normal answer, and asking again rings no one.',
    parameters: {
      'docket-id': docketId,
      'timeout-s': z.int().min(1).max(600).optional().describe('how long to wait, 1 to 600 seconds; 50 if absent; keep it below your own timeout'),
    },
    async run(client, given, options) {
      const timeoutMs = (given['timeout-s'] ?? 50) * 1000;
      try {
        const docket = await client.dockets.wait(given['docket-id'], { ...options, timeoutMs });
        return { outcome: 'completed', ...brief.docket(docket) };
      } catch (error) {
        if (!(error instanceof WaitTimedOutError)) throw error;
        return { outcome: 'pending', ...(error.last && brief.docket(error.last)) };
      }
    },
  },
  'get-call': {
    rings: false,
    description:
      "Look at a call: status, seconds, the person's interest, next action. Not found means not yet known, until the call is over, or an unknown id.",
    parameters: { 'task-id': z.string().describe("the call's task id"), raw },
    async run(client, given, options) {
      const details = await client.calls.get(given['task-id'], options);
      const exact = [marked(details.rawJson)].flat();
      return given.raw ? details.rawJson : { calls: details.calls.map((it, index) => brief.call(it, exact[index])) };
    },
  },
  'verify-docket-completed': {
    rings: false,
    description:
      'Verify a webhook delivery, which anyone may have sent, by asking the service. verdict is confirmed, contradicted (do not act on it) or not-a-completion; with it what get-docket returns, and the members of the delivery that are unverified or contradicted.',
    parameters: { body: z.string().describe('the delivery, as it was received') },
    async run(client, { body }, options) {
      const { kind: verdict, contradicted, unverified, docket } = await client.webhooks.verify(body, options);
      if (!docket) return { verdict };
      return { verdict, contradicted, unverified, ...brief.docket(docket) };
    },
  },
  'create-docket-and-call': {
    rings: true,
    description:
      "RINGS A PERSON'S TELEPHONE and costs money. Creates a docket: the service calls until someone answers or its attempts are exhausted. Calling this again calls the person again, whatever the external id. If the error says that the outcome is unknown, a phone may be ringing: do not repeat, ask a person.",
    parameters: {
      'agent-id': integer.describe('from list-agents'),
      'to-phone-number': z.string().describe('12 digits with the country code, such as 910000000000'),
      'call-context': z.string().describe('text of a JSON object with what the voice agent should know'),
      'external-id': z.string().optional().describe('an identifier of yours, such as a CRM id; it does not prevent a second call'),
    },
    async run(client, given, options) {
      const request = {
        agentId: BigInt(given['agent-id']),
        toPhoneNumber: given['to-phone-number'],
        callContext: given['call-context'],
        externalId: given['external-id'],
      };
      const docket = await client.dockets.create(request, options);
      return { docket_id: docket.docketId, status: docket.status, may_be_duplicate: docket.mayBeDuplicate };
    },
  },
  'place-call': {
    rings: true,
    description:
      "RINGS A PERSON'S TELEPHONE and costs money. Places one call, without retries if the person does not answer; otherwise prefer create-docket-and-call. Calling this again calls the person again. If the error says that the outcome is unknown, a phone may be ringing: do not repeat, ask a person.",
    parameters: {
      'agent-name': z.string().describe('from list-agents'),
      'to-phone-number': z.string().describe('with the country code, such as 910000000000'),
      'call-context': z.string().optional().describe('text of a JSON object whose values are strings: what the voice agent should know'),
    },
    async run(client, given, options) {
      const request = {
        fromAgentName: given['agent-name'],
        toPhoneNumber: given['to-phone-number'],
        callContext: contextOfCall(given['call-context']),
      };
      const call = await client.calls.make(request, options);
      return { task_id: call.taskId, may_be_duplicate: call.mayBeDuplicate };
    },
  },
};

/** What an agent needs of a docket, a call, an agent. Everything else is there with `raw`. */
const brief = {
  docket: ({ docketId, status, toPhoneNumber, outboundCallCount, closureReason, closedAt, callContext, externalId, rawJson }) => ({
    docket_id: docketId,
    status,
    to_phone_number: toPhoneNumber,
    calls: outboundCallCount,
    closure_reason: closureReason,
    closed_at: closedAt,
    call_context: callContext && marked(rawJson).call_context,
    external_id: externalId,
  }),
  call: ({ callStatus, callDurationS, toNumber, callInsights }, exact) => ({
    status: callStatus,
    seconds: callDurationS,
    to_number: toNumber,
    interest: callInsights?.userInterest?.status,
    next_action: callInsights?.nextAction?.value,
    metadata: callInsights?.metadata && exact.call_insights.metadata,
  }),
  agent: ({ agentId, agentName }) => ({ agent_id: agentId, agent_name: agentName }),
};

function contextOfCall(text) {
  if (text === undefined) return undefined;
  try {
    const context = JSON.parse(text);
    const isFlat = Object.values(context).every((value) => typeof value === 'string') && !Array.isArray(context);
    // A name that comes again is a string before a colon more than there are members.
    const names = text.match(/"(?:[^"\\]|\\.)*"(?=\s*:)/g) ?? [];
    if (isFlat && names.length === Object.keys(context).length) return context;
  } catch {
    // Said below.
  }
  const found = JSON.stringify(text.slice(0, 40));
  throw new TypeError(`call-context: found ${found}; allowed: a JSON object whose values are strings, each name once`);
}

/** Free-form JSON keeps its digits: its numbers are texts with this mark until they are written. */
const MARK = `${randomUUID()}:`;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const marked = (json) => JSON.parse(json.replace(TOKENS, (it) => (it.startsWith('"') ? it : `"${MARK}${it}"`)));

/** What a tool returned, as text. */
export const text = (value) =>
  typeof value === 'string' ? value : JSON.stringify(value).replaceAll(new RegExp(`"${MARK}([^"]*)"`, 'g'), '$1');
