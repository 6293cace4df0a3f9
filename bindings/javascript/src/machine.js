/**
 * Drives the client without I/O: passes on events, and carries out effects. It knows nothing of
 * HTTP, which is a transport's business, and decides nothing.
 */
import { Claims } from './claims.js';
import { Exchange } from './exchange.js';
import { Instance, compiledOnce } from './instance.js';

/** How a request was delivered that cannot have created anything. */
const NOT_SENT = new Set(['NotSent', 'Refused']);

export class Machine {
  #host;

  /** None before the first operation, and after one was lost. */
  #instance;
  #operations = new Map();
  #exchanges = new Map();
  #claims;
  #lastOperation = 0;
  /** The events since the last step. */
  #events = [];
  /** The operations whose caller was aborted since then. */
  #abandoned = new Set();
  #isScheduled = false;
  #isReading = false;
  #wakeAtMs = undefined;
  #disarm = undefined;

  /**
   * @param {any} host what it has of the world: `environment`, `transport`, `clock`,
   * `ledger`, `log(line)`, `warn(message, error)`
   */
  constructor(host) {
    this.#host = host;
    this.#claims = new Claims(host);
  }

  /** Reads a delivery, in an instance without settings. */
  async parse(delivery) {
    return new Instance(await compiledOnce()).parse(delivery);
  }

  get isReady() {
    return this.#instance !== undefined;
  }

