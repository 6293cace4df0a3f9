/** The client on Node. Types and documentation: `types/index.d.ts`. */
import { X509Certificate } from 'node:crypto';
import { inspect } from 'node:util';
import { clientOn } from './client.js';
import { NodeHttp } from './node_http.js';
import { protocolsOf } from './settings.js';
import { writeLine } from './stderr.js';
import { describeType, misconfigured } from './words.js';

export * from './errors.js';
export { Ledger } from './ledger.js';

const CERTIFICATES = 'certificates as PEM, or an array of them';

export const VoiceClient = clientOn({
  options: {
    agent: { isAllowed: (value) => typeof value?.addRequest === 'function', allowed: 'an Agent of node:http or node:https' },
    ca: { isAllowed: () => true, allowed: CERTIFICATES },
  },
  check({ ca, agent, transport }) {
    if (agent !== undefined && transport !== undefined) throw misconfigured('transport', 'an agent as well', 'one of them');
    if (ca !== undefined) checkCertificates(ca);
  },
  transport({ ca, agent }, variables) {
    if (agent !== undefined) checkProtocol(agent, protocolsOf(variables));
    return new NodeHttp({ ca, agent });
  },
  writeLine,
  warn: (message, ...errors) => process.emitWarning([message, ...errors.map((it) => inspect(it))].join(': '), 'VoiceCallingWarning'),
});

/** Node itself leaves out what is not a certificate, without a word. */
function checkCertificates(ca) {
  const given = [ca].flat();
  if (given.length === 0) throw misconfigured('ca', 'an empty array', CERTIFICATES);
  for (const certificate of given) {
    try {
      new X509Certificate(certificate);
    } catch (error) {
      throw misconfigured('ca', `${describeType(certificate)} that is not a certificate`, CERTIFICATES, { cause: error });
    }
  }
}

/** Node's own agents are for one protocol each; others may be for both. */
function checkProtocol(agent, expected) {
  const protocol = Object.getOwnPropertyDescriptor(agent, 'protocol')?.value;
  const other = expected.find((it) => it !== protocol);
  if (typeof protocol !== 'string' || other === undefined) return;
  throw misconfigured('agent', `one for ${protocol}`, `one for ${other}, as the option baseUrl says`);
}
