/** Creates a docket for each message, and waits for its completion. */
const { registerCreator } = require('./flow_node.js');

module.exports = (RED) =>
  registerCreator(RED, {
    noun: 'docket',
    id: 'docketId',
    defaults: ({ agentId }) => (agentId ? { agentId } : {}),
    methods: ({ dockets }) => ({ create: dockets.create, waitFor: dockets.waitFor }),
  });
