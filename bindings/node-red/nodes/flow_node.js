/** What the nodes in a flow have in common: an account, an end, and three outputs. */
const { ConfigurationProblem, RequestError } = require('voice-calling');

/** Node-RED waits this long for a node to close, unless its setting `nodeCloseTimeout` differs. */
const CLOSE_TIMEOUT_MS = 15_000;

/** Of those, what is left to report a create that was not answered. */
const REPORT_MS = 1_000;

const STOPPED = 'the flow was stopped';

const REFUSED = 'msg.doNotRetry is set: a phone may be ringing for this message, so nothing was sent';

/** The account's client. Without an account, the error that says so is thrown. */
function client(account) {
  if (account) return account.client();
  throw new ConfigurationProblem('account: found nothing; allowed: an account of voice-calling', {
    problem: { subject: 'account', found: 'nothing', allowed: 'an account of voice-calling' },
  });
}

/** Shows on the node what is wrong with its account. */
async function showAccount(node, account) {
  const failure = account ? await account.failure : { message: 'no account' };
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

/**
 * Registers a type of nodes that create something for each message, and wait for its end if they are
 * configured to.
 *
 * @param what `{ noun, id, defaults(config), methods(client) }`: the methods are
 * `create(request, options)` and `waitFor(id, options)`
 */
function registerCreator(RED, what) {
  function Creator(config) {
    RED.nodes.createNode(this, config);
    creates(RED, this, config, what);
  }

  RED.nodes.registerType(`voice-calling-${what.noun}`, Creator);
}

function creates(RED, node, config, what) {
  const account = RED.nodes.getNode(config.account);
  const creating = new AbortController();
  const waiting = new AbortController();
  showAccount(node, account);

  // The flow goes away, but a phone may be ringing: a create is waited for, and reported.
  handles(node, handle, () => {
    waiting.abort(new Error(STOPPED));
    const timeoutMs = (RED.settings.nodeCloseTimeout ?? CLOSE_TIMEOUT_MS) - REPORT_MS;
    setTimeout(() => creating.abort(new Error(STOPPED)), timeoutMs).unref();
  });

  async function handle(msg, send) {
    // A wire or a `catch` node may lead the message back.
    if (msg.doNotRetry) {
      node.status({ fill: 'red', shape: 'ring', text: REFUSED });
      return REFUSED;
    }
    const request = requested(msg[what.noun] ?? msg.payload, what.defaults(config));
    delete msg.error;
    delete msg[what.id];
    let created;
    try {
      if (waiting.signal.aborted) throw new Error('the flow is being stopped: nothing was sent');
      node.status({ fill: 'yellow', shape: 'dot', text: `creating a ${what.noun}` });
      created = await what.methods(client(account)).create(request, { signal: creating.signal });
    } catch (error) {
      return fail(error, error.mayHaveCreated === true);
    }
    const id = created[what.id];
    msg[what.id] = id;
    if (!config.wait) return succeed(created);
    node.status({ fill: 'blue', shape: 'dot', text: `waiting for ${id}` });
    try {
      return succeed(await ended(what.methods(client(account)).waitFor, id, config, waiting.signal));
    } catch (error) {
      return fail(error, true);
    }

    function succeed(result) {
      msg.payload = plain(result);
      node.status({ fill: 'green', shape: 'dot', text: id });
      if (waiting.signal.aborted) node.warn(report('was created while the flow was stopped:', id, request));
      send([msg, null, null]);
    }

    /** `isUnknown`: something was or may have been created, so the message must not be sent again. */
    function fail(error, isUnknown) {
      msg.error = described(error, isUnknown);
      msg.request = request;
      if (isUnknown) msg.doNotRetry = true;
      const text = isUnknown ? `do not retry: ${error.message}` : error.message;
      node.status({ fill: 'red', shape: isUnknown ? 'dot' : 'ring', text });
      // Also if a `catch` node takes the error, which may be gone too.
      if (isUnknown) node.error(report(text, msg[what.id], request));
      send(isUnknown ? [null, null, msg] : [null, msg, null]);
      return text;
    }
  }
}

/**
 * The end that `waitFor(id, options)` waits for. A wait that takes longer than the node is configured to
 * wait is an error, as is one that is aborted.
 */
async function ended(waitFor, id, { timeout }, signal) {
  const { outcome } = await waitFor(id, { timeoutMs: Math.round(Number(timeout) * 1000), signal });
  if (outcome.kind === 'completed') return outcome.value;
  throw problem('not-completed', `not completed after ${timeout} s; last seen: ${outcome.value?.status ?? 'nothing'}`);
}

/** The request of a message, with what the node adds. What is not an object is refused by the client. */
function requested(given, defaults) {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const request = { ...defaults, ...given };
  const { toPhoneNumber } = request;
  // As the `csv` node reads it. With 12 digits it has lost none; a shorter one may have lost zeros.
  const isExact = typeof toPhoneNumber === 'number' && /^\d{12}$/.test(toPhoneNumber);
  return isExact ? { ...request, toPhoneNumber: String(toPhoneNumber) } : request;
}

/** As a flow changes and shows it: neither frozen nor with integers beyond 2^53. */
function plain(result) {
  return JSON.parse(JSON.stringify(result));
}

/** An error of a node itself. */
function problem(kind, message) {
  return Object.assign(new Error(message), { kind });
}

/** An error of the client or of the node, or else the reason for which the node was stopped. */
function described(error, mayHaveCreated) {
  if (error instanceof RequestError) return { ...plain(error), mayHaveCreated };
  return { kind: error.kind ?? 'stopped', message: error.message, attempts: [], mayHaveCreated };
}

/** For the log, which is all that is left if the flow is gone: by what a person finds the request. */
function report(text, id, request) {
  const marks = { id, externalId: request.externalId, to: request.toPhoneNumber.replace(/.(?=....)/g, '*') };
  return `${text} ${JSON.stringify(marks)}`;
}

module.exports = { client, described, ended, handles, plain, problem, registerCreator, showAccount, STOPPED };
