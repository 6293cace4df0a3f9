/** The tools, in the order in which agents read them: texts, parameters, and what each returns for an agent to read. */
import { WaitTimedOutError } from 'voice-calling';
import { flag, integer, json, key, object, optional, refuse, seconds, text, texts } from './arguments.js';
import { marked } from './json_text.js';

/** How many agents or calls a result has. */
const MOST_LISTED = 100;

const docketId = text("the docket's UUID");
const taskId = text("the call's task id");
const raw = optional(flag("true for the service's whole answer"));
const timeout = optional(seconds(1, 600, 'how long to wait, 1 to 600 seconds; 50 if absent'));
const callKey = key(
  'what the call is for, such as crm-1001-reminder; with the same key and arguments no telephone rings again, and you get what was created',
);

/**
 * What `run` gets beside the arguments: the client, the agents, the options of the client's functions, and
 * `leaving`, a signal that ends waits.
 */
export const TOOLS = [
  {
    name: 'list-agents',
    title: 'List voice agents',
    description: 'List the voice agents of an organization: id and name of each.',
    parameters: {
      'organization-id': optional(text("the organization's id; ask the user if you do not have it")),
      'name-part': optional(text('lists only agents whose name contains it, in any case')),
      raw,
    },
    async run(given, { agents, options }) {
      const organizationId = given['organization-id'] ?? agents.organizationId;
      if (!organizationId) refuse('organization-id', 'nothing', "an organization's id; ask the user for it");
      const list = await agents.list(organizationId, options);
      if (given.raw) return list.rawJson;
      const part = given['name-part']?.toLowerCase() ?? '';
      return listed('agents', list.agents.filter(({ agentName }) => agentName?.toLowerCase().includes(part) ?? part === '').map(brief.agent));
    },
  },
  {
    name: 'get-docket',
    title: 'Look at a docket',
    description:
      'Look at a docket, a task that needs one or more calls: status, number of calls made, why it was closed; not what the person said, which only its webhook has. COMPLETED means that no further call will be made.',
    parameters: { 'docket-id': docketId, raw },
    async run(given, { client, options }) {
      const docket = await client.dockets.get(given['docket-id'], options);
      return given.raw ? docket.rawJson : brief.docket(docket);
    },
  },
  {
    name: 'wait-for-docket',
    title: 'Wait for a docket',
    description:
      'Wait until a docket is completed, then return what get-docket returns. Calls may take hours: pending is a normal answer, and asking again rings no one.',
    parameters: { 'docket-id': docketId, 'timeout-s': timeout },
    run: (given, context) =>
      waited(given, context, (options) => context.client.dockets.wait(given['docket-id'], options), brief.docket),
  },
  {
    name: 'get-call',
    title: 'Look at a call',
    description:
      "Look at a call: status, seconds, the person's interest, next action. Not found means not yet known, until the call is over, or an unknown id.",
    parameters: { 'task-id': taskId, raw },
    async run(given, { client, options }) {
      const details = await client.calls.get(given['task-id'], options);
      return given.raw ? details.rawJson : brief.calls(details);
    },
  },
  {
    name: 'wait-for-call',
    title: 'Wait for a call',
    description:
      'Wait until a call is over, then return what get-call returns. pending is a normal answer, also for an unknown id; asking again rings no one.',
    parameters: { 'task-id': taskId, 'timeout-s': timeout },
    run: (given, context) =>
      waited(given, context, (options) => context.client.calls.wait(given['task-id'], options), brief.calls),
  },
  {
    name: 'verify-docket-completed',
    title: 'Verify a webhook delivery',
    description:
      'Verify a webhook delivery, which anyone may have sent, by asking the service. verdict is confirmed, contradicted (do not act on it) or not-a-completion; with it what get-docket returns, and the members of the delivery that are unverified or contradicted.',
    parameters: { body: json('the delivery, as it was received') },
    async run({ body }, { client, options }) {
      const { kind: verdict, contradicted, unverified, docket } = await client.webhooks.verify(body, options);
      return docket ? { verdict, contradicted, unverified, ...brief.docket(docket) } : { verdict };
    },
  },
  {
    name: 'create-docket-and-call',
    title: 'Call a person until someone answers',
    rings: true,
    description:
      "RINGS A PERSON'S TELEPHONE and costs money. Creates a docket: the service calls until someone answers or its attempts are exhausted. wait-for-docket tells how it ended, not what was said: for that use place-call.",
    parameters: {
      key: callKey,
      'agent-id': integer('from list-agents'),
      'to-phone-number': text('12 digits with the country code, such as 910000000000'),
      'call-context': object('what the voice agent should know'),
      'external-id': optional(text('an identifier of yours, such as a CRM id')),
    },
    agent: (given, { agents, options }) => agents.described(given['agent-id'], options),
    async run(given, { client, options }) {
      const request = {
        agentId: given['agent-id'],
        toPhoneNumber: given['to-phone-number'],
        callContext: given['call-context'],
        externalId: given['external-id'],
      };
      const docket = await client.dockets.create(request, { ...options, key: given.key });
      return { docket_id: docket.docketId, status: docket.status, from_ledger: docket.fromLedger };
    },
  },
  {
    name: 'place-call',
    title: 'Call a person once',
    rings: true,
    description:
      "RINGS A PERSON'S TELEPHONE and costs money. Places one call, without retries if the person does not answer. wait-for-call returns how it went.",
    parameters: {
      key: callKey,
      'agent-name': text('from list-agents'),
      'to-phone-number': text('with the country code, such as 910000000000'),
      'call-context': optional(texts('what the voice agent should know; all values are text')),
    },
    agent: (given) => given['agent-name'],
    async run(given, { client, options }) {
      const context = given['call-context'];
      const request = {
        fromAgentName: given['agent-name'],
        toPhoneNumber: given['to-phone-number'],
        callContext: context && JSON.parse(context),
      };
      const call = await client.calls.make(request, { ...options, key: given.key });
      return { task_id: call.taskId, from_ledger: call.fromLedger };
    },
  },
];

async function waited(given, { options, leaving }, wait, inBrief) {
  const timeoutMs = (given['timeout-s'] ?? 50) * 1000;
  try {
    const last = await wait({ ...options, timeoutMs, signal: AbortSignal.any([options.signal, leaving]) });
    return { outcome: 'completed', ...inBrief(last) };
  } catch (error) {
    if (leaving.aborted) return { outcome: 'pending' };
    if (!(error instanceof WaitTimedOutError)) throw error;
    return { outcome: 'pending', ...(error.last && inBrief(error.last)) };
  }
}

/** A list of at most so many elements, and how many are left out. */
function listed(name, elements) {
  const rest = elements.length - MOST_LISTED;
  return { [name]: elements.slice(0, MOST_LISTED), ...(rest > 0 && { not_listed: rest }) };
}

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
  calls({ calls, rawJson }) {
    const exact = [marked(rawJson)].flat();
    return listed('calls', calls.map((it, index) => brief.call(it, exact[index])));
  },
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
