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

/**
 * A setting is missing or wrong, or the host's policy denies the
 * service's address. Nothing was sent, or nothing after the attempts
 * that the payload lists.
 */
export class ConfigurationProblem extends RequestError {}

/** An argument is not allowed. Nothing was sent. */
export class InvalidInput extends RequestError {}

/** The service does not accept the token: 401 or 403. */
export class Unauthorized extends RequestError {}

/** The service does not know what was asked for: 404 or 410. */
export class NotFound extends RequestError {}

/**
 * The service refused the request: any other 3xx or 4xx. Redirects are
 * never followed, since the token would go along.
 */
export class Rejected extends RequestError {}

/**
 * An answer that cannot be understood: a 2xx whose body is not what the
 * specification says or is larger than `maxResponseBytes`, or a status
 * outside 200 to 599. After a creating request the call or docket may exist;
 * the payload has what came.
 */
export class UnexpectedResponse extends RequestError {}

/**
 * A creating request was handed to the network and no conclusive answer
 * came. A person's phone may be ringing: it is never repeated by the
 * component, and should be repeated only by somebody who has made sure
 * that the first one did nothing.
 */
export class OutcomeUnknown extends RequestError {}

/**
 * The service's rate limit: 429 or 425, until there was no attempt or no
 * time left. No attempt of a creating request was processed.
 */
export class RateLimited extends RequestError {}

/**
 * The service had a failure of its own: 5xx or 408, until there was no
 * attempt or no time left. The service asks for repeating these; still, after
 * a creating request the call or docket may exist. With the setting
 * `createRetry: 'not-sent'` such a request is `OutcomeUnknown`.
 */
export class Unavailable extends RequestError {}

/** The service could not be reached: no attempt was ever sent. */
export class Unreachable extends RequestError {}

/**
 * Time ran out before anything was sent, or a reading request got no
 * complete answer in any of its attempts.
 */
export class TimedOut extends RequestError {}

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

for (const [kind, type] of Object.entries(errors)) {
  const isPermanent = kind.startsWith('permanent-');
  Object.assign(type.prototype, { name: type.name, kind, isPermanent });
}
