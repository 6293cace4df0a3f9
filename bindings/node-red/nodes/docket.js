/** Creates a docket for each message, and waits for its completion. */
const { creates } = require('./flow_node.js');

module.exports = (RED) => {
  function Docket(config) {
    RED.nodes.createNode(this, config);
    creates(RED, this, config, {
      noun: 'docket',
      id: 'docketId',
      defaults: config.agentId ? { agentId: config.agentId } : {},
      create: (client, request, options) => client.dockets.create(request, options),
      waitFor: (client, id, options) => client.dockets.waitFor(id, options),
    });
  }

  RED.nodes.registerType('voice-calling-docket', Docket);
};
