#!/usr/bin/env node
/**
 * The client of the voice-calling service as tools for AI agents, over MCP on stdin and stdout.
 * Names, texts and parameters are those of `wit-tools/tools.wit` (`tools.js`).
 */
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { InvalidInput, NotFound, Rejected, Unauthorized, VoiceClient } from 'voice-calling';
import { z } from 'zod';
import { TOOLS } from './tools.js';

const USAGE = `usage: voice-calling-mcp [--read-only]

Settings are the variables of the client: VOICE_CALLING_BASE_URL, VOICE_CALLING_API_TOKEN, …
--read-only leaves out the tools that make a telephone ring.`;

/** Free-form JSON keeps its digits: its numbers are texts with this mark until they are written. */
const MARK = `${randomUUID()}:`;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const marked = (json) => JSON.parse(json.replace(TOKENS, (it) => (it.startsWith('"') ? it : `"${MARK}${it}"`)));
const text = (value) =>
  typeof value === 'string' ? value : JSON.stringify(value, digits).replaceAll(new RegExp(`"${MARK}([^"]*)"`, 'g'), '$1');
const digits = (_, value) => (typeof value === 'bigint' ? value.toString() : value);

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

/** What each tool does: takes its arguments, returns what is shown. */
const functions = (client) => ({
  'list-agents': async (given, options) => {
    const list = await client.agents.list(given['organization-id'], options);
    return given.raw ? list.rawJson : { agents: list.agents.map(brief.agent) };
  },
  'get-docket': async (given, options) => {
    const docket = await client.dockets.get(given['docket-id'], options);
    return given.raw ? docket.rawJson : brief.docket(docket);
  },
  'wait-for-docket': async (given, options) => {
    const timeoutMs = (given['timeout-s'] ?? 50) * 1000;
    const { outcome } = await client.dockets.waitFor(given['docket-id'], { ...options, timeoutMs });
    return { outcome: outcome.kind, ...(outcome.value && brief.docket(outcome.value)) };
  },
  'get-call': async (given, options) => {
    const details = await client.calls.getDetails(given['task-id'], options);
    const exact = [marked(details.rawJson)].flat();
    return given.raw ? details.rawJson : { calls: details.calls.map((it, index) => brief.call(it, exact[index])) };
  },
  'verify-docket-completed': async ({ body }, options) => {
    const { kind: verdict, value } = await client.webhooks.verify(body, options);
    if (!value) return { verdict };
    const { contradicted, unverified, docket } = value;
    return { verdict, contradicted, unverified, ...brief.docket(docket) };
  },
  'create-docket-and-call': async (given, options) => {
    const request = {
      agentId: given['agent-id'],
      toPhoneNumber: given['to-phone-number'],
      callContext: given['call-context'],
      externalId: given['external-id'],
    };
    const docket = await client.dockets.create(request, options);
    return { docket_id: docket.docketId, status: docket.status, may_be_duplicate: docket.mayBeDuplicate };
  },
  'place-call': async (given, options) => {
    const request = {
      fromAgentName: given['agent-name'],
      toPhoneNumber: given['to-phone-number'],
      callContext: contextOfCall(given['call-context']),
    };
    const call = await client.calls.make(request, options);
    return { task_id: call.taskId, may_be_duplicate: call.mayBeDuplicate };
  },
});

function contextOfCall(text) {
  if (text === undefined) return undefined;
  try {
    const context = JSON.parse(text);
    if (Object.values(context).every((value) => typeof value === 'string') && !Array.isArray(context)) return context;
  } catch {
    // Said below.
  }
  throw new TypeError(`call-context: found ${text.slice(0, 40)}; allowed: a JSON object whose values are strings`);
}

const kinds = { bool: z.boolean(), string: z.string(), u32: z.int().min(1).max(600), s64: z.int() };

/** Unknown arguments are refused: an agent that invents one expects something of it. */
const schema = ({ parameters }) =>
  z.strictObject(
    Object.fromEntries(
      parameters.map(({ name, kind, optional, description }) => {
        const type = optional ? kinds[kind].optional() : kinds[kind];
        return [name, type.describe(description)];
      }),
    ),
  );

const failed = (message) => ({ isError: true, content: [{ type: 'text', text: message }] });

/** As much of the service's answer as an agent reads of a refusal. */
const MOST_SHOWN = 300;

