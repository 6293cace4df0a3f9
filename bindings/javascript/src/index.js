'use strict';
const { VoiceClient, normalizeNumber, parseDocketCompleted } = require('./client.js');
const { classes } = require('./errors.js');
const { Ledger } = require('./ledger.js');

// One by one, since `import` reads the names of what a CommonJS module exports from its text.
module.exports = {
  Ledger,
  VoiceClient,
  normalizeNumber,
  parseDocketCompleted,
  VoiceCallingError: classes.VoiceCallingError,
  ConfigurationError: classes.ConfigurationError,
  InvalidInputError: classes.InvalidInputError,
  UnauthorizedError: classes.UnauthorizedError,
  NotFoundError: classes.NotFoundError,
  RejectedError: classes.RejectedError,
  UnexpectedResponseError: classes.UnexpectedResponseError,
  OutcomeUnknownError: classes.OutcomeUnknownError,
  RateLimitedError: classes.RateLimitedError,
  UnavailableError: classes.UnavailableError,
  UnreachableError: classes.UnreachableError,
  TimedOutError: classes.TimedOutError,
  NotBegunError: classes.NotBegunError,
  WaitTimedOutError: classes.WaitTimedOutError,
};
