/**
 * One instance of the component's core module. It runs one call at a time; a call that waits is
 * unwound from the stack (Binaryen's Asyncify) and rewound when it goes on, so that the event loop
 * is free meanwhile.
 */
import { Memory } from './memory.js';
import { wasi } from './wasi.js';

/** Where the stack of a call is kept that waits; far more than it needs. */
const STACK_BYTES = 64 * 1024;

/** States of Asyncify. */
const UNWINDING = 1;
const REWINDING = 2;

/** The call was abandoned while it waited. */
export class Abandoned extends Error {}

export class Instance {
  resources = new Resources();
  /** The attempts of the call that runs, in order. */
  attempts = [];
  /** Whether another call may be made. */
  isUsable = true;

  #exports;
  #stack;
  #wait;
  #isAbandoned = false;
  /** Exchanges that are not over. */
  #open = new Set();

  /**
   * @param core the core module: `{ module, imports }`
   * @param host what it has of the world: environment, connections, stderr
   */
  constructor(core, host) {
    const functions = wasi(this, host);
    const imports = {};
    for (const { module, interface: from, name } of core.imports) {
      const found = functions[from]?.[name];
      if (!found) throw new Error(`the component imports ${module}#${name}, which is not there`);
      (imports[module] ??= {})[name] = found;
    }
    this.#exports = new WebAssembly.Instance(core.module, imports).exports;
    this.memory = new Memory(this.#exports);
    this.#stack = this.memory.allocate(8 + STACK_BYTES, 8);
    this.memory.setU32(this.#stack + 4, this.#stack + 8 + STACK_BYTES);
  }

  /**
   * Calls a function. Throws what the component throws (a trap); the instance cannot be used then.
   *
   * @param name of the export
   * @param signature of the function, with which `values` become arguments
   */
  async call(name, signature, values) {
    this.attempts = [];
    const { [name]: run, [`cabi_post_${name}`]: free } = this.#exports;
    this.isUsable = false;
    const given = signature.lower(this.memory, values);
    let at = run(...given);
    while (this.#exports.asyncify_get_state() === UNWINDING) {
      this.#exports.asyncify_stop_unwind();
      await this.#wait.promise;
      if (this.#isAbandoned) throw new Abandoned();
      this.#exports.asyncify_start_rewind(this.#stack);
      at = run(...given);
    }
    const returned = signature.lift(this.memory, at >>> 0);
    free(at);
    this.attempts = [];
    // What a call leaves behind would be there for ever.
    this.isUsable = this.resources.isEmpty;
    return returned;
  }

  /** An exchange has begun. A wait may have thousands: only what errors tell of them is kept. */
  began(exchange) {
    this.attempts.push(exchange.attempt);
    this.#open.add(exchange);
    exchange.onOver = () => this.#open.delete(exchange);
  }

  /** Leaves the call, for ever: nothing is sent any more. `reason` is told of open exchanges. */
  abandon(reason) {
    this.isUsable = false;
    this.#isAbandoned = true;
    for (const exchange of this.#open) exchange.abandon(reason);
    this.#wait?.end();
  }

  /** For `poll`: leaves the stack until one of these is ready. */
  suspend(pollables) {
    this.#wait = wait(pollables);
    this.memory.setU32(this.#stack, this.#stack + 8);
    this.#exports.asyncify_start_unwind(this.#stack);
  }

  /** For `poll`: whether it is called to go on. */
  resumes() {
    if (this.#exports.asyncify_get_state() !== REWINDING) return false;
    this.#exports.asyncify_stop_rewind();
    return true;
  }
}

/** Waits for any of them: a promise, and a way to end it early. */
function wait(pollables) {
  let resolve;
  const promise = new Promise((keep) => (resolve = keep));
  const ready = () => {
    for (const pollable of pollables) pollable.onReady = undefined;
    resolve();
  };
  for (const pollable of pollables) {
    pollable.onReady = ready;
    pollable.arm();
  }
  const end = () => {
    for (const pollable of pollables) pollable.disarm();
    ready();
  };
  return { promise, end };
}

/** What the guest has handles of. 0 is none. */
class Resources {
  #table = [undefined];
  #free = [];

  get(handle) {
    const resource = this.#table[handle];
    if (resource === undefined) throw new Error(`there is no resource ${handle}`);
    return resource;
  }

  add(resource) {
    const handle = this.#free.pop() ?? this.#table.length;
    this.#table[handle] = resource;
    return handle;
  }

  take(handle) {
    const resource = this.get(handle);
    this.#table[handle] = undefined;
    this.#free.push(handle);
    return resource;
  }

  drop(handle) {
    this.take(handle);
  }

  get isEmpty() {
    return this.#table.length === 1 + this.#free.length;
  }
}
