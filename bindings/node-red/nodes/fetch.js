/** Fetches the docket or the details of the call that a message names, or waits for their end. */
const { WaitTimedOutError } = require('voice-calling');
const { client, described, handles, plain, showAccount, STOPPED } = require('./flow_node.js');

module.exports = (RED) => {
  function Fetch(config) {
    RED.nodes.createNode(this, config);
    const node = this;
    const account = RED.nodes.getNode(config.account);
    const closing = new AbortController();
    showAccount(node, account);

    handles(node, handle, () => closing.abort(new Error(STOPPED)));

    async function handle(msg, send) {
      delete msg.error;
      try {
        const { id, get, wait } = named(msg);
        const text = `${config.wait ? 'waiting for' : 'fetching'} ${id}`;
        node.status({ fill: 'blue', shape: 'dot', text });
        const { signal } = closing;
        msg.payload = plain(await (config.wait ? ended(wait, id, config, signal) : get(id, { signal })));
        node.status({ fill: 'green', shape: 'dot', text: id });
        send([msg, null]);
      } catch (error) {
        msg.error = described(error);
        node.status({ fill: 'red', shape: 'ring', text: error.message });
        send([null, msg]);
        const { docketId, taskId } = msg;
        return `${error.message} ${JSON.stringify({ docketId, taskId })}`;
      }
    }

    /** What the message names, and how it is fetched. */
    function named({ docketId, taskId }) {
      if ((docketId === undefined) === (taskId === undefined)) {
        const found = docketId === undefined ? 'neither' : 'both';
        throw problem('invalid-input', `msg.docketId, msg.taskId: found ${found}; allowed: one of them`);
      }
      const { calls, dockets } = client(account);
      return docketId === undefined
        ? { id: taskId, get: calls.get, wait: calls.wait }
        : { id: docketId, get: dockets.get, wait: dockets.wait };
    }
  }

  RED.nodes.registerType('voice-calling-fetch', Fetch);
};

/**
 * The end that `wait(id, options)` waits for. A wait that takes longer than the node is configured to
 * wait is an error, as is one that is aborted.
 */
async function ended(wait, id, { timeout }, signal) {
  try {
    return await wait(id, { timeoutMs: Math.round(Number(timeout) * 1000), signal });
  } catch (error) {
    if (!(error instanceof WaitTimedOutError)) throw error;
    throw problem('not-completed', `not completed after ${timeout} s; last seen: ${error.last?.status ?? 'nothing'}`);
  }
}

/** An error of a node itself. */
function problem(kind, message) {
  return Object.assign(new Error(message), { kind });
}
