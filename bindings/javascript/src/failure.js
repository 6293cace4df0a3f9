/** How a call fails: the component's errors, and those that only its host knows of. */
import { errors, ExecutionFailed, OutcomeUnknown, TimedOut } from '../generated/errors.js';
import { fromPlain, parameterName } from './conversion.js';

/** The error that the component returned from a function. */
export function returned({ tag, val }, called) {
  if (val === undefined) return new errors[tag]('the component could not be run', { mayHaveCreated: called.creates });
  const { message, ...attributes } = fromPlain('failure', val);
  const { problem } = attributes;
  if (!problem) return new errors[tag](message, attributes);
  const subject = parameterName(called, problem.subject);
  attributes.problem = Object.freeze({ ...problem, subject });
  const isNamed = message.startsWith(problem.subject);
  return new errors[tag](isNamed ? subject + message.slice(problem.subject.length) : message, attributes);
}

/** What a call ends with that its caller aborted. */
export function aborted({ creates }, reason, attempts, startMs) {
  if (!mayHaveCreated(creates, attempts)) return reason;
  const message = 'aborted after the request was sent: what it was to create may have been created';
  return new OutcomeUnknown(
    message,
    { attempts: told(attempts, startMs), mayHaveCreated: true },
    { cause: reason },
  );
}

/** What a call ends with whose component, or the code around it, broke. */
export function broken({ creates }, cause, attempts, startMs) {
  const may = mayHaveCreated(creates, attempts);
  const message = may
    ? 'the component failed after the request was sent: what it was to create may have been created'
    : `the component failed${creates ? '; nothing was created' : ''}`;
  return new ExecutionFailed(
    message,
    { attempts: told(attempts, startMs), mayHaveCreated: may },
    { cause },
  );
}

function mayHaveCreated(creates, attempts) {
  return creates && attempts.some((attempt) => attempt.mayHaveCreated);
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