/** What an agent reads of an error: what happened, and what to do. */
function advice(error, rings) {
  if (error.mayHaveCreated) {
    return `OUTCOME UNKNOWN: ${error.message}. A telephone may be ringing. Do not repeat this call; ask a person.`;
  }
  // The client names its own arguments: `toPhoneNumber` is the tool's `to-phone-number`.
  const subject = error instanceof InvalidInput ? error.problem.subject : '';
  const name = subject.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const isRefusal = error instanceof Rejected || error instanceof NotFound;
  const reason = isRefusal && error.response.body ? `: ${error.response.body.slice(0, MOST_SHOWN)}` : '';
  const said = error.message.replace(subject, name) + reason;
  return rings ? `${said}. Nothing was created; ${next(error)}.` : `${said}; ${next(error)}.`;
}

function next(error) {
  const wait = error.response?.retryAfterMs;
  if (error.isPermanent === false) return wait ? `try again in ${Math.ceil(wait / 1000)} s` : 'try again later';
  if (error instanceof Unauthorized) return 'a person has to correct VOICE_CALLING_API_TOKEN';
  if (error instanceof NotFound) return 'the id is unknown, or not known yet';
  return 'the same call will fail again';
}

/** A person may be slow; without a limit of its own the protocol's client gives up after a minute. */
const CONFIRMATION_MS = 600_000;

/** Quoted, so that it is seen where it ends; cut where it is long. */
const shown = (value) => JSON.stringify(value.length > 200 ? `${value.slice(0, 200)}…` : value);

/**
 * Asks the person, where the program that the agent runs in can show a form. Returns why nothing may
 * be sent, or nothing.
 */
async function refusal(server, tool, given, signal) {
  if (!server.server.getClientCapabilities()?.elicitation?.form) return undefined;
  const request = {
    message:
      `${tool}: call ${shown(given['to-phone-number'])} by agent ${shown(given['agent-id'] ?? given['agent-name'])}, ` +
      `who is told ${shown(given['call-context'] ?? 'nothing')}? A telephone will ring.`,
    requestedSchema: {
      type: 'object',
      properties: { call: { type: 'boolean', title: 'Call', description: 'Let the telephone ring' } },
      required: ['call'],
    },
  };
  const { action, content } = await server.server.elicitInput(request, { signal, timeout: CONFIRMATION_MS });
  if (action === 'accept' && content?.call === true) return undefined;
  return action === 'cancel'
    ? 'A person closed the question without an answer. Nothing was created; ask them before you try again.'
    : 'A person declined. Nothing was created; do not ask again for the same call.';
}

function serve(client, readOnly) {
  const server = new McpServer({ name: 'voice-calling', version: '0.2.0' });
  const run = functions(client);
  for (const tool of TOOLS) {
    const { name, rings } = tool;
    if (rings && readOnly) continue;
    const annotations = { readOnlyHint: !rings, destructiveHint: rings, idempotentHint: !rings, openWorldHint: true };
    const config = { description: tool.description, inputSchema: schema(tool), annotations };
    server.registerTool(name, config, async (given, { signal }) => {
      try {
        const refused = rings && (await refusal(server, name, given, signal));
        if (refused) return failed(refused);
        return { content: [{ type: 'text', text: text(await run[name](given, { signal })) }] };
      } catch (error) {
        // An agent that has given up reads no answer.
        if (error.mayHaveCreated) console.error(`voice-calling-mcp: ${name}: ${advice(error, rings)}`);
        return failed(advice(error, rings));
      }
    });
  }
  return server.connect(new StdioServerTransport());
}

/** What may have been created is never sent again: an agent that sees an error asks a person. */
function createRetry() {
  const found = process.env.VOICE_CALLING_CREATE_RETRY ?? 'not-sent';
  if (found === 'not-sent' || found === 'never') return found;
  throw new Error(`VOICE_CALLING_CREATE_RETRY: found ${found}; allowed: not-sent, never`);
}

/** The client checks the values of settings in its first call: in this one, which is not sent. */
async function checkSettings(client) {
  await client.agents.list('').catch((error) => {
    if (!(error instanceof InvalidInput)) throw error;
  });
}

if (process.argv.includes('--help')) {
  console.log(USAGE);
  process.exit(0);
}
const unknown = process.argv.slice(2).filter((argument) => argument !== '--read-only');
if (unknown.length > 0) {
  console.error(`unknown argument ${unknown[0]}\n${USAGE}`);
  process.exit(2);
}
try {
  const client = new VoiceClient({ createRetry: createRetry() });
  await checkSettings(client);
  await serve(client, process.argv.includes('--read-only'));
} catch (error) {
  console.error(`voice-calling-mcp: ${error.message}`);
  process.exit(2);
}
