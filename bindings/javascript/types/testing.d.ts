// For the tests of programs that use this package.
import type { Transport } from './options.js';

/** What the service does with a request. */
export type Answer = (
  | {
      /** Default: 200. */
      readonly status?: number;
      readonly headers?: { readonly [name: string]: string };
      /** The body, as a value or as text. */
      readonly json?: unknown;
      readonly text?: string;
      /** The body ends early after so many bytes. */
      readonly cutAfter?: number;
    }
  /** It is certain that the request was not sent, and why. */
  | { readonly notSent: string }
  /** The request was sent, and no answer came: the outcome of a create is unknown. */
  | { readonly lost: string }
) & {
  /** How long it takes; `Infinity` for a service that says nothing. */
  readonly afterMs?: number;
};

/** A request that came. */
export interface ScriptedRequest {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string };
  /** The body, parsed. */
  readonly json: any;
  /** When it came, on the service's clock. */
  readonly atMs: number;
}

/** An answer, or what makes one; `undefined` for what a service does as a rule. */
export type Step = Answer | undefined | ((request: ScriptedRequest, nth: number) => Answer | undefined);

/**
 * A service that does what a script says, in the same process, without a network. Its time passes
 * at once when all operations wait for it: pauses, timeouts and late answers cost nothing.
 *
 * Requests for which the script has nothing are answered as a service does that does all it is
 * asked for.
 */
export declare class ScriptedService implements Transport {
  /** @param script what is done with the first request, the second, and so on; or with each */
  constructor(script?: readonly Step[] | ((request: ScriptedRequest, nth: number) => Answer | undefined));
  /** The requests that came, in their order. */
  readonly requests: readonly ScriptedRequest[];
  /** How much time has passed. Unit: milliseconds. */
  readonly elapsedMs: number;
  /** What a client takes to talk to it: `new VoiceClient(service.options)`. */
  readonly options: {
    readonly transport: Transport;
    readonly baseUrl: string;
    readonly token: string;
    readonly env: {};
  };
  send(request: never, exchange: never): () => void;
}
