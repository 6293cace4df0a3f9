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
 * @param deadlineOf how long an operation of an account may take
 */
export async function operate(name, given, options, instances, deadlineOf) {
  const called = functions[name];
  const { values, signal, ownTimeMs } = accepted(called, given, options);
  const startMs = performance.now();
  const ending = new Ending(signal);
  try {
    const { account, 'deadline-ms': deadlineMs } = values.options ?? {};
    const queueMs = ownTimeMs ?? deadlineMs ?? deadlineOf(account);
    const stopQueueing = ending.after(queueMs, () => neverBegun(queueMs));
    const instance = await taken(called, instances, ending, startMs);
    stopQueueing();
    try {
      ending.onEnd = () => instance.abandon('aborted by the caller');
      if (ending.isReached) throw ending.reason;
      shorten(values, Math.floor(performance.now() - startMs));
      return await result(name, called, instance, Object.values(values), ending, startMs);
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
 * The arguments as plain values by their names, the signal, and the time of a call that has one of
 * its own.
 *
 * @param {Record<string, any>} options
 */
function checked({ parameters, fromOptions }, given, options = {}) {
  // A signal in the place of the options would never be heard.
  if (!isPlain(options)) throw refuse('options', options, 'a plain object, such as { signal }');
  const { signal = null, ...others } = options;
  if (signal !== null && !(signal instanceof AbortSignal)) {
    throw refuse('options.signal', signal, 'an AbortSignal');
  }
  const remaining = [...given];
  const values = {};
  const known = [];
  for (const [name, type] of Object.entries(parameters)) {
    if (!fromOptions.includes(name)) {
      values[name] = toPlain(type, remaining.shift(), types[type]?.record ? '' : camel(name));
      continue;
    }
    const record = types[type.option ?? type]?.record;
    const names = record ? Object.keys(record).map(camel) : [camel(name)];
    values[name] = record
      ? toPlain(type, Object.fromEntries(names.map((it) => [it, others[it]])), 'options')
      : toPlain(type, others[camel(name)], `options.${camel(name)}`);
    known.push(...names);
  }
  const unknown = Object.keys(others).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw invalidInput(`options.${unknown}`, 'an unknown option', ['signal', ...known].join(', '));
  }
  return { values, signal, ownTimeMs: values.wait?.['timeout-ms'] ?? values['timeout-ms'] };
}

/** Takes time from a call that has a time of its own: it counts from the call. */
function shorten(values, waitedMs) {
  const timed = values.wait ?? values;
  const timeoutMs = timed['timeout-ms'];
  if (timeoutMs > 0) timed['timeout-ms'] = Math.max(1, timeoutMs - waitedMs);
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
