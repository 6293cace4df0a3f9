/**
 * Drives the client without I/O: hands over what happened, and does what it says. It knows nothing
 * of HTTP, which is a transport's business, and decides nothing.
 */
import { Exchange, described } from './exchange.js';
import { Guest } from './guest.js';

/** What a transport says where nothing can have been created. */
const NOT_SENT = new Set(['NotSent', 'Refused', 'Denied']);

export class Machine {
  #module;
  #environment;
  #transport;
  #clock;
  #log;

  /** None before the first operation, and after one was lost. */
  #guest;
  #operations = new Map();
  #exchanges = new Map();
  #lastOperation = 0;
  /** What happened since the last step. */
  #events = [];
  /** The operations that nobody waits for any more since then. */
  #abandoned = new Set();
  #isScheduled = false;
  #isListening = false;
  #wakeAtMs = undefined;
  #armedForMs = undefined;
  #disarm = undefined;

  /**
   * @param {{
   *   module: () => Promise<WebAssembly.Module>,
   *   environment: string[][],
   *   transport: { send(request: any, exchange: Exchange): () => void },
   *   clock: any,
   *   log: (line: string) => void,
   * }} host what it has of the world
   */
  constructor({ module, environment, transport, clock, log }) {
    this.#module = module;
    this.#environment = environment;
    this.#transport = transport;
    this.#clock = clock;
    this.#log = log;
  }

  /** How many operations are under way. */
  get running() {
    return this.#operations.size;
  }

  /** A module whose settings were taken, or none where they are not needed. */
  async parse(delivery) {
    return new Guest(await this.#module()).parse(delivery);
  }

  /**
   * Makes a module ready; returns the error with which it refuses its settings, if it does.
   */
  async ready() {
    if (this.#guest) return undefined;
    const module = await this.#module();
    if (this.#guest) return undefined;
    const guest = new Guest(module);
    const error = guest.configure(this.#environment, { Seed: Math.floor(Math.random() * 2 ** 53) });
    if (!error) this.#guest = guest;
    return error;
  }

  /**
   * Begins an operation, once it is ready. `operation` is notified by `item(index, created)`,
   * `heard(status, body)` of each answer, and once `done(outcome)`, `misplayed(error)` where the
   * script of a test has a mistake, or `broken(cause, creating)`, where `creating` are the items
   * (`undefined` without a batch) that may have been created.
   *
   * Returns its number, by which it can be abandoned.
   */
  begin(call, options, operation) {
    const number = ++this.#lastOperation;
    this.#operations.set(number, { told: operation, creating: new Set(), isLeft: false });
    // The timer may be one of a test that has ended, which never fires.
    this.#armedForMs = Infinity;
    this.#happened([{ Begin: { operation: number, call, options } }]);
    return number;
  }

  /** Sends nothing more for an operation, and abandons it when the open exchanges have ended. */
  leave(number) {
    const operation = this.#operations.get(number);
    if (!operation) return;
    operation.isLeft = true;
    if (!this.#isOpen(number)) this.abandon(number);
  }

  #isOpen(number) {
    for (const { exchange } of this.#exchanges.values()) if (exchange.operation === number) return true;
    return false;
  }

  /** Nobody waits for it any more. What has come of its answers by now counts. */
  abandon(number) {
    if (!this.#operations.has(number)) return;
    this.#abandoned.add(number);
    this.#listen();
  }

  #happened(events) {
    this.#events.push(...events);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.soon(() => {
      this.#isScheduled = false;
      // Nothing may be sent meanwhile for what was abandoned.
      if (this.#isListening) return;
      if (this.#isDue(this.#clock.now())) this.#listen();
      else this.#step();
    });
  }

  #isDue(nowMs) {
    return this.#wakeAtMs !== undefined && nowMs >= this.#wakeAtMs;
  }

  /** Steps once what has come by now was heard: it counts before time does. */
  #listen() {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#clock.onceAllIsHeard(() => {
      this.#isListening = false;
      this.#step();
    });
  }

  #step() {
    if (!this.#guest) {
      this.#lose(new Error('the instance was lost before this began'));
      return;
    }
    const nowMs = Math.floor(this.#clock.now());
    const events = this.#events;
    const abandoned = this.#abandoned;
    this.#events = [];
    this.#abandoned = new Set();
    try {
      const isDue = this.#isDue(nowMs);
      if (isDue || abandoned.size > 0) {
        for (const [number, { exchange }] of this.#exchanges) {
          if (abandoned.has(exchange.operation)) events.push(...exchange.withdrawn());
          else if (isDue) events.push(...exchange.arrived());
          if (exchange.isOver) this.#cancel(number);
        }
        for (const number of abandoned) if (this.#operations.has(number)) events.push({ Abandon: number });
      }
      const { effects, wake_at_ms: wakeAtMs } = this.#guest.step(events, nowMs, secondsOf(this.#clock.date()));
      this.#wakeAtMs = wakeAtMs ?? undefined;
      for (const effect of effects) this.#do(effect);
    } catch (cause) {
      this.#lose(cause);
    }
    this.#arm();
  }

  #do(effect) {
    if (effect.Send) this.#send(effect.Send);
    else if (effect.Done) this.#end(effect.Done);
    else if (effect.Item) this.#tellItem(effect.Item);
    else if (effect.Log !== undefined) this.#log(effect.Log);
    else if (effect.Abandon !== undefined) this.#cancel(effect.Abandon);
    else throw new Error(`an unknown effect: ${Object.keys(effect)}`);
  }

  #send(send) {
    const { exchange: number, operation, creates, request } = send;
    const item = send.item ?? undefined;
    const { told, creating, isLeft } = this.#operations.get(operation) ?? {};
    if (creates) creating?.add(item);
    const exchange = new Exchange(send, (events, delivery, mistake) => {
      this.#exchanges.delete(number);
      if (mistake) told?.misplayed(mistake);
      if (NOT_SENT.has(delivery)) creating?.delete(item);
      const { Answered: answered } = events[0];
      if (answered) told?.heard?.(answered.status, answered.body.Text);
      this.#happened(events);
      this.#onEnd(operation);
    });
    this.#exchanges.set(number, { exchange, cancel: undefined });
    if (isLeft) {
      exchange.fail('NotSent', 'the batch was left before this was sent');
      return;
    }
    let cancel;
    try {
      cancel = this.#transport.send(request, exchange);
    } catch (refusal) {
      exchange.fail('Refused', described(refusal));
    }
    const entry = this.#exchanges.get(number);
    if (entry) entry.cancel = cancel;
  }

