/** One call of a function, from its arguments to its result. */
import { functions, types } from '../generated/wit.js';
import { later, notify } from './attempt_log.js';
import { FROM_OPTIONS, reader, written } from './conversion.js';
import { aborted, broken, returned } from './failure.js';
import { accepted, optionNames } from './options.js';
import { camel } from './words.js';

/**
 * Calls a function, and returns its result.
 *
 * @param {any} shared what clients share
 * @param name of the function
 * @param {any[]} given its arguments without the options
 * @param {any} options as they were given
 * @param defaults of them
 */
export async function operate(shared, name, given, options, defaults) {
  const called = calledAs(name);
  const { json, signal, onProgress } = checked(called, given, options, defaults, operate);
  const ended = await run(shared, called, json, {
    signal,
    heard: onProgress && progress(onProgress, shared),
  });
  const { outcome, cause, creating, abort } = ended;
  const row = called.creates ? rowOf(json.call[name]) : {};
  if (!outcome) throw of(row, broken(called.creates, creating.size > 0, cause));
  if (outcome.Err === undefined) {
    // An abandoned wait ends early with what it saw last, which is not a result of a wait that was aborted.
    if (abort && called.kind === 'wait' && 'Pending' in outcome.Ok[name].outcome) throw abort.reason;
    // Whatever it was that came, it was created.
    return guarded(called, row, () => created(shared, called, row, reader(called.ok)(outcome.Ok[name])));
  }
  const error = of(row, returned(outcome.Err, called));
  throw abort ? aborted(error, abort.reason) : error;
}

/**
 * Begins a batch. `take` gets each result as soon as it is known: `{ index, ok, value }` or
 * `{ index, ok, error }`. It reports all of them, unless nothing was begun.
 *
 * @param {AbortSignal} left finishes what is open, and begins nothing more
 */
export async function operateBatch(shared, given, options, defaults, left, take) {
  const name = 'CreateDocketsV2';
  const called = calledAs(name);
  const { json, signal } = checked(called, given, options, defaults, operateBatch);
  const [requests] = json.call[name];
  const read = reader(called.ok.list.result[0]);
  let abort;
  const fail = (index, error) => take(Object.freeze({ index, ok: false, error: of(rowOf(requests[index], index), error) }));
  const item = (index, { Ok: ok, Err: error }) => {
    if (error !== undefined) {
      const it = returned(error, called);
      if (abort) it.cause = abort.reason;
      fail(index, it);
      return;
    }
    try {
      const value = created(shared, called, rowOf(requests[index], index), read(ok));
      take(Object.freeze({ index, ok: true, value }));
    } catch (cause) {
      fail(index, broken(true, true, cause));
    }
  };
  const onAbort = (it) => (abort = it);
  const { outcome, cause, creating } = await run(shared, called, json, { signal, left, item, onAbort });
  if (outcome?.Err !== undefined) throw returned(outcome.Err, called);
  if (outcome) return;
  // Those that were reported stay as they are.
  requests.forEach((_, index) => fail(index, broken(true, creating.has(index), cause)));
}

/** A delivery, read without any settings. */
export async function parse(shared, body) {
  const called = calledAs('ParseDocketCompleted');
  const delivery = written('body', body, 'body');
  const { Ok: ok, Err: error } = await shared.machine.parse(delivery).catch((cause) => {
    throw broken(false, false, cause);
  });
  if (error !== undefined) throw returned(error, called);
  return ok === null ? undefined : reader(called.ok)(ok);
}

// ------------------------------------------------------------------------------------ its way

/**
 * Runs it until it is done, `{ outcome }`, or lost, `{ cause, creating }`.
 *
 * @param {any} listeners what is notified, and the signals that end it
 */
