/** Receives the webhook of a completed docket, and passes on what the service confirms. */
const { createHash, timingSafeEqual } = require('node:crypto');
const { promisify } = require('node:util');
const zlib = require('node:zlib');
const { InvalidInputError, NotFoundError } = require('voice-calling');
const { checked, showAccount, showError } = require('./flow_node.js');

/** As much as `webhooks.verify` takes. */
const MAX_BODY_BYTES = 1024 * 1024;

/** Dockets that are remembered, so that a delivery that comes again is passed on once. */
const MAX_REMEMBERED = 10_000;

/** How long the sender waits at most. */
const VERIFY_MS = 10_000;

const SECRET_HEADER = 'x-webhook-secret';
/** How a body may be compressed, as Node-RED's own parser has it. */
const DECODERS = { gzip: promisify(zlib.gunzip), deflate: promisify(zlib.inflate) };

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

    if (RED.settings.httpNodeRoot === false) {
      return refuse('settings.httpNodeRoot: found false; allowed: a path, since deliveries come by HTTP');
    }
    if (!PATH.test(path ?? '')) {
      return refuse(`path: found ${JSON.stringify(path)}; allowed: /name, /name/name: letters, digits, . _ ~ -`);
    }
    removeRoute();
    const paths = secret ? [path, `${path}/:secret`] : [path];
    if (hasRoute(path)) {
      return refuse(`path: found ${path}, which another node has; allowed: a path of its own`);
    }
    showAccount(node, account);
    RED.httpNode.post(paths, Object.assign(receive, { nodeId: node.id }));

    // Until the node is there again, its route has the sender try again.
    node.on('close', (removed, done) => {
      closing.abort();
      if (removed) removeRoute();
      done();
    });

    function removeRoute() {
      const isOwn = ({ route }) => route?.stack.some(({ handle }) => handle.nodeId === node.id);
      const index = routes().findIndex(isOwn);
      if (index >= 0) routes().splice(index, 1);
    }

    async function receive(request, response, next) {
      try {
        const { secret: last } = request.params;
        if (secret && !isSame(last ?? request.get(SECRET_HEADER) ?? '', secret)) {
          // What is no secret of this node may be the path of another one.
          return last !== undefined && hasRoute(request.path) ? next() : response.sendStatus(403);
        }
        if (closing.signal.aborted) return response.sendStatus(503);
        const { status, body } = await read(request);
        if (status) return response.sendStatus(status);
        const options = { signal: closing.signal, timeoutMs: VERIFY_MS };
        response.sendStatus(pass(await checked(account).client.webhooks.verify(body, options)));
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
        node.error(`a delivery could not be verified: ${showError(node, error)}`);
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

  function hasRoute(path) {
    return routes().some(({ route }) => route?.methods.post && [route.path].flat().includes(path));
  }
};

/** In a time that says nothing about where they differ, nor about their length. */
function isSame(given, secret) {
  const [one, other] = [given, secret].map((it) => createHash('sha256').update(it).digest());
  return timingSafeEqual(one, other);
}

/**
 * The body as text, or the status of a refusal. With Node-RED's default settings the editor has the same
 * root as the nodes, and its parser has read JSON and forms before.
 */
async function read(request) {
  if (request._body) {
    if (!request.is('json')) return { status: 415 };
    const body = JSON.stringify(withExactContext(request.body));
    return Buffer.byteLength(body) > MAX_BODY_BYTES ? { status: 413 } : { body };
  }
  const encoding = request.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity' && !DECODERS[encoding]) return { status: 415 };
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (length > MAX_BODY_BYTES) return { status: 413 };
  const body = Buffer.concat(chunks);
  return encoding === 'identity' ? { body } : decompressed(body, DECODERS[encoding]);
}

async function decompressed(body, decode) {
  try {
    return { body: await decode(body, { maxOutputLength: MAX_BODY_BYTES }) };
  } catch (error) {
    return { status: error.code === 'ERR_BUFFER_TOO_LARGE' ? 413 : 400 };
  }
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
