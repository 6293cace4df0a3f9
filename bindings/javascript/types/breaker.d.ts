// What is decided before a create is sent, for programs that send a series of their own.
import type { VoiceCallingError } from './errors.js';

/**
 * Whether a series of creates goes on, or begins nothing further because too many failed: five in a row
 * that are not about the people to be called, or 25 of any kind. A batch has one; this is for programs
 * that send creates one by one, such as those on a workflow engine.
 *
 * At most five creates whose outcomes are not known yet are in flight at first, and one more with each
 * success.
 */
export declare class Breaker {
  /** Why nothing further begins, after the decision to `stop`. */
  readonly reason: string | undefined;
  /**
   * Decides on the next create: it may begin, and is in flight from now on; or one in flight has to end
   * first; or nothing further may begin.
   */
  decide(): 'begin' | 'wait' | 'stop';
  /** Records that a create in flight has succeeded. */
  onSuccess(): void;
  /** Records how a create in flight has failed. */
  onFailure(error: Pick<VoiceCallingError, 'attempts' | 'nextStep' | 'message'>): void;
  /** Lets one create begin after a stop: the series goes on if that one succeeds. */
  resume(): void;
}

/**
 * Returns when a call may begin that is due at `at`: then, or when the hours begin next; `undefined` if
 * they never do.
 *
 * @param hours days and times, such as `mon-fri 09:30-18:00, sat 10:00-13:00`
 * @param timeZone whose clock it is, such as `Asia/Kolkata`
 * @param at a date, or milliseconds since 1970
 * @throws {InvalidInputError} if one of them is not allowed.
 */
export declare function nextCallingTime(hours: string, timeZone: string, at: Date | number): Date | undefined;
