/** Fetches the docket or the details of the call that a message names, or waits for their end. */
const { WaitTimedOutError } = require('voice-calling');
const { checked, described, handles, invalidInput, plain, showAccount, showError, STOPPED } = require('./flow_node.js');

module.exports = (RED) => {
  function Fetch(config) {
    RED.nodes.createNode(this, config);
    const node = this;
    const account = RED.nodes.getNode(config.account);
    const closing = new AbortController();
    showAccount(node, account);

    handles(RED, node, handle, () => {
      closing.abort(new Error(STOPPED));
      account?.reads?.withdraw(node, STOPPED);
    });

    async function handle(msg, send) {
      delete msg.error;
      try {
        const { id, get, wait } = named(msg);
        node.status({ fill: 'blue', shape: 'dot', text: `${config.wait ? 'waiting for' : 'fetching'} ${id}` });
        const { signal } = closing;
        const read = () => get(id, { signal });
        msg.payload = plain(await (config.wait ? ended(wait, id, config, signal) : account.reads.run(node, read)));
        node.status({ fill: 'green', shape: 'dot', text: id });
        send([msg, null]);
      } catch (error) {
        msg.error = described(error);
        const said = showError(node, error);
        send([null, msg]);
        const { docketId, taskId } = msg;
        return `${said} ${JSON.stringify({ docketId, taskId })}`;
      }
    }

    /** What the message names, and how it is fetched. */
    function named({ docketId, taskId }) {
      if ((docketId === undefined) === (taskId === undefined)) {
        const found = docketId === undefined ? 'neither' : 'both';
        throw invalidInput('msg.docketId, msg.taskId', found, 'one of them');
      }
      const { calls, dockets } = checked(account).client;
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
    const message = `not completed after ${timeout} s; last seen: ${error.last?.status ?? 'nothing'}`;
    throw Object.assign(new Error(message), { kind: 'not-completed', nextStep: 'retry-later' });
  }
}
