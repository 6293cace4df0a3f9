/**
 * One request and what came of it so far. A transport fills it; the machine gets it as events: all
 * at once as a rule, and as far as it has come when time is up.
 */

/** The headers that are read, in lower case. */
export const READ = new Set([
  'retry-after',
  'date',
  'location',
  'content-type',
  'content-encoding',
  'x-request-id',
  'request-id',
  'x-correlation-id',
]);

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class Exchange {
  isOver = false;
  /** `true` while it is certain that nothing of it has left this process. A transport sets it. */
  isUnsent = false;
  /** Ends its request, as the transport gave it. */
  cancel = undefined;
  /** The HTTP status, once it came. */
  status = undefined;
  /** Its operation, as the machine has it. */
  operation;

  #number;
  #most;
  #emit;
  #headers;
  #chunks = [];
  #bytes = 0;
  #isHeadEmitted = false;

  /**
   * @param request which is sent
   * @param emit takes events; with the last of them how a request was delivered that got no answer
   */
  constructor(number, { max_response_bytes: most }, operation, emit) {
    this.#number = number;
    this.#most = most;
    this.operation = operation;
    this.#emit = emit;
  }

  /** Takes the head of the answer: names and values of the headers that are read. */
  head(status, headers) {
    if (this.isOver) return;
    this.#headers = headers.map(([name, value]) => [name, String(value).toWellFormed()]);
    this.status = status;
  }

  /** Takes bytes of the body. Returns `false` if no more are wanted: then this is over. */
  chunk(bytes) {
    if (this.isOver) return false;
    // One byte more says that there is more.
    const wanted = this.#most + 1 - this.#bytes;
    this.#chunks.push(bytes.length > wanted ? bytes.subarray(0, wanted) : bytes);
    this.#bytes += Math.min(bytes.length, wanted);
    if (this.#bytes <= this.#most) return true;
    this.end();
    return false;
  }

  /** Takes the end of the body, or the reason why it ended early. */
  end(error = undefined) {
    if (this.isOver) return;
    this.isOver = true;
    const exchange = this.#number;
    if (!this.#isHeadEmitted && error === undefined) {
      const { status } = this;
      const body = this.#takeBody() ?? { Text: '' };
      this.#emit([{ Answered: { exchange, status, headers: this.#headers, body } }]);
    } else {
      this.#emit([...this.#takeEvents(), { Ended: { exchange, error: error?.toWellFormed() ?? null } }]);
    }
  }

  /**
   * Ends it without an answer.
   *
   * @param {'NotSent' | 'Unknown'} delivery
   */
  fail(delivery, message) {
    if (this.isOver) return;
    if (this.status !== undefined) {
      this.end(message);
      return;
    }
    this.isOver = true;
    const failed = { exchange: this.#number, delivery, message: message.toWellFormed() };
    this.#emit([{ Failed: failed }], delivery);
  }

  /** Ends it without an answer: the connection was lost, or none was made. */
  disconnected(message) {
    this.fail(this.isUnsent ? 'NotSent' : 'Unknown', message);
  }

  /** Ends the operation with an error of the transport's own, such as a mistake in the script of a test. */
  abort(error) {
    this.isOver = true;
    const message = 'the transport failed';
    this.#emit([{ Failed: { exchange: this.#number, delivery: 'Refused', message } }], 'Refused', error);
  }

  /** Returns as events what came and was not emitted yet: its time is up. */
  arrived() {
    return this.isOver || this.status === undefined ? [] : this.#takeEvents();
  }

  /** Ends it, if nothing of it was sent: then nothing will be. Returns the events. */
  withdrawn() {
    if (this.isOver || !this.isUnsent) return this.arrived();
    this.isOver = true;
    const message = 'cancelled before it was sent';
    return [{ Failed: { exchange: this.#number, delivery: 'NotSent', message } }];
  }

  #takeEvents() {
    const exchange = this.#number;
    const events = [];
    if (!this.#isHeadEmitted) {
      events.push({ Head: { exchange, status: this.status, headers: this.#headers } });
      this.#isHeadEmitted = true;
    }
    const bytes = this.#takeBody();
    if (bytes) events.push({ Chunk: { exchange, bytes } });
    return events;
  }

  #takeBody() {
    if (this.#chunks.length === 0) return undefined;
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : joined(this.#chunks);
    this.#chunks = [];
    try {
      return { Text: decoder.decode(bytes) };
    } catch {
      return { Bytes: Array.from(bytes) };
    }
  }
}

/** The message of an error, which may be any value: programs of users throw anything. At most so many characters. */
export function messageOf(error, most = 200) {
  let texts = [];
  try {
    const { message, code, cause } = typeof error === 'string' ? { message: error } : Object(error);
    const reason = [cause?.code, cause?.message, code].find(isText);
    texts = [message, reason].filter(isText);
  } catch {}
  const [first = 'the request failed', reason = ''] = texts;
  return (first.includes(reason) ? first : `${first}: ${reason}`).slice(0, most);
}

function isText(value) {
  return typeof value === 'string' && value !== '';
}

function joined(chunks) {
  const all = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
