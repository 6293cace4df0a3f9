/** One call of a function, from its arguments to its result or its error. */
import { FROM_OPTIONS, parameterName, reader, written } from './conversion.js';
import * as errors from './errors.js';
import { notify, progress } from './listeners.js';
import { accepted, optionNames } from './options.js';
import { functions, types } from './wit.js';
import { camel, pascal, sentence } from './words.js';

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
  const fn = functionOf(name);
  const { json, signal, onProgress } = checked(fn, given, options, defaults, operate);
  const ended = await run(shared, fn, json, { signal, answer: onProgress && progress(onProgress, shared) });
  const { outcome, cause, creating, abort } = ended;
  const row = fn.creates ? rowOf(json.call[name]) : {};
  if (!outcome) throw Object.assign(driverFailure(fn.creates, creating.size > 0, cause), row);
  if (outcome.Err !== undefined) {
    const error = Object.assign(returnedError(outcome.Err, fn), row);
    throw abort ? abortedError(error, abort.reason) : error;
  }
  // An abandoned wait ends early with what it saw last, which is not the result of a wait that was aborted.
  if (abort && fn.form === 'wait' && 'Pending' in outcome.Ok[name].outcome) throw abort.reason;
  try {
    return created(shared, fn, row, reader(fn.ok)(outcome.Ok[name]));
  } catch (cause) {
    // Whatever came, it was created.
    throw Object.assign(driverFailure(fn.creates, fn.creates, cause), row);
  }
}

/**
 * Begins a batch. `onResult` is called with each result as soon as it is known: `{ index, ok, value }`
 * or `{ index, ok, error }`; with all of them, unless nothing was begun.
 *
 * @param {AbortSignal} drained finishes what is open, and begins nothing more
 */
export async function operateBatch(shared, given, options, defaults, drained, onResult) {
  const name = 'CreateDocketsV2';
  const fn = functionOf(name);
  const { json, signal } = checked(fn, given, options, defaults, operateBatch);
  const [requests] = json.call[name];
  const read = reader(fn.ok.list.result[0]);
  let abort;
  const row = (index) => ({ index, ...rowOf(requests[index]) });
  const fail = (index, error) => onResult(Object.freeze({ index, ok: false, error: Object.assign(error, row(index)) }));
  const item = (index, { Ok: ok, Err: error }) => {
    if (error !== undefined) {
      const it = returnedError(error, fn);
      if (abort) it.cause = abort.reason;
      fail(index, it);
      return;
    }
    try {
      const value = created(shared, fn, row(index), read(ok));
      onResult(Object.freeze({ index, ok: true, value }));
    } catch (cause) {
      fail(index, driverFailure(true, true, cause));
    }
  };
  const onAbort = (it) => (abort = it);
  const { outcome, cause, creating } = await run(shared, fn, json, { signal, drained, item, onAbort });
  if (outcome?.Err !== undefined) throw returnedError(outcome.Err, fn);
  if (outcome) return;
  // Those that were reported stay as they are.
  requests.forEach((_, index) => fail(index, driverFailure(true, creating.has(index), cause)));
}

/** Reads a delivery, without any settings. */
export async function parse(shared, body) {
  const fn = functionOf('ParseDocketCompleted');
  const delivery = written('body', body, 'body');
  const { Ok: ok, Err: error } = await shared.machine.parse(delivery).catch((cause) => {
    throw driverFailure(false, false, cause);
  });
  if (error !== undefined) throw returnedError(error, fn);
  return ok === null ? undefined : reader(fn.ok)(ok);
}

/**
 * Runs it until it is done, `{ outcome }`, or lost, `{ cause, creating }`.
 *
 * @param {any} listeners what is notified, and the signals that end it
 */
async function run({ machine, signals, settingNames }, fn, { call, options }, listeners) {
  const { signal, drained, onAbort, ...listener } = listeners;
  signal?.throwIfAborted();
  const refused = await machine.ready().catch((cause) => {
    throw driverFailure(fn.creates, false, cause);
  });
  if (refused !== undefined) throw returnedError(refused, fn, settingNames);
  signal?.throwIfAborted();
  let abort;
  const unlisten = [];
  const ended = await new Promise((resolve, reject) => {
    const number = machine.begin(call, options, {
      ...listener,
      done: (outcome) => resolve({ outcome }),
      aborted: reject,
      lost: (cause, creating) => resolve({ cause, creating }),
    });
    const listen = (it, end) => {
      if (!it) return;
      const onSignal = () => {
        abort ??= { reason: it.reason };
        onAbort?.(abort);
        end();
      };
      unlisten.push(signals.listen(it, onSignal));
    };
    listen(signal, () => machine.abandon(number));
    listen(drained, () => machine.drain(number));
  });
  for (const end of unlisten) end();
  return { ...ended, abort };
}

