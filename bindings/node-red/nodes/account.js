/** The account of an organization: where the service is, the token, and the ledger of what was created. */
const { createPrivateKey } = require('node:crypto');
const { resolve } = require('node:path');
const { VoiceClient } = require('voice-calling');
const { configuration, endsInTime } = require('./flow_node.js');
const { Queue } = require('./queue.js');

/** In the user's folder of Node-RED, which survives its updates. */
const LEDGER = 'voice-calling.db';

/** As many as the client has open at once. */
const MAX_IN_FLIGHT = 16;

module.exports = (RED) => {
  function Account(config) {
    RED.nodes.createNode(this, config);
    const { token } = this.credentials;
    try {
      this.client = new VoiceClient({
        ...(config.baseUrl && { baseUrl: config.baseUrl }),
        ...(token && { token }),
        ...certificates(RED.nodes.getNode(config.tls), config.tls),
        ledger: resolve(RED.settings.userDir, config.ledger || LEDGER),
        logger: {
          debug: (text) => this.debug(text),
          info: (text) => this.log(text),
          warn: (text) => this.warn(text),
          error: (text) => this.error(text),
        },
      });
      const maxOpen = Number(process.env.VOICE_CALLING_MAX_IN_FLIGHT || MAX_IN_FLIGHT);
      this.creates = new Queue(maxOpen);
      this.reads = new Queue(maxOpen);
      this.on('close', (done) => endsInTime(RED, this.client.close()).then(() => done()));
    } catch (error) {
      this.failure = error;
      this.error(error.message);
    }
  }

  RED.nodes.registerType('voice-calling-account', Account, {
    credentials: { token: { type: 'password' } },
  });
};

/** The certificates of Node-RED's configuration node `tls-config`, which other nodes use as well. */
function certificates(tls, id) {
  if (!id) return {};
  if (!tls?.valid) throw configuration('TLS', 'a configuration that cannot be used', 'files that can be read, a certificate with its key');
  const { ca, cert, key, passphrase, rejectUnauthorized, servername } = tls.addTLSOptions({});
  if (rejectUnauthorized === false) throw configuration('TLS', 'no verification of the server', 'an authority that certifies it');
  if (servername) throw configuration('TLS', `the server name ${servername}`, 'none: it is the host of the base URL');
  return {
    ...(ca && { authorities: ca }),
    ...(cert && { clientCertificate: `${cert}\n${passphrase ? withoutPassphrase(key, passphrase) : key}` }),
  };
}

function withoutPassphrase(key, passphrase) {
  try {
    return createPrivateKey({ key, passphrase }).export({ type: 'pkcs8', format: 'pem' });
  } catch (error) {
    throw configuration('TLS', `a private key that cannot be read (${error.message})`, 'a PEM key and its passphrase');
  }
}
