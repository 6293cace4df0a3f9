export * from './breaker.js';
export * from './client.js';
export * from './errors.js';
export * from './ledger.js';
export type * from './options.js';
