'use strict';
const { Breaker, nextCallingTime } = require('./breaker.js');
const { VoiceClient, normalizeNumber, parseDocketCompleted } = require('./client.js');
const { Ledger } = require('./ledger.js');
const {
  ConfigurationError,
  InvalidInputError,
  NotBegunError,
  NotFoundError,
  OutcomeUnknownError,
  RateLimitedError,
  RejectedError,
  TimedOutError,
  UnauthorizedError,
  UnavailableError,
  UnexpectedResponseError,
  UnreachableError,
  VoiceCallingError,
  WaitTimedOutError,
} = require('./errors.js').classes;

// In this form, since `import` reads the names of a CommonJS module's exports from its text.
module.exports = {
  Breaker,
  ConfigurationError,
  InvalidInputError,
  Ledger,
  NotBegunError,
  NotFoundError,
  OutcomeUnknownError,
  RateLimitedError,
  RejectedError,
  TimedOutError,
  UnauthorizedError,
  UnavailableError,
  UnexpectedResponseError,
  UnreachableError,
  VoiceCallingError,
  VoiceClient,
  WaitTimedOutError,
  nextCallingTime,
  normalizeNumber,
  parseDocketCompleted,
};
