// The client on `fetch`, for Deno, Bun and edge workers.
import type { Client } from './client.js';
import type { SharedClientOptions } from './options.js';

export * from './client.js';
export * from './errors.js';
export * from './ledger.js';
export * from './options.js';

/** Options of a client. What is absent is taken from the environment. */
export interface ClientOptions extends SharedClientOptions {
  /** Sends the requests in place of the global `fetch`. It must not send anything twice. */
  readonly fetch?: typeof fetch | undefined;
}

export interface VoiceClient extends Client {}

export declare class VoiceClient {
  /**
   * Reads the options; values of settings are checked by the first call.
   *
   * @throws {ConfigurationProblem} for an unknown option or one of another type.
   * @throws {Error} in a browser, where the token would be public.
   */
  constructor(options?: ClientOptions);
}