async function run({ machine, signals, settingNames }, called, { call, options }, listeners) {
  const { signal, left, ...told } = listeners;
  signal?.throwIfAborted();
  const refused = await machine.ready().catch((cause) => {
    throw broken(called.creates, false, cause);
  });
  if (refused !== undefined) throw returned(refused, called, settingNames);
  signal?.throwIfAborted();
  let abort;
  const leave = [];
  const ended = await new Promise((resolve, reject) => {
    const number = machine.begin(call, options, {
      ...told,
      done: (outcome) => resolve({ outcome }),
      misplayed: (error) => reject(error),
      broken: (cause, creating) => resolve({ cause, creating }),
    });
    const listen = (it, end) => {
      if (!it) return;
      const heard = () => {
        abort ??= { reason: it.reason };
        told.onAbort?.(abort);
        end();
      };
      leave.push(signals.listen(it, heard));
    };
    listen(signal, () => machine.abandon(number));
    listen(left, () => machine.leave(number));
  });
  for (const end of leave) end();
  return { ...ended, abort };
}

/** One listener for each signal: many calls may have one, and Node would take that for a leak. */
export class Signals {
  #heard = new WeakMap();

  /** Calls `then` when it is aborted; returns what takes that back. */
  listen(signal, then) {
    if (signal.aborted) {
      then();
      return () => {};
    }
    let heard = this.#heard.get(signal);
    if (!heard) {
      const all = new Set();
      heard = { all, tell: () => [...all].forEach((it) => it()) };
      this.#heard.set(signal, heard);
      signal.addEventListener('abort', heard.tell, { once: true });
    }
    const { all, tell } = heard;
    all.add(then);
    return () => {
      all.delete(then);
      if (all.size > 0) return;
      signal.removeEventListener('abort', tell);
      this.#heard.delete(signal);
    };
  }
}

// -------------------------------------------------------------------------------- what it says

/** Tells the listener of a wait what the service answered. */
function progress(listener, { clock, warn }) {
  const beginMs = clock.now();
  let answers = 0;
  return (status, body) => {
    const told = { answers: ++answers, waitedMs: Math.round(clock.now() - beginMs), status };
    Object.defineProperty(told, 'raw', { get: () => parsed(body) });
    later('onProgress', listener, Object.freeze(told), warn);
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function guarded(called, row, read) {
  try {
    return read();
  } catch (cause) {
    throw of(row, broken(called.creates, called.creates, cause));
  }
}

/** Reports what was created before the caller gets it, and returns it. */
function created({ onCreated, warn }, called, row, value) {
  if (called.creates && onCreated) {
    const id = value.docketId ?? value.taskId ?? value.agentId;
    notify('onCreated', onCreated, Object.freeze({ function: called.wit, id, ...row }), warn);
  }
  return value;
}

/** Identifies the request of an error or an id for the user. */
function rowOf({ external_id: externalId }, index = undefined) {
  const row = {};
  if (index !== undefined) row.index = index;
  if (externalId !== undefined) row.externalId = externalId;
  return row;
}

function of(row, error) {
  return Object.assign(error, row);
}

// ----------------------------------------------------------------------------- what it is given

function kindOf({ parameters }) {
  if ('wait' in parameters) return 'wait';
  return 'timeout-ms' in parameters ? 'batch' : 'call';
}

const known = new Map();

function calledAs(name) {
  let called = known.get(name);
  if (!called) {
    const kind = kindOf(functions[name]);
    const parameters = Object.entries(functions[name].parameters);
    const positional = parameters.filter(([it]) => !FROM_OPTIONS.includes(it));
    const given = positional.map(([it, type]) => ({ type, path: types[type]?.record ? '' : camel(it) }));
    called = { ...functions[name], name, kind, given, optionNames: optionNames(kind) };
    known.set(name, called);
  }
  return called;
}

function checked(called, given, options, defaults, beginning) {
  try {
    return argumentsOf(called, given, options, defaults);
  } catch (refusal) {
    // The stack begins where the user's call does.
    Error.captureStackTrace?.(refusal, beginning);
    throw refusal;
  }
}

/** The call as the client without I/O has it, and what is the driver's business. */
function argumentsOf({ name, kind, given }, values, options, defaults) {
  const json = given.map(({ type, path }, i) => written(type, values[i], path));
  const { options: others, timeoutMs, notFoundIsPending, signal, onProgress } = accepted(kind, options, defaults);
  if (kind === 'wait') json.push({ timeout_ms: timeoutMs, not_found_is_pending: notFoundIsPending });
  if (kind === 'batch') json.push(timeoutMs);
  const call = { [name]: json.length === 1 ? json[0] : json };
  return { json: { call, options: others }, signal, onProgress };
}
