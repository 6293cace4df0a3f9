/** One call from its arguments to its result. */
import { setMaxListeners } from 'node:events';
import { functions, types } from '../generated/wit.js';
import { fromPlain, invalidInput, refuse, toPlain } from './conversion.js';
import { signatureOf } from './core.js';
import { aborted, broken, neverBegun, returned } from './failure.js';
import { Timer } from './pollable.js';
import { camel, isPlain } from './words.js';

/**
 * Makes a call in one of the instances.
 *
 * @param name of the function, such as `dockets.create`
 * @param given its arguments without the options
 */
export async function operate(name, given, options, instances) {
  const called = functions[name];
  const { values, ownTimeMs, signal, timeoutMs } = accepted(called, given, options);
  const startMs = performance.now();
  const ending = new Ending(signal);
  try {
    ending.after(timeoutMs, () => new DOMException('The call took too long', 'TimeoutError'));
    const queueMs = ownTimeMs ?? instances.deadlineMs;
    const stopQueueing = ending.after(queueMs, () => neverBegun(queueMs));
    const instance = await taken(called, instances, ending, startMs);
    stopQueueing();
    try {
      ending.onEnd = () => instance.abandon('aborted by the caller');
      if (ending.isReached) throw ending.reason;
      const waitedMs = Math.floor(performance.now() - startMs);
      const arguments_ = withoutTime(called, values, waitedMs);
      return await result(name, called, instance, arguments_, ending, startMs);
    } finally {
      instances.give(instance);
    }
  } finally {
    ending.cancel();
  }
}

async function taken(called, instances, ending, startMs) {
  try {
    return await instances.take((leave) => (ending.onEnd = leave));
  } catch (cause) {
    throw ending.isReached ? ending.reason : broken(called, cause, [], startMs);
  }
}

async function result(name, called, instance, values, ending, startMs) {
  let plain;
  try {
    plain = await instance.call(called.core, signatureOf(name), values);
  } catch (cause) {
    // Other requests of a batch may be on their way.
    instance.abandon('given up, since the component failed');
    const fail = ending.isReached ? aborted : broken;
    throw fail(called, ending.isReached ? ending.reason : cause, instance.attempts, startMs);
  }
  if (plain.tag === 'err') throw returned(plain.val, called);
  return value(called, plain.val);
}

function value(called, plain) {
  const [type] = called.result.result;
  if (!type.list?.result) return fromPlain(type, plain);
  const [element] = type.list.result;
  return Object.freeze(
    plain.map(({ tag, val }) =>
      Object.freeze(
        tag === 'ok'
          ? { ok: true, value: fromPlain(element, val) }
          : { ok: false, error: returned(val, called) },
      ),
    ),
  );
}

// ---------------------------------------------------------------------------------- arguments

function accepted(called, given, options) {
  try {
    return checked(called, given, options);
  } catch (refusal) {
    // The stack begins where the user's call does.
    Error.captureStackTrace(refusal, operate);
    throw refusal;
  }
}

/**
 * The arguments as plain values, and what the options say besides.
 *
 * @param {Record<string, any>} options
 */
function checked(called, given, options = {}) {
  const { parameters, fromOptions } = called;
  // A signal in the place of the options would never be heard.
  if (!isPlain(options)) throw refuse('options', options, 'a plain object, such as { signal }');
  const { signal = null, ...others } = options;
  if (signal !== null && !(signal instanceof AbortSignal)) {
    throw refuse('options.signal', signal, 'an AbortSignal');
  }
  const remaining = [...given];
  const values = Object.entries(parameters).map(([name, type]) => {
    if (name === fromOptions) return ownOptions(name, type, others);
    return toPlain(type, remaining.shift(), types[type]?.record ? '' : camel(name));
  });
  if (fromOptions) {
    const own = values.at(-1);
    return { values, signal, ownTimeMs: own['timeout-ms'] ?? own };
  }
  return { values, signal, timeoutMs: time(others) };
}

/** What the options of a call say that has a time of its own. */
function ownOptions(name, type, options) {
  const fields = types[type]?.record;
  if (!fields) {
    refuseOthers(options, [camel(name)]);
    return toPlain(type, options[camel(name)], `options.${camel(name)}`);
  }
  refuseOthers(options, Object.keys(fields).map(camel));
  const said = { ...options };
  // What is not said is not so.
  for (const field in fields) if (fields[field] === 'bool') said[camel(field)] ??= false;
  return toPlain(type, said, 'options');
}

function time(options) {
  refuseOthers(options, ['timeoutMs']);
  const { timeoutMs } = options;
  return timeoutMs === undefined ? undefined : toPlain('u32', timeoutMs, 'options.timeoutMs');
}

function refuseOthers(options, names) {
  const other = Object.keys(options).find((name) => !names.includes(name));
  if (other === undefined) return;
  const allowed = ['signal', ...names].join(', ');
  throw invalidInput(`options.${other}`, 'an option that there is not', allowed);
}

/** The same values, with less time for what has a time of its own: it counts from the call. */
function withoutTime({ fromOptions }, values, waitedMs) {
  if (!fromOptions || waitedMs === 0) return values;
  const less = (milliseconds) => (milliseconds === 0 ? 0 : Math.max(1, milliseconds - waitedMs));
  const own = values.at(-1);
  const shortened =
    typeof own === 'number' ? less(own) : { ...own, 'timeout-ms': less(own['timeout-ms']) };
  return [...values.slice(0, -1), shortened];
}

// ----------------------------------------------------------------------------------- the end

/** When and why a call ends before it is done: the caller's signal, or a time. */
class Ending {
  isReached = false;
  reason = undefined;
  /** Called once, with the reason. */
  onEnd = undefined;

  #signal;
  #timers = new Set();

  constructor(signal) {
    this.#signal = signal;
    if (!signal) return;
    signal.throwIfAborted();
    // Many calls may have one signal; Node would take that for a leak.
    setMaxListeners(Infinity, signal);
    signal.addEventListener('abort', this);
  }

  /** Ends after a time; returns what takes that back. */
  after(milliseconds, reason) {
    if (milliseconds === undefined) return () => {};
    const timer = new Timer(milliseconds);
    timer.onReady = () => this.#end(reason());
    timer.arm();
    this.#timers.add(timer);
    return () => this.#stop(timer);
  }

  handleEvent() {
    this.#end(this.#signal.reason);
  }

  /** Nothing ends any more. */
  cancel() {
    this.#signal?.removeEventListener('abort', this);
    for (const timer of this.#timers) this.#stop(timer);
  }

  #stop(timer) {
    timer.onReady = undefined;
    timer.disarm();
    this.#timers.delete(timer);
  }

  #end(reason) {
    if (this.isReached) return;
    this.isReached = true;
    this.reason = reason;
    this.onEnd?.(reason);
  }
}
