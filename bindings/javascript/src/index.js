/** The package. Types and documentation: `types/index.d.ts`. */
export { VoiceClient } from './client.js';
export * from './errors.js';
export { Ledger } from './ledger.js';
