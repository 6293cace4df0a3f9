/** What the nodes in a flow have in common: an account, an end, and their results and errors. */
const { ConfigurationError, InvalidInputError, VoiceCallingError } = require('voice-calling');

const STOPPED = 'the flow was stopped';

/** Node-RED waits this long for a node to close, unless its setting `nodeCloseTimeout` differs. */
const CLOSE_TIMEOUT_MS = 15_000;

/** The part of it that is kept for reporting what is still open. */
const REPORT_MS = 1_000;

/** What has to be done after an error of the client. */
const ADVICE = {
  'retry-later': 'send it again later',
  'fix-setting': 'correct the account',
  refused: 'correct the message',
  unknown: 'a phone may be ringing: look at the service',
};

/** What is wrong with a setting of the account. */
const configuration = (...problem) => problemOf(ConfigurationError, ...problem);

/** What is wrong with a message. */
const invalidInput = (...problem) => problemOf(InvalidInputError, ...problem);

function problemOf(Class, subject, found, allowed) {
  return new Class(`${subject}: found ${found}; allowed: ${allowed}`, { problem: { subject, found, allowed } });
}

/** The account, if its settings are right. Otherwise the error that says what is wrong is thrown. */
function checked(account) {
  if (!account) throw configuration('account', 'nothing', 'an account of voice-calling');
  if (account.failure) throw account.failure;
  return account;
}

/** Shows on the node what is wrong with its account. */
function showAccount(node, account) {
  try {
    checked(account);
  } catch (error) {
    showError(node, error);
  }
}

/** Shows an error on the node, and what to do. Returns the text. */
function showError(node, error) {
  const advice = ADVICE[error.nextStep];
  const text = advice ? `${advice}: ${error.message}` : error.message;
  node.status({ fill: 'red', shape: error.mayHaveCreated ? 'dot' : 'ring', text });
  return text;
}

/**
 * Has `node` handle each message by `handle(msg, send)`, which returns the text of an error if it had
 * one. When the node is to close, `close()` is called, and what is open is finished. What takes longer
 * than Node-RED waits is finished without it, after `report()`.
 */
function handles(RED, node, handle, close, report) {
  const running = new Set();
  node.on('input', (msg, send, done) => {
    const run = handle(msg, send).then(done, done);
    running.add(run);
    run.then(() => running.delete(run));
  });
  node.on('close', (done) => {
    close();
    endsInTime(RED, Promise.all(running), report).then(() => done());
  });
}

/** Waits for `ended`, as long as Node-RED waits for a node to close. */
async function endsInTime(RED, ended, report = () => {}) {
  let timer;
  const timeoutMs = (RED.settings.nodeCloseTimeout ?? CLOSE_TIMEOUT_MS) - REPORT_MS;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(report()), timeoutMs);
  });
  await Promise.race([ended, late]);
  clearTimeout(timer);
}

/** As a flow changes and shows it: neither frozen nor with integers beyond 2^53. */
function plain(result) {
  return JSON.parse(JSON.stringify(result));
}

/** An error of the client or of the node, or else the reason for which the node was stopped. */
function described(error) {
  if (error instanceof VoiceCallingError) return plain(error);
  return { kind: error.kind ?? 'stopped', message: error.message, attempts: [], mayHaveCreated: false };
}

module.exports = { checked, configuration, described, endsInTime, handles, invalidInput, plain, showAccount, showError, STOPPED };