  #cancel(number) {
    const entry = this.#exchanges.get(number);
    if (!entry) return;
    this.#exchanges.delete(number);
    entry.exchange.isOver = true;
    entry.cancel?.();
    this.#onEnd(entry.exchange.operation);
  }

  /** Abandons an operation that was left, after its last exchange. */
  #onEnd(number) {
    if (this.#operations.get(number)?.isLeft && !this.#isOpen(number)) this.abandon(number);
  }

  #tellItem({ operation, index, created }) {
    const { told, creating } = this.#operations.get(operation) ?? {};
    creating?.delete(index);
    told?.item(index, created);
  }

  #end({ operation, outcome }) {
    const { told } = this.#operations.get(operation) ?? {};
    this.#operations.delete(operation);
    told?.done(outcome);
  }

  /** The instance is lost: every operation is notified, and the next one gets another instance. */
  #lose(cause) {
    this.#guest = undefined;
    this.#events = [];
    this.#abandoned.clear();
    this.#wakeAtMs = undefined;
    const operations = [...this.#operations.values()];
    this.#operations.clear();
    for (const number of [...this.#exchanges.keys()]) this.#cancel(number);
    for (const { told, creating } of operations) told.broken(cause, creating);
  }

  /** Sets the timer, while anything is under way: it would keep the process from ending. */
  #arm() {
    const wakeAtMs = this.#operations.size > 0 ? this.#wakeAtMs : undefined;
    // One that comes too early does no harm.
    if (this.#disarm && wakeAtMs !== undefined && this.#armedForMs <= wakeAtMs) return;
    this.#disarm?.();
    this.#disarm = undefined;
    if (wakeAtMs === undefined) return;
    this.#armedForMs = wakeAtMs;
    this.#disarm = this.#clock.after(Math.max(0, wakeAtMs - this.#clock.now()), () => {
      this.#disarm = undefined;
      if (this.#isDue(this.#clock.now())) this.#listen();
      else this.#arm();
    });
  }
}

/** Seconds since 1970; 0 if the clock gives no time, as that of a test may. */
function secondsOf(dateMs) {
  return dateMs >= 0 && Number.isFinite(dateMs) ? Math.floor(dateMs / 1000) : 0;
}
