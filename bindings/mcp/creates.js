/** The walk of a tool that rings: its turn, its arguments, its key, a person, the create. */
import { InvalidInputError, OutcomeUnknownError, VoiceCallingError } from 'voice-calling';

const log = (line) => console.error(`voice-calling-mcp: ${line}`);

/** Logs an error of a create that may have been carried out, and returns it. */
function unknown(what, error) {
  log(`${what}: OUTCOME UNKNOWN: ${error.message}`);
  return error;
}

export class Creates {
  /** The last call with each key. */
  #turns = new Map();
  /** The creates under way, which are never cut off: each has an id that must not be lost. */
  #running = new Set();

  constructor(ledger) {
    this.ledger = ledger;
  }

  /**
   * Runs a tool that rings. Calls with one key, which some programs make twice, take turns.
   *
   * @param ask asks a person, and returns a result if the telephone may not ring
   * @returns what the tool returns, or what `ask` does
   */
  async run(tool, given, context, ask) {
    const before = this.#turns.get(given.key);
    const turn = Promise.resolve(before).catch(() => {}).then(() => this.#walk(tool, given, context, ask));
    this.#turns.set(given.key, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(given.key) === turn) this.#turns.delete(given.key);
    }
  }

  async #walk(tool, given, context, ask) {
    const { signal } = context.options;
    const what = `${tool.name} with the key ${given.key}`;
    // 1. An aborted call checks its arguments, and sends nothing.
    await tool.run(given, { ...context, options: { signal: AbortSignal.abort() } }).catch((error) => {
      if (error instanceof InvalidInputError) throw error;
    });
    // 2. The ledger answers for a key that was used, and nothing is sent.
    const entry = await this.ledger.get(given.key);
    // One that is in progress may be free in a moment, and a person has agreed to that one alone.
    if (entry?.state === 'begun') throw unknown(what, new OutcomeUnknownError('a create with this key is in progress'));
    if (entry === undefined || entry.state === 'free') {
      signal.throwIfAborted();
      // 3. A person answers, unless the agent gives up first.
      const answer = await ask().finally(() => {
        if (signal.aborted) log(`${what}: given up before a person answered; nothing is created`);
      });
      if (answer) return answer;
    }
    signal.throwIfAborted();
    return this.#create(tool, given, context, what);
  }

  /** Creates, although the agent may give it up now, and logs what was created. */
  async #create(tool, given, context, what) {
    const created = tool.run(given, { ...context, options: {} });
    this.#running.add(created);
    try {
      const result = await created;
      log(`${what}: ${result.from_ledger ? 'the ledger has' : 'created'} ${JSON.stringify(result.docket_id ?? result.task_id)}`);
      return result;
    } catch (error) {
      if (error instanceof VoiceCallingError && !error.mayHaveCreated) throw error;
      throw unknown(what, error instanceof VoiceCallingError ? error : new OutcomeUnknownError(error.message, { cause: error }));
    } finally {
      this.#running.delete(created);
    }
  }

  /** Resolves once no create is under way. */
  async settled() {
    await Promise.allSettled(this.#running);
  }
}
