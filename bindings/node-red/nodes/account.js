/** The account of an organization: where the service is, and the token. */
const { VoiceClient } = require('voice-calling');

module.exports = (RED) => {
  function Account(config) {
    RED.nodes.createNode(this, config);
    const { token } = this.credentials;
    try {
      // A create is never retried once it was sent: the flow shows that its outcome is unknown.
      const client = new VoiceClient({
        ...(config.baseUrl && { baseUrl: config.baseUrl }),
        ...(token && { token }),
        createRetry: 'not-sent',
      });
      this.client = () => client;
      this.failure = undefined;
      this.on('close', (done) => client.close().then(done, done));
    } catch (error) {
      this.client = () => {
        throw error;
      };
      this.failure = error;
      this.error(error.message);
    }
  }

  RED.nodes.registerType('voice-calling-account', Account, {
    credentials: { token: { type: 'password' } },
  });
};
