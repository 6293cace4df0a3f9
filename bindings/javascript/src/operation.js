/** One call of a function, from its arguments to its result or its error. */
import { setMaxListeners } from 'node:events';
import { read } from './conversion.js';
import * as errors from './errors.js';
import { notify } from './listeners.js';
import { DEADLINES, accepted } from './options.js';
import { Requests, checkLedger } from './requests.js';
import { PREFIX } from './settings.js';
import { functions } from './wit.js';
import { camel, sentence } from './words.js';

/**
 * Calls a function, and returns its result.
 *
 * @param {any} shared what clients share
 * @param name of the function
 * @param given its argument
 * @param {any} options as they were given
 */
export async function operate(shared, name, given, options) {
  const fn = functions[name];
  const { json, call, signal } = checked(operate, () => argumentsOf(shared, name, given, options));
  if (!shared.machine.isReady) await prepare(shared, fn);
  const { outcome, isFromLedger, cause, creating, abort } = await run(shared, call, { signal });
  const { external_id: externalId } = json;
  // Identifies the request of an error or an id for the user.
  const row = externalId === undefined ? {} : { externalId };
  if (!outcome) throw Object.assign(driverFailure(fn.creates, creating.size > 0, cause), row);
  if (outcome.Err !== undefined) {
    const error = Object.assign(returnedError(outcome.Err, fn), row);
    // Nothing came of it: it rejects as `fetch` does.
    if (abort && !error.mayHaveCreated) throw abort.reason;
    if (abort) error.cause = abort.reason;
    throw error;
  }
  // An abandoned wait ends early with what it saw last, which is not the result of a wait that was aborted.
  if (abort && fn.form === 'wait' && 'Pending' in outcome.Ok[name].outcome) throw abort.reason;
  try {
    return fn.creates ? created(shared, fn, row, outcome.Ok[name], isFromLedger) : fn.read(outcome.Ok[name]);
  } catch (cause) {
    // Whatever came, it was created.
    throw Object.assign(driverFailure(fn.creates, fn.creates, cause), row);
  }
}

/** Returns what `operateBatch` takes, and throws if it is not allowed. */
export function batchOf(shared, given, options) {
  return checked(batchOf, () => {
    const { options: others, once, timeoutMs, signal } = accepted('batch', options);
    const requests = new Requests(given, once, shared);
    const call = { call: { CreateDocketsV2: timeoutMs }, options: others, requests: requests.all };
    return { requests, call, timeoutMs, signal };
  });
}

/**
 * Runs a batch. Each request that it has taken gets a result: `{ index, ok, value }` or
 * `{ index, ok, error }`, with its `externalId` if it has one.
 *
 * @param results of a `Batch`
 */
export async function operateBatch(shared, { requests, call, timeoutMs, signal }, results) {
  const fn = functions.CreateDocketsV2;
  const untilMs = shared.clock.now() + timeoutMs;
  const { open } = requests;
  const { drain } = results;
  let abort;
  let failure;
  const report = (row, result) => {
    open.delete(row.index);
    results.add(Object.freeze({ ...row, ...result }));
  };
  const fail = (row, error) => report(row, { ok: false, error: Object.assign(error, row) });
  const item = (index, { Ok: ok, Err: error }, isFromLedger) => {
    const row = open.get(index);
    if (error !== undefined) {
      const it = returnedError(error, fn);
      if (abort) it.cause = abort.reason;
      fail(row, it);
      return;
    }
    try {
      report(row, { ok: true, value: created(shared, fn, row, ok, isFromLedger) });
    } catch (cause) {
      fail(row, driverFailure(true, true, cause));
    }
  };
  const more = async (handOver) => {
    try {
      await results.room();
      if (drain.signal.aborted) return;
      const isLate = shared.clock.now() >= untilMs;
      const next = await requests.next(isLate ? 1 : undefined);
      // One more shows whether there are more. It ends as timed out.
      if (isLate && next.requests.length > 0) {
        next.is_last = true;
        const message = `options.timeoutMs was over: no request after requests[${requests.count - 1}] was taken`;
        failure = { error: new errors.TimedOut(message) };
      }
      handOver(next);
    } catch (error) {
      failure = { error };
      drain.abort(error);
    }
  };
  const listeners = { signal, drained: drain.signal, item, more, onAbort: (it) => (abort = it) };
  shared.unread.add(results.close);
  try {
    if (!shared.machine.isReady) await prepare(shared, fn);
    const { outcome, cause, creating } = await run(shared, call, listeners);
    if (outcome?.Err !== undefined) throw returnedError(outcome.Err, fn);
    const lost = outcome ? [] : [...open.values()];
    for (const row of lost) fail(row, driverFailure(true, creating.has(row.index), cause));
    // Otherwise it would seem that there were no more.
    if (signal?.aborted && !requests.areAllTaken) failure ??= { error: signal.reason };
  } finally {
    shared.unread.delete(results.close);
    await requests.close();
  }
  if (failure) throw failure.error;
}

