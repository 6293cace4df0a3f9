/** Fetches the docket or the details of the call that a message names, or waits for their end. */
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
        const { id, get, waitFor } = named(msg);
        const text = `${config.wait ? 'waiting for' : 'fetching'} ${id}`;
        node.status({ fill: 'blue', shape: 'dot', text });
        const { signal } = closing;
        msg.payload = plain(await (config.wait ? ended(waitFor, id, config, signal) : get(id, { signal })));
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
        ? { id: taskId, get: calls.getDetails, waitFor: calls.waitForDetails }
        : { id: docketId, get: dockets.get, waitFor: dockets.waitFor };
    }
  }

  RED.nodes.registerType('voice-calling-fetch', Fetch);
};

/**
 * The end that `waitFor(id, options)` waits for. A wait that takes longer than the node is configured to
 * wait is an error, as is one that is aborted.
 */
async function ended(waitFor, id, { timeout }, signal) {
  const { outcome } = await waitFor(id, { timeoutMs: Math.round(Number(timeout) * 1000), signal });
  if (outcome.kind === 'completed') return outcome.value;
  throw problem('not-completed', `not completed after ${timeout} s; last seen: ${outcome.value?.status ?? 'nothing'}`);
}

/** An error of a node itself. */
function problem(kind, message) {
  return Object.assign(new Error(message), { kind });
}
