/** The package as bundlers for browsers find it: a page would publish the token of its organization. */
import { NOT_FOR_BROWSERS } from './words.js';

export * from './errors.js';
export { Ledger } from './ledger.js';

export class VoiceClient {
  constructor() {
    throw new Error(NOT_FOR_BROWSERS);
  }
}
