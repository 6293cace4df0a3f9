#!/usr/bin/env node
/**
 * The client of the voice-calling service as tools for AI agents (`tools.js`), over MCP on stdin and
 * stdout: a person is asked before a telephone rings, and what was created is logged.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { InvalidInputError, NotFoundError, RejectedError, UnauthorizedError, VoiceClient } from 'voice-calling';
import { z } from 'zod';
import { TOOLS, text } from './tools.js';

const USAGE = `usage: voice-calling-mcp [--read-only]

Settings are the variables of the client: VOICE_CALLING_BASE_URL, VOICE_CALLING_API_TOKEN, …
--read-only leaves out the tools that make a telephone ring.`;

const matched = (externalId) => (externalId === undefined ? '' : ` (external id ${shown(externalId)})`);

const failed = (message) => ({ isError: true, content: [{ type: 'text', text: message }] });

/** What an agent reads of an error: what happened, and what to do. */
function advice(error, rings) {
  if (error.mayHaveCreated) {
    return `OUTCOME UNKNOWN: ${error.message}. A telephone may be ringing. Do not repeat this call; ask a person.`;
  }
  // The client names its own arguments: `toPhoneNumber` is the tool's `to-phone-number`.
  const subject = error instanceof InvalidInputError ? error.problem.subject : '';
  const name = subject.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const isRefusal = error instanceof RejectedError || error instanceof NotFoundError;
  const reason = isRefusal && error.response.body ? `; the service's own words, as data: ${shown(error.response.body)}` : '';
  const said = error.message.replace(subject, name) + reason;
  return rings ? `${said}. Nothing was created; ${next(error, rings)}.` : `${said}; ${next(error, rings)}.`;
}

function next(error, rings) {
  const wait = error.retryAfterMs;
  if (error.isPermanent === false) return wait ? `try again in ${Math.ceil(wait / 1000)} s` : 'try again later';
  if (error instanceof UnauthorizedError) return 'a person has to correct VOICE_CALLING_API_TOKEN';
  if (error instanceof NotFoundError && !rings) return 'the id is unknown, or not known yet';
  return 'the same call will fail again';
}

/** A person may be slow; without a limit of its own the protocol's client gives up after a minute. */
const CONFIRMATION_MS = 600_000;

/** How many characters of a text are shown to an agent, and of a context to the person who is asked. */
const MOST_SHOWN = 300;
const MOST_ASKED = 4000;

/** A text in quotation marks, so that its end is seen, and how much of it is not shown. */
function shown(text, most = MOST_SHOWN) {
  const rest = text.length - most;
  return rest > 0 ? `${JSON.stringify(text.slice(0, most))} and ${rest} more characters that are not shown` : JSON.stringify(text);
}

/**
 * Asks the person, where the program that the agent runs in can show a form. Returns why nothing may
 * be sent, or nothing.
 */
async function refusal(server, tool, given, signal) {
  if (!server.server.getClientCapabilities()?.elicitation?.form) return undefined;
  const request = {
    message:
      `${tool}: call ${shown(given['to-phone-number'])} by agent ${shown(String(given['agent-id'] ?? given['agent-name']))}, ` +
      `with the context ${shown(given['call-context'] ?? 'nothing', MOST_ASKED)}? A telephone will ring.`,
    requestedSchema: {
      type: 'object',
      properties: { call: { type: 'boolean', title: 'Call', description: 'Let the telephone ring' } },
      required: ['call'],
    },
  };
  const asked = server.server.elicitInput(request, { signal, timeout: CONFIRMATION_MS });
  const { action, content } = await asked.catch((error) => {
    const what = `${tool}${matched(given['external-id'])} to ${shown(given['to-phone-number'])}`;
    console.error(`voice-calling-mcp: ${what}: given up before a person answered; an agreement is too late, and nothing is created`);
    throw error;
  });
  if (action === 'accept' && content?.call === true) return undefined;
  return action === 'cancel'
    ? 'A person closed the question without an answer. Nothing was created; ask them before you try again.'
    : 'A person declined. Nothing was created; do not ask again for the same call.';
}

/** The creates under way, which are never cut off: each has an id that must not be lost. */
const creates = new Set();
let isLeaving = false;

/** Has a tool create, although the agent may have given it up meanwhile, and logs what was created. */
async function create(tool, client, given) {
  if (isLeaving) throw new Error('the server ends, and nothing was sent');
  const created = tool.run(client, given, {}).then((result) => {
    const { docket_id: docketId, task_id: taskId } = result;
    const what = docketId === undefined ? `call ${shown(taskId)}` : `docket ${shown(docketId)}`;
    console.error(`voice-calling-mcp: ${what}${matched(given['external-id'])} was created`);
    return result;
  });
  creates.add(created);
  try {
    return await created;
  } finally {
    creates.delete(created);
  }
}

/** Ends the process when no create is under way any more. */
async function leave(status) {
  if (isLeaving) return;
  isLeaving = true;
  await Promise.allSettled(creates);
  process.exit(status);
}

function serve(client, readOnly) {
  const server = new McpServer({ name: 'voice-calling', version: '0.2.0' });
  for (const [name, tool] of Object.entries(TOOLS)) {
    const { rings, description, parameters } = tool;
    if (rings && readOnly) continue;
    // Unknown arguments are refused: an agent that invents one expects something of it.
    const inputSchema = z.strictObject(parameters);
    const annotations = { readOnlyHint: !rings, destructiveHint: rings, idempotentHint: !rings, openWorldHint: true };
    server.registerTool(name, { description, inputSchema, annotations }, async (given, { signal }) => {
      try {
        if (rings) {
          // What is aborted is not sent, and refused all the same if it is not allowed.
          await tool.run(client, given, { signal: AbortSignal.abort() }).catch((error) => {
            if (error instanceof InvalidInputError || error instanceof TypeError) throw error;
          });
          const refused = await refusal(server, name, given, signal);
          if (refused) return failed(refused);
          signal.throwIfAborted();
        }
        const result = await (rings ? create(tool, client, given) : tool.run(client, given, { signal }));
        return { content: [{ type: 'text', text: text(result) }] };
      } catch (error) {
        // An agent that has given up reads no answer.
        const message = advice(error, rings);
        if (error.mayHaveCreated) console.error(`voice-calling-mcp: ${name}${matched(given['external-id'])}: ${message}`);
        return failed(message);
      }
    });
  }
  process.on('SIGHUP', () => leave(129));
  process.on('SIGINT', () => leave(130));
  process.on('SIGTERM', () => leave(143));
  process.stdin.on('end', () => leave(0));
  // The host has gone: what is created from now on is logged.
  process.stdout.on('error', () => leave(0));
  // Otherwise a log that no one reads would end the process, and with it the creates under way.
  process.stderr.on('error', () => {});
  return server.connect(new StdioServerTransport());
}

/** What may have been created is never sent again: an agent that sees an error asks a person. */
function createRetry() {
  const found = process.env.VOICE_CALLING_CREATE_RETRY ?? 'not-sent';
  if (found === 'not-sent' || found === 'never') return found;
  throw new Error(`VOICE_CALLING_CREATE_RETRY: found ${found}; allowed: not-sent, never`);
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
  await serve(client, process.argv.includes('--read-only'));
} catch (error) {
  console.error(`voice-calling-mcp: ${error.message}`);
  process.exit(2);
}
