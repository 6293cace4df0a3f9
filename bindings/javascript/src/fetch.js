/** The client on `fetch`, for Deno, Bun and edge workers. Types: `types/fetch.d.ts`. */
import { clientOn } from './client.js';
import { FetchHttp } from './fetch_http.js';
import { misconfigured } from './settings.js';
import { kind } from './words.js';

export * from './errors.js';

export const VoiceClient = clientOn({
  options: ['fetch'],
  check({ fetch }) {
    refuseBrowsers();
    if (fetch !== undefined && typeof fetch !== 'function') {
      throw misconfigured('fetch', kind(fetch), 'a function');
    }
  },
  variables: () => globalThis.process?.env ?? {},
  transport: ({ fetch }) => new FetchHttp(fetch),
  writeLine,
  warn: (message, error) => console.warn(message, error),
});

/** Whatever becomes of it: the console may be the user's. */
function writeLine(line) {
  try {
    console.error(line);
  } catch {}
}

function refuseBrowsers() {
  const { window } = /** @type {any} */ (globalThis);
  if (window?.document !== undefined) throw new Error(NOT_FOR_BROWSERS);
}

const NOT_FOR_BROWSERS =
  'voice-calling is not for browsers: a page would publish the token of its organization. Call it from a server.';
