/** What an error has to tell of an exchange: all that is kept of one that is over. */
export class Attempt {
  /** Whether the request was handed to a connection. From then on the service may have it. */
  wasSent = false;
  /** The HTTP status, once it came. */
  status = undefined;
  /** What went wrong in transport, where something did. */
  transportError = undefined;

  #creates;
  #startedMs = performance.now();
  #endedMs;

  constructor(method) {
    this.#creates = method === 'POST';
  }

  /** It takes no longer. */
  end() {
    this.#endedMs ??= performance.now();
  }

  /** Whether it may have created something, whatever becomes of it now. */
  get mayHaveCreated() {
    if (!this.#creates || !this.wasSent) return false;
    const { status } = this;
    const wasRefused = status >= 400 && status < 500 && status !== 408 && status !== 409;
    return !wasRefused;
  }

  /** As errors have it, `startMs` being when the operation began. */
  told(startMs) {
    const round = (milliseconds) => Math.max(0, Math.round(milliseconds));
    const { status, transportError } = this;
    const endedMs = this.#endedMs ?? performance.now();
    return Object.freeze({
      ...(status !== undefined && { status }),
      ...(transportError !== undefined && { transportError }),
      startedMs: round(this.#startedMs - startMs),
      durationMs: round(endedMs - this.#startedMs),
    });
  }
}
