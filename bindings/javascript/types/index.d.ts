/// <reference types="node" />
export * from './client.js';
export * from './errors.js';
export * from './ledger.js';
export * from './options.js';
