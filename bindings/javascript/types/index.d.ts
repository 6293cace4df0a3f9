/// <reference types="node" />
import type { Client } from './client.js';
import type { ClientOptions } from './options.js';

export * from './client.js';
export * from './errors.js';
export * from './ledger.js';
export * from './options.js';

export interface VoiceClient extends Client {}

export declare class VoiceClient {
  /**
   * Reads the options; values of settings are checked by the first call.
   *
   * @throws {ConfigurationProblem} for an unknown option or one of another type.
   */
  constructor(options?: ClientOptions);
}
