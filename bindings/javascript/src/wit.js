/** The functions of the WIT (`wit/`), with the records that they take, in the names of JavaScript. */
import {
  body, bool, integer, json, namesAndValues, optional, read, readVariant, record, text,
} from './conversion.js';

const agentText = record({
  defaultText: text,
  extra: optional(json),
});

const agentConfig = record({
  prompt: optional(agentText),
  agentName: text,
  agentPhoneNumber: optional(text),
  voiceId: optional(text),
  version: optional(integer),
  welcomeText: optional(agentText),
  tools: optional(json),
  enabled: optional(bool),
  saveStats: optional(bool),
  serverType: optional(text),
  callType: optional(text),
  createdAt: optional(text),
  updatedAt: optional(text),
  extra: optional(json),
});

const callRequest = record({
  fromAgentName: optional(text),
  toPhoneNumber: text,
  callContext: namesAndValues,
  extra: optional(json),
});

const docketRequest = record({
  agentId: integer,
  toPhoneNumber: text,
  callContext: json,
  extra: optional(json),
});

const docketRequestV2 = record({ ...docketRequest.fields, externalId: optional(text) });

/** One of a batch. Its key in the ledger is the driver's business. */
const requestOfBatch = record({ ...docketRequestV2.fields, once: optional(text) });

/**
 * A function takes one argument beside its options, which errors call by its name; the fields of a
 * record go without it.
 *
 * @param {string} wit its name in the WIT
 * @param {string} method its name in this package
 * @param {string} name of the argument
 * @param {(value: any, path: string) => any} write makes the argument's JSON
 * @param {{ form?: 'call' | 'create' | 'wait' | 'batch', read?: (json: any) => any }} more
 */
function taking(wit, method, name, write, { form = 'call', read: readResult = read } = {}) {
  return { wit, method, name, write, form, creates: form === 'create' || form === 'batch', read: readResult };
}

const creates = /** @type {const} */ ({ form: 'create' });

/** The functions, by what the client without I/O calls them. */
export const functions = {
  CreateAgent: taking('agents.create-agent', 'agents.create', '', agentConfig, creates),
  ListAgents: taking('agents.list-agents', 'agents.list', 'organizationId', text),
  MakeCall: taking('calls.make-call', 'calls.make', '', callRequest, creates),
  GetCallDetails: taking('calls.get-call-details', 'calls.getDetails', 'taskId', text),
  WaitForCallDetails: taking('calls.wait-for-call-details', 'calls.waitForDetails', 'taskId', text, { form: 'wait' }),
  CreateDocket: taking('dockets.create-docket', 'dockets.createV1', '', docketRequest, creates),
  CreateDocketV2: taking('dockets.create-docket-v2', 'dockets.create', '', docketRequestV2, creates),
  GetDocket: taking('dockets.get-docket', 'dockets.get', 'docketId', text),
  WaitForDocket: taking('dockets.wait-for-docket', 'dockets.waitFor', 'docketId', text, { form: 'wait' }),
  CreateDocketsV2: taking('bulk.create-dockets-v2', 'dockets.createMany', 'requests', requestOfBatch, { form: 'batch' }),
  ParseDocketCompleted: taking('webhooks.parse-docket-completed', 'webhooks.parse', 'body', body),
  VerifyDocketCompleted: taking('webhooks.verify-docket-completed', 'webhooks.verify', 'body', body, { read: readVariant }),
};

/** The methods of this package, by the names of their functions in the WIT. */
export const METHODS = new Map(Object.values(functions).map(({ wit, method }) => [wit, method]));
