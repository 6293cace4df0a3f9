'use strict';
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
  normalizeNumber,
  parseDocketCompleted,
};
