/** The classes of errors, for users. */
export { NoAnswerError, RequestError, ServiceError } from './request_error.js';
export {
  ConfigurationProblem,
  ExecutionFailed,
  InvalidInput,
  NotFound,
  OutcomeUnknown,
  RateLimited,
  Rejected,
  TimedOut,
  Unauthorized,
  Unavailable,
  UnexpectedResponse,
  Unreachable,
} from '../generated/errors.js';