/** Reports what was created before the caller gets it, and returns it. */
function created({ onCreated, warn }, fn, row, value) {
  if (fn.creates && onCreated) {
    const id = value.docketId ?? value.taskId ?? value.agentId;
    notify('onCreated', onCreated, Object.freeze({ function: fn.wit, id, ...row }), warn);
  }
  return value;
}

/** Identifies the request of an error or an id for the user. */
function rowOf({ external_id: externalId }) {
  return externalId === undefined ? {} : { externalId };
}

// -------------------------------------------------------------------------------- how it fails

/** The classes of errors, by the names of their cases in the client without I/O. */
const CLASSES = new Map(
  Object.values(/** @type {any} */ (errors))
    .filter(({ prototype }) => prototype.kind)
    .map((Class) => [pascal(Class.prototype.kind), Class]),
);

const NO_OPTIONS = new Map();

/**
 * Returns an error of the client without I/O, in the words of the function that was called.
 *
 * @param {Map<string, string>} settingNames the names of the options that stand for variables
 */
function returnedError(json, fn, settingNames = NO_OPTIONS) {
  if (typeof json === 'string') return new (CLASSES.get(json))('the host could not run it');
  const [[name, failure]] = Object.entries(json);
  const { message, ...attributes } = reader('failure')(failure);
  const { problem } = attributes;
  if (!problem) return new (CLASSES.get(name))(message, attributes);
  const translated = { ...problem, subject: inUsersWords(problem.subject, fn, settingNames) };
  attributes.problem = Object.freeze(translated);
  return new (CLASSES.get(name))(message.replace(sentence(problem), sentence(translated)), attributes);
}

/** A setting is named with its option, if one stands over the variable. */
function inUsersWords(subject, fn, settingNames) {
  const option = settingNames.get(subject);
  return option === undefined ? parameterName(fn, subject) : `${option} (${subject})`;
}

/** Returns the error of a call that its caller aborted, and that ended in this error. */
function abortedError(error, reason) {
  // Nothing came of it: it rejects as `fetch` does.
  if (!error.mayHaveCreated) return reason;
  error.cause = reason;
  return error;
}

/** Returns the error of a call whose instance, or the code around it, failed. */
function driverFailure(creates, mayHaveCreated, cause) {
  if (mayHaveCreated) {
    const message = 'the client failed after the request was sent: the create may have been processed';
    return new errors.OutcomeUnknown(message, { mayHaveCreated }, { cause });
  }
  return new errors.ExecutionFailed(`the client failed${creates ? '; nothing was created' : ''}`, {}, { cause });
}

// ----------------------------------------------------------------------------- what it is given

const known = new Map();

/** Returns a function by its name, with how it is called. */
function functionOf(name) {
  if (!known.has(name)) {
    const { parameters } = functions[name];
    const positional = Object.entries(parameters).filter(([it]) => !FROM_OPTIONS.includes(it));
    const given = positional.map(([it, type]) => ({ type, path: types[type]?.record ? '' : camel(it) }));
    const form = formOf(parameters);
    known.set(name, { ...functions[name], name, form, given, optionNames: optionNames(form) });
  }
  return known.get(name);
}

function formOf(parameters) {
  if ('wait' in parameters) return 'wait';
  return 'timeout-ms' in parameters ? 'batch' : 'call';
}

function checked(fn, given, options, defaults, beginning) {
  try {
    return argumentsOf(fn, given, options, defaults);
  } catch (refusal) {
    // The stack begins where the user's call does.
    Error.captureStackTrace?.(refusal, beginning);
    throw refusal;
  }
}

/** Returns the call as the client without I/O has it, and beside it what is the driver's business. */
function argumentsOf({ name, form, given }, values, options, defaults) {
  const json = given.map(({ type, path }, i) => written(type, values[i], path));
  const { options: others, timeoutMs, notFoundIsPending, signal, onProgress } = accepted(form, options, defaults);
  if (form === 'wait') json.push({ timeout_ms: timeoutMs, not_found_is_pending: notFoundIsPending });
  if (form === 'batch') json.push(timeoutMs);
  const call = { [name]: json.length === 1 ? json[0] : json };
  return { json: { call, options: others }, signal, onProgress };
}
