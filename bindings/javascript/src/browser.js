/** The package as bundlers for browsers find it: a page would publish the token of its organization. */
export * from './errors.js';

export class VoiceClient {
  constructor() {
    throw new Error(
      'voice-calling is not for browsers: a page would publish the token of its organization. Call it from a server.',
    );
  }
}
