/** What the nodes in a flow have in common: an account, an end, and their results and errors. */
const { ConfigurationError, VoiceCallingError } = require('voice-calling');

const STOPPED = 'the flow was stopped';

/** The account's client. Without an account, the error that says so is thrown. */
function client(account) {
  if (account) return account.client();
  throw new ConfigurationError('account: found nothing; allowed: an account of voice-calling', {
    problem: { subject: 'account', found: 'nothing', allowed: 'an account of voice-calling' },
  });
}

/** Shows on the node what is wrong with its account. */
function showAccount(node, account) {
  const failure = account ? account.failure : { message: 'no account' };
  if (failure) node.status({ fill: 'red', shape: 'ring', text: failure.message });
}

/**
 * Handles each message of `node` by `handle(msg, send)`, which returns the text of an error if it had
 * one. The node is closed when `close()` was called and all messages are handled.
 */
function handles(node, handle, close) {
  const running = new Set();
  node.on('input', (msg, send, done) => {
    const run = handle(msg, send).then(done, done);
    running.add(run);
    run.then(() => running.delete(run));
  });
  node.on('close', (done) => {
    close();
    Promise.all(running).then(() => done());
  });
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

module.exports = { client, described, handles, plain, showAccount, STOPPED };
