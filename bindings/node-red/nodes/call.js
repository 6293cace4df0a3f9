/** Makes a call for each message, and waits for its details. */
const { creates } = require('./flow_node.js');

module.exports = (RED) => {
  function Call(config) {
    RED.nodes.createNode(this, config);
    creates(RED, this, config, {
      noun: 'call',
      id: 'taskId',
      defaults: config.fromAgentName ? { fromAgentName: config.fromAgentName } : {},
      create: (client, request, options) => client.calls.make(request, options),
      waitFor: (client, id, options) => client.calls.waitForDetails(id, options),
    });
  }

  RED.nodes.registerType('voice-calling-call', Call);
};
