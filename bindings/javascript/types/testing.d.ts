// For the tests of programs that use this package.
import type { VoiceClient } from './client.js';
import type { ClientOptions } from './options.js';

/** What the service does with a request. */
export type Answer = (
  | {
      /** Default: 200. */
      readonly status?: number;
      readonly headers?: { readonly [name: string]: string };
      /** The body, as a value. */
      readonly json?: unknown;
      /** The body, as text. */
      readonly text?: string;
      /** The body ends early after so many bytes. */
      readonly cutAfter?: number;
      /** How long the body takes after the head. */
      readonly bodyAfterMs?: number;
    }
  /** The request was sent, and its connection broke: the outcome of a create is unknown. */
  | { readonly lost: true }
  /** The request was sent, and no answer comes. */
  | { readonly silence: true }
  /** The service could not be reached: the request was not sent. */
  | { readonly unreachable: true }
) & {
  /** How long it takes. */
  readonly afterMs?: number;
  /** Whether it is the answer to all further requests as well. */
  readonly repeated?: boolean;
};

/** A request that came. */
export interface ReceivedRequest {
  readonly method: 'GET' | 'POST';
  /** The path, with the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  /** The body, parsed; `null` for a `GET`. */
  readonly json: any;
  /** When it came, on the service's clock. */
  readonly atMs: number;
}

/**
 * A service that does what a script says, in the same process, without a network. Its time passes at
 * once when all operations wait for it: pauses, timeouts and waits of hours cost nothing.
 *
 * Beyond the script creates succeed, a docket that they made is completed after a minute of its time,
 * and any other id is a 404.
 */
export declare class ScriptedService {
  /** @param script the answers to the first request, the second, and so on */
  constructor(script?: readonly Answer[]);
  /** Adds an answer to the script. */
  answer(answer: Answer): this;
  /** Adds an answer to the next request whose line begins so, such as `POST /api/v2/dockets`. */
  answerTo(line: string, answer: Answer): this;
  /**
   * Has a function answer the requests for which the script has no answer; `undefined`: as usual. Time
   * stands still while it decides. What it throws ends the operation with it.
   */
  answerWith(decide: (request: ReceivedRequest) => Answer | undefined | Promise<Answer | undefined>): this;
  /** Sets when dockets and calls are completed, after their creation. Unit: milliseconds; 60000 by default. */
  completeAfter(ms: number): this;
  /** Returns a client of it. Variables are not read. */
  client(options?: ClientOptions): VoiceClient;
  /** The requests that came, in their order. */
  readonly requests: readonly ReceivedRequest[];
  /** How much time has passed. Unit: milliseconds. */
  readonly elapsedMs: number;
  /** Lets so much time pass. */
  advance(ms: number): Promise<void>;
}