  /** Makes an instance ready; returns the error with which it refuses its settings, if it does. */
  async ready() {
    if (this.#instance) return undefined;
    const module = await compiledOnce();
    if (this.#instance) return undefined;
    const instance = new Instance(module);
    const { environment, ledger } = this.#host;
    const seed = Math.floor(Math.random() * 2 ** 53);
    const error = instance.configure(environment, seed, ledger !== undefined);
    if (!error) this.#instance = instance;
    return error;
  }

  /**
   * Begins an operation, once it is ready; a batch with all its `requests`, or without any to ask for
   * them. `listener` has `item(index, created, isFromLedger)`, `more(handOver)` if requests are asked for,
   * and one of these for the end: `aborted(error)` by the
   * transport; or `end` with `{ outcome, isFromLedger }`, or with `{ cause, creating }` if the instance
   * was lost, where `creating` are the items (`undefined` without a batch) that may have been created.
   *
   * Returns what it can be drained and abandoned by.
   */
  begin({ call, options, once, requests = undefined }, listener) {
    const number = ++this.#lastOperation;
    const operation = { number, listener, open: 0, creating: new Set(), isDraining: false, recorded: undefined };
    this.#operations.set(number, operation);
    this.#enqueue([{ Begin: { operation: number, call, options, once } }]);
    if (requests) this.#handOver(operation, requests);
    return operation;
  }

  /** Sends nothing more for an operation, and abandons it when the open exchanges have ended. */
  drain(operation) {
    operation.isDraining = true;
    if (operation.open === 0) this.abandon(operation);
  }

  /** Ends an operation with what has come of its answers by now. */
  abandon(operation) {
    if (!this.#operations.has(operation.number)) return;
    this.#abandoned.add(operation);
    this.#stepAfterInput();
  }

  #enqueue(events) {
    this.#events.push(...events);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#host.clock.soon(() => {
      this.#isScheduled = false;
      // Nothing may be sent meanwhile for what was abandoned.
      if (this.#isReading) return;
      if (this.#isDue(this.#host.clock.now())) this.#stepAfterInput();
      else this.#step();
    });
  }

  #isDue(nowMs) {
    return this.#wakeAtMs !== undefined && nowMs >= this.#wakeAtMs;
  }

  /** Steps once what has come by now was read: it counts before time does. */
  #stepAfterInput() {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#host.clock.afterPendingInput(() => {
      this.#isReading = false;
      this.#step();
    });
  }

  #step() {
    const nowMs = Math.floor(this.#host.clock.now());
    const events = this.#events;
    const abandoned = this.#abandoned;
    this.#events = [];
    this.#abandoned = new Set();
    try {
      const isDue = this.#isDue(nowMs);
      if (isDue || abandoned.size > 0) {
        for (const [number, exchange] of this.#exchanges) {
          if (abandoned.has(exchange.operation)) events.push(...exchange.withdrawn());
          else if (isDue) events.push(...exchange.arrived());
          if (exchange.isOver) this.#cancel(number);
        }
        for (const { number } of abandoned) if (this.#operations.has(number)) events.push({ Abandon: number });
      }
      const { effects, wake_at_ms: wakeAtMs } = this.#instance.step(events, nowMs, secondsOf(this.#host.clock.date()));
      this.#wakeAtMs = wakeAtMs ?? undefined;
      for (const effect of effects) this.#apply(effect);
    } catch (cause) {
      this.#lose(cause);
    }
    this.#arm();
  }

  #apply(effect) {
    if (effect.Send) this.#send(effect.Send);
    else if (effect.Done) this.#end(effect.Done);
    else if (effect.Item) this.#endItem(effect.Item);
    else if (effect.More !== undefined) this.#askForMore(effect.More);
    else if (effect.Claim) this.#claim(effect.Claim);
    else if (effect.Record) this.#claims.record(effect.Record);
    else if (effect.Observe) this.#claims.observe(effect.Observe);
    else if (effect.Log !== undefined) this.#host.log(effect.Log);
    else if (effect.Abandon !== undefined) this.#cancel(effect.Abandon);
    else throw new Error(`an unknown effect: ${Object.keys(effect)}`);
  }

  #send({ exchange: number, operation: of, item: index, creates, request }) {
    const operation = this.#operations.get(of);
    const { listener, creating } = operation;
    const item = index ?? undefined;
    if (creates) creating.add(item);
    const exchange = new Exchange(number, request, operation, (events, delivery, error) => {
      if (error) listener.aborted(error);
      if (NOT_SENT.has(delivery)) creating.delete(item);
      this.#enqueue(events);
      this.#close(number, operation);
    });
    this.#exchanges.set(number, exchange);
    operation.open++;
    if (operation.isDraining) {
      exchange.fail('NotSent', 'the batch was left before this was sent');
      return;
    }
    exchange.cancel = this.#host.transport.send(request, exchange);
  }

  /** Asks for requests of a batch, unless it sends nothing more. */
  #askForMore(number) {
    const operation = this.#operations.get(number);
    if (!operation || operation.isDraining) return;
    operation.listener.more((requests) => this.#handOver(operation, requests));
  }

  #handOver({ number }, requests) {
    if (this.#operations.has(number)) this.#enqueue([{ Requests: { operation: number, ...requests } }]);
  }

  #claim(claim) {
    const operation = this.#operations.get(claim.operation);
    this.#claims.begin(claim, operation, (found) => this.#enqueue([{ Claimed: { claim: claim.claim, found } }]));
  }

  #cancel(number) {
    const exchange = this.#exchanges.get(number);
    if (!exchange) return;
    exchange.isOver = true;
    exchange.cancel?.();
    this.#close(number, exchange.operation);
  }

  /** Forgets an exchange that is over, and abandons its operation if that drains and has no other. */
  #close(number, operation) {
    this.#exchanges.delete(number);
    operation.open--;
    if (operation.isDraining && operation.open === 0) this.abandon(operation);
  }

  #endItem({ operation: number, index, created, from_ledger: isFromLedger }) {
    const operation = this.#operations.get(number);
    operation?.creating.delete(index);
    report(operation, (listener) => listener.item(index, created, isFromLedger));
  }

  #end({ operation: number, outcome, from_ledger: isFromLedger }) {
    const operation = this.#operations.get(number);
    this.#operations.delete(number);
    report(operation, (listener) => listener.end({ outcome, isFromLedger }));
  }

  /** Drops the instance: every operation is notified, and the next one gets another instance. */
  #lose(cause) {
    this.#instance = undefined;
    this.#events = [];
    this.#abandoned.clear();
    this.#wakeAtMs = undefined;
    const operations = [...this.#operations.values()];
    this.#operations.clear();
    for (const number of [...this.#exchanges.keys()]) this.#cancel(number);
    this.#claims.giveUp();
    for (const operation of operations) report(operation, ({ end }) => end({ cause, creating: operation.creating }));
  }

  /** Sets the timer, while anything is under way: it would keep the process from ending. */
  #arm() {
    // Anew each time: the one before may be a timer of a test that has ended, which never fires.
    this.#disarm?.();
    this.#disarm = undefined;
    if (this.#wakeAtMs === undefined || this.#operations.size === 0) return;
    this.#disarm = this.#host.clock.after(Math.max(0, this.#wakeAtMs - this.#host.clock.now()), () => {
      this.#disarm = undefined;
      if (this.#isDue(this.#host.clock.now())) this.#stepAfterInput();
      else this.#arm();
    });
  }
}

/** Reports something of an operation, once all that it has recorded is on the disk. */
function report(operation, notify) {
  if (operation?.recorded) operation.recorded.then(() => notify(operation.listener));
  else if (operation) notify(operation.listener);
}

/** Seconds since 1970; 0 if the clock gives no time, as that of a test may. */
function secondsOf(dateMs) {
  return dateMs >= 0 && Number.isFinite(dateMs) ? Math.floor(dateMs / 1000) : 0;
}
