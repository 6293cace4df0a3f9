/** How a call fails: the errors of the client without I/O, and those that only its driver knows of. */
import { errors, ExecutionFailed, OutcomeUnknown } from '../generated/errors.js';
import { types } from '../generated/wit.js';
import { parameterName, reader } from './conversion.js';
import { pascal } from './words.js';

const KINDS = new Map(Object.keys(types['request-error'].variant).map((kind) => [pascal(kind), kind]));

const NO_OPTIONS = new Map();

/**
 * An error of the client without I/O, in the words of the function that was called.
 *
 * @param {Map<string, string>} settingNames what the options are called that stand for variables
 */
export function returned(json, called, settingNames = NO_OPTIONS) {
  if (typeof json === 'string') return new errors[KINDS.get(json)]('the host could not run it');
  const [[name, failure]] = Object.entries(json);
  const { message, ...attributes } = reader('failure')(failure);
  const { problem } = attributes;
  if (!problem) return new errors[KINDS.get(name)](message, attributes);
  const translated = { ...problem, subject: inUsersWords(problem.subject, called, settingNames) };
  attributes.problem = Object.freeze(translated);
  return new errors[KINDS.get(name)](message.replace(sentence(problem), sentence(translated)), attributes);
}

function sentence({ subject, found, allowed }) {
  return `${subject}: found ${found}; allowed: ${allowed}`;
}

/** Of a setting the option as well, where one stands over the variable. */
function inUsersWords(subject, called, settingNames) {
  const option = settingNames.get(subject);
  return option === undefined ? parameterName(called, subject) : `${option} (${subject})`;
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
