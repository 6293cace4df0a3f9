/** Creates a docket, or makes a call, for each message: once for each key. */
const { NotBegunError } = require('voice-calling');
const { checked, described, handles, invalidInput, plain, showAccount, showError, STOPPED } = require('./flow_node.js');

/** What the nodes create, with the defaults that they are configured with. */
const CREATED = [
  {
    noun: 'docket',
    id: 'docketId',
    defaults: ({ agentId }) => (agentId ? { agentId } : {}),
    create: ({ dockets }, ...given) => dockets.create(...given),
    context: (context) => context,
  },
  {
    noun: 'call',
    id: 'taskId',
    defaults: ({ fromAgentName }) => (fromAgentName ? { fromAgentName } : {}),
    create: ({ calls }, ...given) => calls.make(...given),
    // Its values are texts.
    context: (context) => mapped(context, text),
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
  const open = new Set();
  let isStopping = false;
  showAccount(node, account);

  // A phone may be ringing for what is open, so that is finished; what waits is not begun.
  handles(RED, node, handle, stop, reportOpen);

  function stop() {
    isStopping = true;
    account?.creates?.withdraw(node, STOPPED);
  }

  function reportOpen() {
    for (const key of open) node.warn(`${STOPPED}, and the create with the key ${key} is still open: the ledger will have its outcome`);
  }

  async function handle(msg, send) {
    const request = requested(msg[what.noun] ?? msg.payload, what, config);
    delete msg.error;
    delete msg[what.id];
    let key;
    try {
      key = keyOf(msg);
      const { client, creates } = checked(account);
      if (isStopping) throw new NotBegunError(`not begun, since ${STOPPED}`);
      node.status({ fill: 'yellow', shape: 'ring', text: `${key} waits` });
      const created = await creates.run(node, () => create(client, key, msg, request));
      const id = created[what.id];
      msg[what.id] = id;
      msg.payload = plain(created);
      node.status({ fill: 'green', shape: created.fromLedger ? 'ring' : 'dot', text: id });
      if (isStopping) node.warn(`${STOPPED}, and the create with the key ${key} has succeeded: ${id}`);
      send([msg, null, null]);
      return undefined;
    } catch (error) {
      msg.error = described(error);
      msg.request = request;
      const said = showError(node, error);
      const report = key === undefined ? said : `${said} (key ${key})`;
      // Also if a `catch` node takes the error, which may be gone too.
      if (error.mayHaveCreated || isStopping) node.error(report);
      send(error.mayHaveCreated ? [null, null, msg] : [null, msg, null]);
      return report;
    }
  }

  async function create(client, key, msg, request) {
    node.status({ fill: 'yellow', shape: 'dot', text: `creating a ${what.noun}: ${key}` });
    open.add(key);
    try {
      const by = msg.releasedBy;
      delete msg.releasedBy;
      if (by) await client.ledger.release(key, { by });
      return await what.create(client, request, { key });
    } finally {
      open.delete(key);
    }
  }

  /** What the ledger has the create by. */
  function keyOf(msg) {
    const property = config.key || 'key';
    let key;
    try {
      key = text(RED.util.getMessageProperty(msg, property));
    } catch {
      // The message has not all of a path such as `payload.externalId`.
    }
    if (typeof key === 'string' && key !== '') return key;
    const found = key === undefined ? 'nothing' : JSON.stringify(key);
    throw invalidInput(`msg.${property}`, found, 'a text for this create alone, such as the occasion and the customer');
  }
}

/** The request of a message, completed with the node's defaults. The client refuses anything that is not an object. */
function requested(given, what, config) {
  if (!isObject(given)) return given;
  const request = { ...what.defaults(config), ...given };
  if ('externalId' in request) request.externalId = text(request.externalId);
  if (isObject(request.callContext)) request.callContext = what.context(request.callContext);
  const { toPhoneNumber } = request;
  // A number of 12 digits is complete; a shorter one may have lost leading zeros.
  const isExact = typeof toPhoneNumber === 'number' && /^\d{12}$/.test(toPhoneNumber);
  return isExact ? { ...request, toPhoneNumber: String(toPhoneNumber) } : request;
}

/** A number as the `csv` node makes it of digits, as text again. */
function text(value) {
  return Number.isSafeInteger(value) ? String(value) : value;
}

function mapped(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
