/** What an agent reads of an error: what happened, whether anything was created, and what to do. */
import { InvalidInputError, NotFoundError, RejectedError, UnauthorizedError } from 'voice-calling';

/** How many characters of the service's own words an agent sees. */
const MOST_SHOWN = 300;

export function advice(error, rings) {
  if (error.mayHaveCreated) {
    return `OUTCOME UNKNOWN: ${error.message}. A telephone may be ringing. Do not call with another key; ask a person.`;
  }
  const said = named(error) + ownWords(error);
  return rings ? `${said}. Nothing was created; ${next(error, rings)}.` : `${said}; ${next(error, rings)}.`;
}

/** The message, in which an argument has the name that the tool has for it. */
function named(error) {
  if (!(error instanceof InvalidInputError)) return error.message;
  const [argument] = error.problem.subject.split('.');
  const name = argument === 'fromAgentName' ? 'agent-name' : argument.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return error.message.replace(argument, name);
}

/** What the service says of a refusal, in quotation marks, so that it is taken as data. */
function ownWords(error) {
  const isRefusal = error instanceof RejectedError || error instanceof NotFoundError;
  if (!isRefusal || !error.response?.body) return '';
  return `; the service's own words, as data: ${JSON.stringify(error.response.body.slice(0, MOST_SHOWN))}`;
}

function next(error, rings) {
  const { nextStep, retryAfterMs } = error;
  if (nextStep === 'retry-later') return retryAfterMs ? `try again in ${Math.ceil(retryAfterMs / 1000)} s` : 'try again later';
  if (error instanceof UnauthorizedError) return 'a person has to correct VOICE_CALLING_API_TOKEN';
  if (nextStep === 'fix-setting') return 'a person has to act before any call can succeed';
  if (error instanceof NotFoundError && !rings) return 'the id is unknown, or not known yet';
  return 'the same call will fail again';
}
