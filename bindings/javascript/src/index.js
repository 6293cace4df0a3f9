'use strict';
const { Breaker, nextCallingTime } = require('./breaker.js');
const { VoiceClient } = require('./client.js');
const { Ledger } = require('./ledger.js');
const { ContactRules, normalizeNumber, parseDocketCompleted } = require('./rules.js');
const {
  ConfigurationError, InvalidInputError, NotBegunError, NotFoundError,
  OutcomeUnknownError, RateLimitedError, RejectedError, TimedOutError,
  UnauthorizedError, UnavailableError, UnexpectedResponseError, UnreachableError,
  VoiceCallingError, WaitTimedOutError,
} = require('./errors.js').classes;

// In this form, since `import` reads the names of a CommonJS module's exports from its text.
module.exports = {
  Breaker, ContactRules, Ledger, VoiceClient, nextCallingTime, normalizeNumber, parseDocketCompleted,
  ConfigurationError, InvalidInputError, NotBegunError, NotFoundError,
  OutcomeUnknownError, RateLimitedError, RejectedError, TimedOutError,
  UnauthorizedError, UnavailableError, UnexpectedResponseError, UnreachableError,
  VoiceCallingError, WaitTimedOutError,
};
