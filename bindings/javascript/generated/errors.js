// Written from wit/ by `cargo xtask bindings generate`. Do not edit.
import { RequestError } from '../src/request_error.js';

/**
 * The host could not run the component (a trap, a time-out of the host).
 * Only hosts make this case; the component never returns it. After a
 * creating request the call or docket may exist: give the host a longer
 * time-out than the component's own (`deadlineMs`; for a wait its
 * `timeoutMs`; for a batch both together).
 */
export class ExecutionFailed extends RequestError {}

Object.assign(ExecutionFailed.prototype, {
  name: 'ExecutionFailed',
  kind: 'execution-failed',
  isPermanent: false,
});

/**
 * A setting is missing or wrong, or the host's policy denies the
 * service's address. Nothing was sent, or nothing after the attempts
 * that the payload lists.
 */
export class ConfigurationProblem extends RequestError {}

Object.assign(ConfigurationProblem.prototype, {
  name: 'ConfigurationProblem',
  kind: 'permanent-configuration',
  isPermanent: true,
});

/** An argument is not allowed. Nothing was sent. */
export class InvalidInput extends RequestError {}

Object.assign(InvalidInput.prototype, {
  name: 'InvalidInput',
  kind: 'permanent-invalid-input',
  isPermanent: true,
});

/** The service does not accept the token: 401 or 403. */
export class Unauthorized extends RequestError {}

Object.assign(Unauthorized.prototype, {
  name: 'Unauthorized',
  kind: 'permanent-unauthorized',
  isPermanent: true,
});

/** The service does not know what was asked for: 404 or 410. */
export class NotFound extends RequestError {}

Object.assign(NotFound.prototype, {
  name: 'NotFound',
  kind: 'permanent-not-found',
  isPermanent: true,
});

/**
 * The service refused the request: any other 3xx or 4xx. Redirects are
 * never followed, since the token would go along.
 */
export class Rejected extends RequestError {}

Object.assign(Rejected.prototype, {
  name: 'Rejected',
  kind: 'permanent-rejected',
  isPermanent: true,
});

/**
 * An answer that cannot be understood: a 2xx whose body is not what the
 * specification says or is larger than `maxResponseBytes`, or a status
 * outside 200 to 599. After a creating request the call or docket may exist;
 * the payload has what came.
 */
export class UnexpectedResponse extends RequestError {}

Object.assign(UnexpectedResponse.prototype, {
  name: 'UnexpectedResponse',
  kind: 'permanent-unexpected-response',
  isPermanent: true,
});

/**
 * A creating request was handed to the network and no conclusive answer
 * came. A person's phone may be ringing: it is never repeated by the
 * component, and should be repeated only by somebody who has made sure
 * that the first one did nothing.
 */
export class OutcomeUnknown extends RequestError {}

Object.assign(OutcomeUnknown.prototype, {
  name: 'OutcomeUnknown',
  kind: 'permanent-outcome-unknown',
  isPermanent: true,
});

/**
 * The service's rate limit: 429 or 425, until there was no attempt or no
 * time left. No attempt of a creating request was processed.
 */
export class RateLimited extends RequestError {}

Object.assign(RateLimited.prototype, {
  name: 'RateLimited',
  kind: 'rate-limited',
  isPermanent: false,
});

/**
 * The service had a failure of its own: 5xx or 408, until there was no
 * attempt or no time left. The service asks for repeating these; still, after
 * a creating request the call or docket may exist. With the setting
 * `createRetry: 'not-sent'` such a request is `OutcomeUnknown`.
 */
export class Unavailable extends RequestError {}

Object.assign(Unavailable.prototype, {
  name: 'Unavailable',
  kind: 'unavailable',
  isPermanent: false,
});

/** The service could not be reached: no attempt was ever sent. */
export class Unreachable extends RequestError {}

Object.assign(Unreachable.prototype, {
  name: 'Unreachable',
  kind: 'unreachable',
  isPermanent: false,
});

/**
 * Time ran out before anything was sent, or a reading request got no
 * complete answer in any of its attempts.
 */
export class TimedOut extends RequestError {}

Object.assign(TimedOut.prototype, {
  name: 'TimedOut',
  kind: 'timed-out',
  isPermanent: false,
});

/** The class of each case of `request-error`. */
export const errors = {
  'execution-failed': ExecutionFailed,
  'permanent-configuration': ConfigurationProblem,
  'permanent-invalid-input': InvalidInput,
  'permanent-unauthorized': Unauthorized,
  'permanent-not-found': NotFound,
  'permanent-rejected': Rejected,
  'permanent-unexpected-response': UnexpectedResponse,
  'permanent-outcome-unknown': OutcomeUnknown,
  'rate-limited': RateLimited,
  'unavailable': Unavailable,
  'unreachable': Unreachable,
  'timed-out': TimedOut,
};
