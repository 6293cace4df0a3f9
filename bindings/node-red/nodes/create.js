/** Creates a docket, or makes a call, for each message. */
const { client, described, handles, plain, showAccount, STOPPED } = require('./flow_node.js');

/** Node-RED waits this long for a node to close, unless its setting `nodeCloseTimeout` differs. */
const CLOSE_TIMEOUT_MS = 15_000;

/** The part of it that is kept for reporting a create that was not answered. */
const REPORT_MS = 1_000;

const REFUSED = 'msg.doNotRetry is set: a phone may be ringing for this message, so nothing was sent';

/** What the nodes create, with the defaults that they are configured with. */
const CREATED = [
  {
    noun: 'docket',
    id: 'docketId',
    defaults: ({ agentId }) => (agentId ? { agentId } : {}),
    create: ({ dockets }, ...given) => dockets.create(...given),
  },
  {
    noun: 'call',
    id: 'taskId',
    defaults: ({ fromAgentName }) => (fromAgentName ? { fromAgentName } : {}),
    create: ({ calls }, ...given) => calls.make(...given),
  },
];

module.exports = (RED) => {
  for (const what of CREATED) {
    RED.nodes.registerType(`voice-calling-${what.noun}`, function Creator(config) {
      RED.nodes.createNode(this, config);
      creates(RED, this, config, what);
    });
  }
};

function creates(RED, node, config, what) {
  const account = RED.nodes.getNode(config.account);
  const creating = new AbortController();
  let isStopping = false;
  showAccount(node, account);

  // The flow goes away, but a phone may be ringing: a create is waited for, and reported.
  handles(node, handle, () => {
    isStopping = true;
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
      if (isStopping) throw new Error('the flow is being stopped: nothing was sent');
      node.status({ fill: 'yellow', shape: 'dot', text: `creating a ${what.noun}` });
      created = await what.create(client(account), request, { signal: creating.signal });
    } catch (error) {
      const isUnknown = error.mayHaveCreated === true;
      msg.error = described(error);
      msg.request = request;
      if (isUnknown) msg.doNotRetry = true;
      const text = isUnknown ? `do not retry: ${error.message}` : error.message;
      node.status({ fill: 'red', shape: isUnknown ? 'dot' : 'ring', text });
      // Also if a `catch` node takes the error, which may be gone too.
      if (isUnknown) node.error(report(text, request));
      send(isUnknown ? [null, null, msg] : [null, msg, null]);
      return text;
    }
    const id = created[what.id];
    msg[what.id] = id;
    msg.payload = plain(created);
    node.status({ fill: 'green', shape: 'dot', text: id });
    if (isStopping) node.warn(report('was created while the flow was stopped:', request, id));
    send([msg, null, null]);
  }
}

/** The request of a message, completed with the node's defaults. The client refuses anything that is not an object. */
function requested(given, defaults) {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const request = { ...defaults, ...given };
  const { toPhoneNumber } = request;
  // As the `csv` node reads it. A number of 12 digits is complete; a shorter one may have lost leading zeros.
  const isExact = typeof toPhoneNumber === 'number' && /^\d{12}$/.test(toPhoneNumber);
  return isExact ? { ...request, toPhoneNumber: String(toPhoneNumber) } : request;
}

/** For the log, which is all that is left if the flow is gone: enough for a person to find the request. */
function report(text, request, id = undefined) {
  const marks = { id, externalId: request.externalId, to: request.toPhoneNumber.replace(/.(?=....)/g, '*') };
  return `${text} ${JSON.stringify(marks)}`;
}
