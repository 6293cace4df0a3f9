/** The client of an AI voice-calling service. Types and documentation: `generated/index.d.ts`. */
export { VoiceClient } from './client.js';
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
