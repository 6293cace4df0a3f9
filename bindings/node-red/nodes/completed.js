/** Receives the webhook of a completed docket, and passes on what the service confirms. */
const { createHash, timingSafeEqual } = require('node:crypto');
const { InvalidInputError, NotFoundError } = require('voice-calling');
const { client, showAccount } = require('./flow_node.js');

/** As much as `webhooks.verify` takes. */
const MAX_BODY_BYTES = 1024 * 1024;

/** Dockets that are remembered, so that a delivery that comes again is passed on once. */
const MAX_REMEMBERED = 10_000;

/** How long the sender waits at most. */
const VERIFY_MS = 10_000;

const SECRET_HEADER = 'x-webhook-secret';
const PATH = /^(\/[\w.~-]+)+$/;

module.exports = (RED) => {
  function Completed(config) {
    RED.nodes.createNode(this, config);
    const node = this;
    const { path } = config;
    const { secret } = this.credentials;
    const account = RED.nodes.getNode(config.account);
    const closing = new AbortController();
    const seen = new Set();

    if (!PATH.test(path ?? '')) {
      return refuse(`path: found ${JSON.stringify(path)}; allowed: /name, /name/name: letters, digits, . _ ~ -`);
    }
    const paths = secret ? [path, `${path}/:secret`] : [path];
    if (routes().some(({ route }) => route?.methods.post && [route.path].flat().includes(path))) {
      return refuse(`path: found ${path}, which another node has; allowed: a path of its own`);
    }
    showAccount(node, account);
    RED.httpNode.post(paths, receive);

    node.on('close', () => {
      closing.abort(new Error('the flow was stopped'));
      const index = routes().findIndex(({ route }) => route?.stack.some(({ handle }) => handle === receive));
      if (index >= 0) routes().splice(index, 1);
    });

    async function receive(request, response) {
      try {
        const given = request.params.secret ?? request.get(SECRET_HEADER) ?? '';
        if (secret && !isSame(given, secret)) return response.sendStatus(403);
        const body = await read(request);
        if (!body) return response.sendStatus(413);
        const options = { signal: closing.signal, timeoutMs: VERIFY_MS };
        response.sendStatus(pass(await client(account).webhooks.verify(body, options)));
      } catch (error) {
        response.sendStatus(statusOf(error));
      }
    }

    /** Sends a completion that is confirmed and new. What is returned is the answer's status. */
    function pass(verification) {
      const { kind, contradicted } = verification;
      if (kind === 'not-a-completion') return 400;
      // The service may report a docket before its own fetch shows it.
      if (kind === 'contradicted') return contradicted.every((it) => it === 'status') ? 503 : 400;
      const { docket, delivered, unverified } = verification;
      if (seen.has(docket.docketId)) return 204;
      seen.add(docket.docketId);
      if (seen.size > MAX_REMEMBERED) seen.delete(seen.values().next().value);
      node.status({ fill: 'green', shape: 'dot', text: docket.docketId });
      node.send({ topic: 'completed', docketId: docket.docketId, payload: docket, delivered, unverified });
      return 204;
    }

    function statusOf(error) {
      if (error instanceof InvalidInputError) return 400;
      // What is not yet known may be soon: the sender has to try again.
      if (!(error instanceof NotFoundError)) {
        node.status({ fill: 'red', shape: 'ring', text: error.message });
        node.error(`a delivery could not be verified: ${error.message}`);
      }
      return 503;
    }

    function refuse(text) {
      node.status({ fill: 'red', shape: 'ring', text });
      node.error(text);
    }
  }

  RED.nodes.registerType('voice-calling-completed', Completed, {
    credentials: { secret: { type: 'password' } },
  });

  /** Express makes its router with the first route. */
  function routes() {
    return RED.httpNode._router?.stack ?? [];
  }
};

/** In a time that says nothing about where they differ, nor about their length. */
function isSame(given, secret) {
  const [one, other] = [given, secret].map((it) => createHash('sha256').update(it).digest());
  return timingSafeEqual(one, other);
}

/**
 * The body as text, or nothing if it is too large. With Node-RED's default settings the editor has the
 * same root as the nodes, and its parser has read a JSON body before.
 */
async function read(request) {
  if (request._body) {
    const text = JSON.stringify(withExactContext(request.body));
    return Buffer.byteLength(text) > MAX_BODY_BYTES ? undefined : text;
  }
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return length > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks);
}

/** Without a context whose integers have lost digits: the docket would seem to contradict it. */
function withExactContext(delivery) {
  const { call_context: context, ...others } = delivery;
  return isExact(context) ? delivery : others;
}

function isExact(value) {
  if (Number.isInteger(value)) return Number.isSafeInteger(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact);
}
