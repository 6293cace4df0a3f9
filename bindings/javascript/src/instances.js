/** The instances of a client: one for each call that runs, used again, and never too many. */
import { core } from './core.js';
import { Instance } from './instance.js';

/** An instance whose memory has grown beyond this is not kept. */
const KEPT_BYTES = 4 * 1024 * 1024;

/** How long one is kept that is not used; at most twice as long. It has half a megabyte, or more. */
const KEPT_MS = 10_000;

/** Making one takes up to a millisecond, in which nothing else runs. */
const MADE_IN_A_TURN = 4;

export class Instances {
  #host;
  #most;
  #count = 0;
  /** The last one is used next, so those that are needed least lie at the bottom. */
  #idle = [];
  /** How many were idle all the time since some were given up last. */
  #leastIdle = 0;
  #keptMs;
  #givingUp;
  /** Who waits, first come first served. */
  #queue = new Set();
  #madeInThisTurn = 0;

  /**
   * @param host what they have of the world
   * @param most how many there may be
   */
  constructor(host, most, keptMs = KEPT_MS) {
    this.#host = host;
    this.#most = most;
    this.#keptMs = keptMs;
  }

  /** How many calls run. */
  get busy() {
    return this.#count - this.#idle.length;
  }

  /** How many there are. */
  get count() {
    return this.#count;
  }

  get queued() {
    return this.#queue.size;
  }

  /**
   * An instance, or a promise of one. `onCancel` is given what takes the caller out of the queue.
   */
  take(onCancel) {
    if (this.#queue.size === 0) {
      const instance = this.#idleOne() ?? this.#made();
      if (instance) return instance;
    }
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      this.#queue.add(waiter);
      onCancel((reason) => {
        this.#queue.delete(waiter);
        reject(reason);
      });
    });
  }

  /** Takes it back. */
  give(instance) {
    if (instance.isUsable && instance.memory.byteLength <= KEPT_BYTES) this.#keep(instance);
    else this.#count--;
    this.#serve();
  }

  #keep(instance) {
    this.#idle.push(instance);
    // Nothing ends later for this.
    this.#givingUp ??= this.#giveUpLater();
  }

  #giveUpLater() {
    return setTimeout(() => this.#giveUp(), this.#keptMs).unref();
  }

  /** Gives up what nobody has needed of late. */
  #giveUp() {
    this.#idle.splice(0, this.#leastIdle);
    this.#count -= this.#leastIdle;
    this.#leastIdle = this.#idle.length;
    this.#givingUp = this.#leastIdle > 0 ? this.#giveUpLater() : undefined;
  }

  #idleOne() {
    const instance = this.#idle.pop();
    this.#leastIdle = Math.min(this.#leastIdle, this.#idle.length);
    return instance;
  }

  #serve() {
    for (const waiter of this.#queue) {
      let instance;
      try {
        instance = this.#idleOne() ?? this.#made();
      } catch (error) {
        this.#queue.delete(waiter);
        waiter.reject(error);
        continue;
      }
      if (!instance) return;
      this.#queue.delete(waiter);
      waiter.resolve(instance);
    }
  }

  #made() {
    if (this.#count >= this.#most || this.#madeInThisTurn >= MADE_IN_A_TURN) return undefined;
    if (this.#madeInThisTurn++ === 0) {
      setImmediate(() => {
        this.#madeInThisTurn = 0;
        this.#serve();
      });
    }
    const instance = new Instance(core(), this.#host);
    this.#count++;
    return instance;
  }
}
