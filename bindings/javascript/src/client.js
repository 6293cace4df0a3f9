/** The client: settings, groups of functions, and its end. */
import { X509Certificate } from 'node:crypto';
import { inspect } from 'node:util';
import { groups } from '../generated/groups.js';
import { settings } from '../generated/settings.js';
import { attemptLog, stderrLog } from './attempt_log.js';
import { Connections } from './connections.js';
import { Instances } from './instances.js';
import { operate } from './operation.js';
import { deadlineOf, environment, misconfigured, protocolsOf, refuseUnknown } from './settings.js';
import { found, isPlain, kind } from './words.js';

/** Options that are no settings of the component. */
const OWN_OPTIONS = ['accounts', 'env', 'ca', 'agent', 'maxInstances', 'onAttempt'];

const MAX_INSTANCES = 256;

export class VoiceClient {
  #environment;
  #connections;
  #instances;
  #running = new Set();
  #isClosed = false;

  constructor(options = {}) {
    const { env, ca, agent, maxInstances, onAttempt } = checked(options);
    const variables = environment(options, env ?? process.env, onAttempt !== undefined);
    if (agent !== undefined) checkProtocol(agent, protocolsOf(variables));
    this.#environment = variables;
    this.#connections = new Connections({ ca, agent });
    const host = {
      environment: variables,
      connections: this.#connections,
      stderr: onAttempt ? attemptLog(onAttempt) : stderrLog(),
    };
    this.#instances = new Instances(host, maxInstances ?? MAX_INSTANCES);
    Object.assign(this, groups((...call) => this.#call(...call)));
    Object.freeze(this);
  }

  async close() {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
    this.#connections.close();
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  /** What runs, and nothing of the settings: one of them is the token. */
  [inspect.custom](depth, options) {
    const { busy, queued, count } = this.#instances;
    const state = { isClosed: this.#isClosed, running: busy, queued, instances: count };
    return `VoiceClient ${inspect(state, options)}`;
  }

  async #call(name, given, options) {
    if (this.#isClosed) throw new Error('the client is closed');
    const deadline = (account) => deadlineOf(this.#environment, account);
    const running = operate(name, given, options, this.#instances, deadline);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
}

function checked(options) {
  // It may be the token that is given in their place.
  if (!isPlain(options)) throw misconfigured('options', kind(options), 'a plain object');
  refuseUnknown(options, [...Object.keys(settings), ...OWN_OPTIONS]);
  const { env, ca, agent, maxInstances, onAttempt } = options;
  if (env !== undefined && env !== process.env && !isPlain(env)) {
    throw misconfigured('env', kind(env), 'a plain object, or process.env');
  }
  if (agent !== undefined && typeof agent?.addRequest !== 'function') {
    throw misconfigured('agent', kind(agent), 'an Agent of node:http or node:https');
  }
  if (agent !== undefined && ca !== undefined) {
    throw misconfigured('ca', 'an agent as well', 'one of them: an agent has its own `ca`');
  }
  if (ca !== undefined) checkCertificates(ca);
  const isCount = Number.isInteger(maxInstances) && maxInstances >= 1 && maxInstances <= 10_000;
  if (maxInstances !== undefined && !isCount) {
    throw misconfigured('maxInstances', found(maxInstances), 'an integer from 1 to 10000');
  }
  if (onAttempt !== undefined && typeof onAttempt !== 'function') {
    throw misconfigured('onAttempt', found(onAttempt), 'a function');
  }
  return options;
}

/** Node itself leaves out what is no certificate, without a word. */
function checkCertificates(ca) {
  const given = [ca].flat();
  const allowed = 'certificates as PEM, or an array of them';
  if (given.length === 0) throw misconfigured('ca', 'an empty array', allowed);
  for (const certificate of given) {
    try {
      new X509Certificate(certificate);
    } catch (error) {
      const found = `${kind(certificate)} that is no certificate`;
      throw misconfigured('ca', found, allowed, { cause: error });
    }
  }
}

/** An agent need not say for which protocol it is. */
function checkProtocol({ protocol }, expected) {
  const other = expected.find((it) => it !== protocol);
  if (typeof protocol !== 'string' || other === undefined) return;
  throw misconfigured('agent', `one for ${protocol}`, `one for ${other}, as the option baseUrl says`);
}
