/** Makes a call for each message, and waits for its details. */
const { registerCreator } = require('./flow_node.js');

module.exports = (RED) =>
  registerCreator(RED, {
    noun: 'call',
    id: 'taskId',
    defaults: ({ fromAgentName }) => (fromAgentName ? { fromAgentName } : {}),
    methods: ({ calls }) => ({ create: calls.make, waitFor: calls.waitForDetails }),
  });
