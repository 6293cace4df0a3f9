/** The client: settings, groups of functions, and its end. */
import { inspect } from 'node:util';
import { groups } from '../generated/groups.js';
import { settings } from '../generated/settings.js';
import { attemptLog } from './attempt_log.js';
import { Connections } from './connections.js';
import { Instances } from './instances.js';
import { operate } from './operation.js';
import { environment, misconfigured } from './settings.js';
import { found } from './words.js';

/** Options that are no settings of the component. */
const OWN_OPTIONS = ['env', 'ca', 'agent', 'maxInstances', 'onAttempt'];

const MAX_INSTANCES = 256;

export class VoiceClient {
  #connections;
  #instances;
  #running = new Set();
  #isClosed = false;

  constructor(options = {}) {
    const { env, ca, agent, maxInstances, onAttempt } = checked(options);
    this.#connections = new Connections({ ca, agent });
    const host = {
      environment: environment(options, env ?? process.env, onAttempt !== undefined),
      connections: this.#connections,
      stderr: onAttempt ? attemptLog(onAttempt) : (bytes) => process.stderr.write(bytes),
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
    const running = operate(name, given, options, this.#instances);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
}

function checked(options) {
  if (typeof options !== 'object' || options === null) {
    throw misconfigured('options', found(options), 'an object');
  }
  const names = [...Object.keys(settings), ...OWN_OPTIONS];
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw misconfigured(unknown, 'an option that there is not', names.join(', '));
  }
  const { env, ca, agent, maxInstances, onAttempt } = options;
  const isObject = (value) => typeof value === 'object' && value !== null;
  if (env !== undefined && !isObject(env)) throw misconfigured('env', found(env), 'an object');
  if (agent !== undefined && !isObject(agent)) {
    throw misconfigured('agent', found(agent), 'an Agent of node:http or node:https');
  }
  if (agent !== undefined && ca !== undefined) {
    throw misconfigured('ca', 'an agent as well', 'one of them: an agent has its own `ca`');
  }
  const isCount = Number.isInteger(maxInstances) && maxInstances >= 1 && maxInstances <= 10_000;
  if (maxInstances !== undefined && !isCount) {
    throw misconfigured('maxInstances', found(maxInstances), 'an integer from 1 to 10000');
  }
  if (onAttempt !== undefined && typeof onAttempt !== 'function') {
    throw misconfigured('onAttempt', found(onAttempt), 'a function');
  }
  return options;
}
