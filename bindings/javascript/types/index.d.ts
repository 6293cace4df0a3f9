// The client on Node.
/// <reference types="node" />
import type { Client } from './client.js';
import type { SharedClientOptions } from './options.js';

export * from './client.js';
export * from './errors.js';
export * from './ledger.js';
export * from './options.js';

/** Options of a client. What is absent is taken from the environment. */
export interface ClientOptions extends SharedClientOptions {
  /** Certificates of the authorities that are trusted, in place of Node's own. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  /**
   * Makes the connections, for client certificates and proxies. One of Node's own has to be of
   * `node:https` where `baseUrl` is https. The client's own keeps idle connections for one
   * second, so that a call is seldom placed on one that the service has just given up.
   */
  readonly agent?: import('node:http').Agent | undefined;
}

export interface VoiceClient extends Client {}

export declare class VoiceClient {
  /**
   * Reads the options; values of settings are checked by the first call.
   *
   * @throws {ConfigurationProblem} for an unknown option or one of another type, a `ca` that is no
   * certificate, an `agent` for another protocol than that of `baseUrl`.
   */
  constructor(options?: ClientOptions);
}
