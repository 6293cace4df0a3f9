/** How a call fails: the errors of the client without I/O, and those that only its driver knows of. */
import { errors, ExecutionFailed, OutcomeUnknown } from '../generated/errors.js';
import { types } from '../generated/wit.js';
import { parameterName, reader } from './conversion.js';
import { pascal } from './words.js';

const KINDS = new Map(Object.keys(types['request-error'].variant).map((kind) => [pascal(kind), kind]));

/** An error of the client without I/O, in the words of the function that was called. */
export function returned(json, called) {
  if (typeof json === 'string') return new errors[KINDS.get(json)]('the host could not run it');
  const [[name, failure]] = Object.entries(json);
  const { message, ...attributes } = reader('failure')(failure);
  const { problem } = attributes;
  if (!problem) return new errors[KINDS.get(name)](message, attributes);
  const translated = inUsersWords(problem, called);
  attributes.problem = Object.freeze(translated);
  return new errors[KINDS.get(name)](message.replace(sentence(problem), sentence(translated)), attributes);
}

function sentence({ subject, found, allowed }) {
  return `${subject}: found ${found}; allowed: ${allowed}`;
}

function inUsersWords(problem, called) {
  const subject = parameterName(called, problem.subject);
  if (problem.subject !== 'options.max-attempts') return { ...problem, subject };
  // Users say how often it is tried again.
  const oneLess = (text) => text.replace(/\d+/g, (digits) => String(Number(digits) - 1));
  return { subject, found: oneLess(problem.found), allowed: oneLess(problem.allowed) };
}

/** What a call ends with that its caller aborted, and that ended in this error. */
export function aborted(error, reason) {
  // Nothing came of it: what `fetch` does.
  if (!error.mayHaveCreated) return reason;
  error.cause = reason;
  return error;
}

/** What a call ends with whose instance, or the code around it, broke. */
export function broken(creates, mayHaveCreated, cause) {
  if (mayHaveCreated) {
    const message = 'the client failed after the request was sent: the create may have been processed';
    return new OutcomeUnknown(message, { mayHaveCreated }, { cause });
  }
  return new ExecutionFailed(`the client failed${creates ? '; nothing was created' : ''}`, {}, { cause });
}
