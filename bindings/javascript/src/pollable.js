import { onceAllIsHeard } from './event_loop.js';

/** Something that a guest waits for. It is ready once, and stays so. */
export class Pollable {
  isReady = false;
  /** Called when it becomes ready; set while a guest waits. */
  onReady = undefined;

  ready() {
    if (this.isReady) return;
    this.isReady = true;
    this.onReady?.();
  }

  /** Begins what makes it ready, where nothing else does. */
  arm() {}

  /** Ends that. */
  disarm() {}
}

/** The longest that Node waits at a time; a longer time would end at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Ready after a time, and not before what came in that time was heard. */
export class Timer extends Pollable {
  #end;
  #timeout;

  constructor(milliseconds) {
    super();
    this.#end = performance.now() + milliseconds;
  }

  arm() {
    if (this.#timeout !== undefined || this.isReady) return;
    const left = this.#end - performance.now();
    if (left <= 0) {
      onceAllIsHeard(() => this.ready());
      return;
    }
    this.#timeout = setTimeout(
      () => {
        // It may also come a little early.
        this.#timeout = undefined;
        this.arm();
      },
      Math.min(Math.ceil(left), LONGEST_MS),
    );
  }

  disarm() {
    clearTimeout(this.#timeout);
    this.#timeout = undefined;
  }
}
