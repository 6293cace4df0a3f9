/** The question whether a telephone may ring, and the answers of the person who is asked. */
import { randomUUID } from 'node:crypto';
import { CLIENT_CAPABILITIES_META_KEY, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { marked, text } from './json_text.js';

/** A person may be slow; without a limit of its own the protocol's package gives up after a minute. */
const CONFIRMATION_MS = 600_000;

/** How many characters of a context the person reads. */
const MOST_ASKED = 4000;

const FORM = {
  type: 'object',
  properties: { call: { type: 'boolean', title: 'Call', description: 'Let the telephone ring' } },
  required: ['call'],
};

/** The questions that are part of a result, after which the program sends the call again with the answer (2026-07-28). */
export class OpenQuestions {
  #open = new Map();

  /** @param now returns milliseconds of a clock that is never set */
  constructor(now = () => performance.now()) {
    this.now = now;
  }

  /** Returns the id of a new question about this call. */
  add(call) {
    for (const [id, { until }] of this.#open) if (until < this.now()) this.#open.delete(id);
    const id = randomUUID();
    this.#open.set(id, { call, until: this.now() + CONFIRMATION_MS });
    return id;
  }

  /** Returns whether the question was about this call, and its time is not over. It can be answered once. */
  take(id, call) {
    const question = this.#open.get(id);
    this.#open.delete(id);
    return question !== undefined && question.call === call && this.now() <= question.until;
  }
}

/** Returns whether the program has forms: any elicitation is by forms, unless only another mode is declared. */
function canAsk({ elicitation } = {}) {
  return Boolean(elicitation) && (elicitation.form !== undefined || elicitation.url === undefined);
}

export class Approval {
  #questions = new OpenQuestions();

  constructor(server, mayCallUnasked) {
    this.server = server;
    this.mayCallUnasked = mayCallUnasked;
  }

  /**
   * Asks a person. Returns nothing if the telephone may ring; otherwise `refused`, the reason, or
   * `question`, the result by which the program asks.
   *
   * @param call the tool and its arguments, to which the answer is bound
   * @param message returns the question
   */
  async ask(call, message, mcpReq) {
    const { envelope } = mcpReq;
    const capabilities = envelope ? envelope[CLIENT_CAPABILITIES_META_KEY] : this.server.getClientCapabilities();
    if (!canAsk(capabilities)) {
      if (this.mayCallUnasked) return undefined;
      return { refused: 'This program cannot ask a person (elicitation by forms), and the server was started without --allow-calls' };
    }
    if (!envelope) return this.#asked(await message(), mcpReq);
    const reply = inputResponse(mcpReq.inputResponses, 'call');
    if (this.#questions.take(mcpReq.requestState(), call) && reply.kind === 'elicit') return verdict(reply);
    const form = { message: await message(), requestedSchema: FORM };
    return { question: inputRequired({ inputRequests: { call: inputRequired.elicit(form) }, requestState: this.#questions.add(call) }) };
  }

  /** Asks by a request to the program (2025-11-25 and before). */
  async #asked(message, { send, signal }) {
    const question = { method: 'elicitation/create', params: { message, requestedSchema: FORM } };
    try {
      return verdict(await send(question, { signal, timeout: CONFIRMATION_MS }));
    } catch (error) {
      signal.throwIfAborted();
      return { refused: `No person could be asked (${error.message})` };
    }
  }
}

function verdict({ action, content }) {
  if (action === 'accept' && content?.call === true) return undefined;
  if (action === 'cancel') return { refused: 'A person closed the question without an answer: ask them before you try again' };
  return { refused: 'A person declined: do not ask again for the same call' };
}

/** Returns the question, with the context as a table. No argument can look like another line of it. */
export function question(given, agent) {
  const lines = [
    'A telephone will ring. Allow this call?',
    '',
    `Number: ${plain(given['to-phone-number'])}`,
    `Agent: ${plain(agent)}`,
    `Key: ${given.key}`,
  ];
  if (given['external-id'] !== undefined) lines.push(`External id: ${plain(given['external-id'])}`);
  return [...lines, '', ...table(given['call-context'])].join('\n');
}

function table(context) {
  const members = Object.entries(context === undefined ? {} : marked(context));
  if (members.length === 0) return ['Context: none'];
  const rows = members.map(([name, value]) => `| ${plain(name)} | ${plain(text(value))} |`).join('\n');
  const rest = rows.length - MOST_ASKED;
  const cut = rest > 0 ? [`… and ${rest} more characters that are not shown`] : [];
  return ['| context | value |', '|---|---|', rows.slice(0, MOST_ASKED), ...cut];
}

/** Escapes characters that would begin a line or a cell, or are invisible. */
const plain = (value) =>
  value.replaceAll(/[|\\]/g, '\\$&').replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (it) => `\\u{${it.codePointAt().toString(16)}}`);