/** Reads a delivery, without any settings. */
export async function parse(shared, body) {
  const fn = functions.ParseDocketCompleted;
  const { Ok: ok, Err: error } = await shared.machine.parse(fn.write(body, fn.name)).catch((cause) => {
    throw driverFailure(false, false, cause);
  });
  if (error !== undefined) throw returnedError(error, fn);
  return ok === null ? undefined : fn.read(ok);
}

/** Makes the machine ready for a function. */
async function prepare({ machine, settingNames }, fn) {
  const refused = await machine.ready().catch((cause) => {
    throw driverFailure(fn.creates, false, cause);
  });
  if (refused !== undefined) throw returnedError(refused, fn, settingNames);
}

/**
 * Runs it until it is done, `{ outcome, isFromLedger, abort }`, or lost, `{ cause, creating, abort }`;
 * `abort` is there if a signal ended it.
 *
 * @param {any} listeners what is notified, and the signals that end it
 * @returns {Promise<any>}
 */
function run({ machine }, call, listeners) {
  const { signal, drained, onAbort, ...listener } = listeners;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let abort;
    const unlisten = [];
    const end = (result) => {
      for (const forget of unlisten) forget();
      resolve(Object.assign(result, { abort }));
    };
    const operation = machine.begin(call, { ...listener, end, aborted: reject });
    const listen = (it, stop) => {
      if (!it) return;
      const onSignal = () => {
        abort ??= { reason: it.reason };
        onAbort?.(abort);
        stop();
      };
      // Many calls may have one, which Node would take for a leak.
      setMaxListeners(0, it);
      it.addEventListener('abort', onSignal, { once: true });
      unlisten.push(() => it.removeEventListener('abort', onSignal));
      if (it.aborted) onSignal();
    };
    listen(signal, () => machine.abandon(operation));
    listen(drained, () => machine.drain(operation));
  });
}

/** Returns what was created. Reports it before the caller gets it, unless an earlier call created it. */
function created({ onCreated, warn }, fn, row, json, isFromLedger = false) {
  const value = read({ ...json, from_ledger: isFromLedger });
  if (onCreated && !isFromLedger) {
    const id = value.docketId ?? value.taskId ?? value.agentId;
    notify('onCreated', onCreated, Object.freeze({ function: fn.wit, id, ...row }), warn);
  }
  return value;
}

// -------------------------------------------------------------------------------- how it fails

/** The classes of errors, by their kinds. */
const CLASSES = new Map(
  Object.values(/** @type {any} */ (errors))
    .filter(({ prototype }) => prototype.kind)
    .map((Class) => [Class.prototype.kind, Class]),
);

/**
 * Returns an error of the client without I/O, in the words of the function that was called.
 *
 * @param {Map<string, string>} settingNames the names of the options that stand for variables
 */
function returnedError(json, fn, settingNames = new Map()) {
  const { kind, message, ...attributes } = read(json);
  const { problem } = attributes;
  const isInProgress = kind === 'outcome-unknown' && problem?.subject === 'key';
  const Class = isInProgress ? errors.InProgress : CLASSES.get(kind);
  if (!problem) return new Class(message, attributes);
  const translated = { ...problem, subject: subjectName(problem.subject, fn, settingNames) };
  attributes.problem = Object.freeze(translated);
  return new Class(message.replace(sentence(problem), sentence(translated)), attributes);
}

/**
 * Returns the name that users know of what is at fault: `toPhoneNumber`, `options.timeoutMs`, or a
 * setting's variable, with its option if one stands over it. Keys of free-form JSON stay as they are.
 */
function subjectName(subject, { form }, settingNames) {
  if (subject.startsWith(PREFIX)) {
    const option = settingNames.get(subject);
    return option === undefined ? subject : `${option} (${subject})`;
  }
  if (subject === 'key' && form === 'create') return 'options.key';
  const [, option] = /^(?:(?:wait|options)\.)?(account|deadline-ms|timeout-ms)$/.exec(subject) ?? [];
  if (option) return `options.${option === 'deadline-ms' ? DEADLINES[form] : camel(option)}`;
  const [names] = /^.*?(?:\b(?:call-context|extra|tools|body)(?=\.)|$)/s.exec(subject);
  return camel(names) + subject.slice(names.length);
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

function checked(beginning, read) {
  try {
    return read();
  } catch (refusal) {
    // The stack begins where the user's call does. What a getter of theirs throws is left as it is.
    if (refusal instanceof errors.RequestError) Error.captureStackTrace?.(refusal, beginning);
    throw refusal;
  }
}

/** Returns the call as the client without I/O has it, and beside it what is the driver's business. */
function argumentsOf({ ledger }, name, given, options) {
  const { name: argument, write, form } = functions[name];
  const json = write(given, argument);
  const { options: others, once, timeoutMs, notFoundIsPending, signal } = accepted(form, options);
  const value = form === 'wait' ? [json, { timeout_ms: timeoutMs, not_found_is_pending: notFoundIsPending }] : json;
  if (once !== undefined) checkLedger(once, 'options.once', ledger);
  const call = { call: { [name]: value }, options: others, once };
  return { json, call, signal };
}
