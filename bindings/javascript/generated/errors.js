// Written from wit/ by `cargo xtask bindings generate`. Do not edit.
import { NoAnswerError, RequestError, ServiceError, named } from '../src/request_error.js';

/**
 * The host could not run the component (a trap, a timeout of the host).
 * Only hosts make this case; the component never returns it. After a
 * creating request the call or docket may exist: give the host a longer
 * timeout than the component's own (`deadlineMs`; for a wait its
 * `timeoutMs`; for a batch both together).
 */
export class ExecutionFailed extends RequestError {}

named(ExecutionFailed, 'ExecutionFailed', { kind: 'execution-failed' });

/**
 * A setting is missing or wrong, an account is unknown, or the host's policy
 * denies the service's address. `problem` names the variable or option.
 */
export class ConfigurationProblem extends RequestError {}

named(ConfigurationProblem, 'ConfigurationProblem', { kind: 'permanent-configuration' });

/**
 * An argument is not allowed, or the host rejects the request for what is in it.
 * `problem` names the argument. Nothing was created.
 */
export class InvalidInput extends RequestError {}

named(InvalidInput, 'InvalidInput', { kind: 'permanent-invalid-input' });

/** The service rejected the token: 401 or 403. */
export class Unauthorized extends ServiceError {}

named(Unauthorized, 'Unauthorized', { kind: 'permanent-unauthorized' });

/** The service answered not found: 404 or 410. */
export class NotFound extends ServiceError {}

named(NotFound, 'NotFound', { kind: 'permanent-not-found' });

/**
 * The service rejected the request: any other 3xx or 4xx. Redirects are
 * never followed, since the token would go along. After a 3xx or a 409 to a
 * creating request the call or docket may exist.
 */
export class Rejected extends ServiceError {}

named(Rejected, 'Rejected', { kind: 'permanent-rejected' });

/**
 * An answer that is not as specified: a 2xx whose body does not match the
 * specification or exceeds the size limit, a docket other than the requested one,
 * or a status outside 200 to 599. After a creating request the call or docket may
 * exist; `response` has what came.
 */
export class UnexpectedResponse extends ServiceError {}

named(UnexpectedResponse, 'UnexpectedResponse', { kind: 'permanent-unexpected-response' });

/**
 * A creating request may have been processed: it was sent and no conclusive
 * answer came, or the service failed (5xx, 408), also in an attempt before the
 * last. A person's phone may be ringing: retry only after making sure that nothing
 * was created.
 */
export class OutcomeUnknown extends RequestError {}

named(OutcomeUnknown, 'OutcomeUnknown', { kind: 'permanent-outcome-unknown' });

/** The service's rate limit: 429 or 425, until no attempt or no time was left. */
export class RateLimited extends ServiceError {}

named(RateLimited, 'RateLimited', { kind: 'rate-limited' });

/**
 * The service failed: 5xx or 408 to a reading request, until no
 * attempt or no time was left.
 */
export class Unavailable extends ServiceError {}

named(Unavailable, 'Unavailable', { kind: 'unavailable' });

/** The service could not be reached: no attempt was sent. */
export class Unreachable extends NoAnswerError {}

named(Unreachable, 'Unreachable', { kind: 'unreachable' });

/**
 * Time ran out before anything was sent, or a reading request got no
 * complete answer in any of its attempts.
 */
export class TimedOut extends NoAnswerError {}

named(TimedOut, 'TimedOut', { kind: 'timed-out' });

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
