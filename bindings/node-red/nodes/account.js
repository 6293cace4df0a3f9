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
      this.failure = misconfiguration(client);
      this.on('close', (done) => client.close().then(done, done));
    } catch (error) {
      this.client = () => {
        throw error;
      };
      this.failure = Promise.resolve(error);
    }
    this.failure.then((error) => error && this.error(error.message));
  }

  RED.nodes.registerType('voice-calling-account', Account, {
    credentials: { token: { type: 'password' } },
  });
};

/** The first setting that is wrong, found by a call that is refused before anything is sent. */
async function misconfiguration(client) {
  const error = await client.dockets.get('').catch((error) => error);
  return error.kind === 'invalid-input' ? undefined : error;
}
