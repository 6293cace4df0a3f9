/** How a call fails: the component's errors, and those that only its host knows of. */
import { errors, ExecutionFailed, OutcomeUnknown, TimedOut } from '../generated/errors.js';
import { types } from '../generated/wit.js';
import { fieldName, fromPlain } from './conversion.js';

/** The error that the component returned from a function. */
export function returned({ tag, val }, { parameters }) {
  const type = types['request-error'].variant[tag];
  const payload = type ? fromPlain(type, val) : {};
  const { message, response, ...own } = payload;
  if (own.field !== undefined) own.field = fieldName(parameters, own.field);
  const attributes = { ...response, ...own };
  return new errors[tag](sentence(message, attributes), attributes);
}

function sentence(message, { variable, field, found, allowed, status }) {
  const at = variable ?? field;
  if (at !== undefined) return `${at}: found ${found}, allowed: ${allowed}`;
  if (message === undefined) return 'the component could not be run';
  const isTold = status === undefined || message.includes(String(status));
  return isTold ? message : `${message} (status ${status})`;
}

/** What a call ends with that its caller aborted. */
export function aborted({ creates }, reason, attempts, startMs) {
  if (!creates || !attempts.some((attempt) => attempt.mayHaveCreated)) return reason;
  const message =
    'aborted after the request was handed to the network: what it was to create may exist';
  return new OutcomeUnknown(message, { attempts: told(attempts, startMs) }, { cause: reason });
}

/** What a call ends with whose component, or the code around it, broke. */
export function broken({ creates }, cause, attempts, startMs) {
  const mayExist = creates && attempts.some((attempt) => attempt.mayHaveCreated);
  const message = mayExist
    ? 'the component failed after the request was handed to the network: what it was to create may exist'
    : `the component failed${creates ? '; nothing was created' : ''}`;
  const attributes = { attempts: told(attempts, startMs) };
  // To repeat it might call a person twice.
  if (mayExist) attributes.isPermanent = true;
  return new ExecutionFailed(message, attributes, { cause });
}

/** What a call ends with whose time was over in the queue. */
export function neverBegun(timeoutMs) {
  return new TimedOut(
    `nothing was sent: in ${timeoutMs} ms no instance became free (option maxInstances)`,
  );
}

function told(attempts, startMs) {
  return Object.freeze(attempts.map((attempt) => attempt.told(startMs)));
}

