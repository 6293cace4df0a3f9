/** What the nodes in a flow have in common: an account, an end, and three outputs. */
const { ConfigurationProblem, RequestError } = require('voice-calling');

/** Node-RED waits this long for a node to close, unless its setting `nodeCloseTimeout` differs. */
const CLOSE_TIMEOUT_MS = 15_000;

/** Of those, what is left to report a create that was not answered. */
const REPORT_MS = 1_000;

const STOPPED = 'the flow was stopped';

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
 * Makes `node` one that creates something for each message, and waits for its end if it is
 * configured to.
 *
 * @param what `{ noun, id, defaults, create(client, request, options), waitFor(client, id, options) }`
 */
function creates(RED, node, config, what) {
  const account = RED.nodes.getNode(config.account);
  const running = new Set();
  const creating = new AbortController();
  const waiting = new AbortController();
  let isClosing = false;
  showAccount(node, account);

  node.on('input', (msg, send, done) => {
    const run = handle(msg, send).then(done, done);
    running.add(run);
    run.then(() => running.delete(run));
  });

  // The flow goes away, but a phone may be ringing: a create is waited for, and reported.
  node.on('close', (done) => {
    isClosing = true;
    waiting.abort(new Error(STOPPED));
    const timeoutMs = (RED.settings.nodeCloseTimeout ?? CLOSE_TIMEOUT_MS) - REPORT_MS;
    const timer = setTimeout(() => creating.abort(new Error(STOPPED)), timeoutMs);
    Promise.all(running).then(() => {
      clearTimeout(timer);
      done();
    });
  });

  async function handle(msg, send) {
    const request = requested(msg[what.noun] ?? msg.payload, what.defaults);
    delete msg.error;
    delete msg[what.id];
    let created;
    try {
      if (isClosing) throw new Error('the flow is being stopped: nothing was sent');
      node.status({ fill: 'yellow', shape: 'dot', text: `creating a ${what.noun}` });
      created = await what.create(client(account), request, { signal: creating.signal });
    } catch (error) {
      return fail(error, error.mayHaveCreated === true);
    }
    msg[what.id] = created[what.id];
    if (!config.wait) return succeed(created);
    if (isClosing) return fail(new Error(`${created[what.id]} was created while the flow was stopped`), true);
    node.status({ fill: 'blue', shape: 'dot', text: `waiting for ${created[what.id]}` });
    try {
      const { outcome } = await what.waitFor(client(account), created[what.id], {
        timeoutMs: Math.round(Number(config.timeout) * 1000),
        signal: waiting.signal,
      });
      if (outcome.kind === 'completed') return succeed(outcome.value);
      const end = isClosing ? STOPPED : `not completed after ${config.timeout} s`;
      return fail(new Error(`${end}; last seen: ${outcome.value?.status ?? 'nothing'}`), true);
    } catch (error) {
      return fail(error, true);
    }

    function succeed(result) {
      msg.payload = plain(result);
      node.status({ fill: 'green', shape: 'dot', text: created[what.id] });
      if (isClosing) node.warn(`${created[what.id]} was created while the flow was stopped`);
      send([msg, null, null]);
    }

    /** `isUnknown`: something was or may have been created, so the message must not be sent again. */
    function fail(error, isUnknown) {
      msg.error = described(error, isUnknown);
      msg.request = request;
      const text = isUnknown ? `do not retry: ${error.message}` : error.message;
      node.status({ fill: 'red', shape: isUnknown ? 'dot' : 'ring', text });
      // Also where the output leads nowhere, or nowhere any more.
      if (isUnknown) node.error(report(text, msg[what.id], request));
      else node.warn(text);
      send(isUnknown ? [null, null, msg] : [null, msg, null]);
    }
  }
}

/** The request of a message, with what the node adds. What is not an object is refused by the client. */
function requested(given, defaults) {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  return isObject ? { ...defaults, ...given } : given;
}

/** As a flow changes and shows it: neither frozen nor with integers beyond 2^53. */
function plain(result) {
  return JSON.parse(JSON.stringify(result));
}

/** An error of the client, or one of this node: a wait that ended, or a flow that was stopped. */
function described(error, mayHaveCreated) {
  if (error instanceof RequestError) return { ...plain(error), mayHaveCreated };
  return { kind: mayHaveCreated ? 'not-completed' : 'stopped', message: error.message, attempts: [], mayHaveCreated };
}

/** For the log, which is all that is left if the flow is gone: by what a person finds the request. */
function report(text, id, request) {
  const marks = { id, externalId: request.externalId, to: request.toPhoneNumber.replace(/.(?=....)/g, '*') };
  return `${text} ${JSON.stringify(marks)}`;
}

module.exports = { client, creates, showAccount };
