/**
 * What the component imports of WASI 0.2, for one instance: the names of the core module, and the
 * places in memory where the canonical ABI has results. Nothing here decides anything.
 */
import { Exchange } from './exchange.js';
import { Pollable, Timer } from './pollable.js';

/** In the order of `error-code` in wasi:http. */
const ERROR_CODES = [
  'DNS-timeout',
  'DNS-error',
  'destination-not-found',
  'destination-unavailable',
  'destination-IP-prohibited',
  'destination-IP-unroutable',
  'connection-refused',
  'connection-terminated',
  'connection-timeout',
  'connection-read-timeout',
  'connection-write-timeout',
  'connection-limit-reached',
  'TLS-protocol-error',
  'TLS-certificate-error',
  'TLS-alert-received',
  'HTTP-request-denied',
  'HTTP-request-length-required',
  'HTTP-request-body-size',
  'HTTP-request-method-invalid',
  'HTTP-request-URI-invalid',
  'HTTP-request-URI-too-long',
  'HTTP-request-header-section-size',
  'HTTP-request-header-size',
  'HTTP-request-trailer-section-size',
  'HTTP-request-trailer-size',
  'HTTP-response-incomplete',
  'HTTP-response-header-section-size',
  'HTTP-response-header-size',
  'HTTP-response-body-size',
  'HTTP-response-trailer-section-size',
  'HTTP-response-trailer-size',
  'HTTP-response-transfer-coding',
  'HTTP-response-content-coding',
  'HTTP-response-timeout',
  'HTTP-upgrade-failed',
  'HTTP-protocol-error',
  'loop-detected',
  'configuration-error',
  'internal-error',
];

/** How large an error code is in memory, with the largest of its payloads. */
const ERROR_CODE_BYTES = 32;

/** In the order of `method` in wasi:http. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'];

/** In the order of `scheme`. */
const SCHEMES = ['http', 'https'];

const OK = 0;
const ERROR = 1;
const NONE = 0;
const SOME = 1;
const LAST_OPERATION_FAILED = 0;
const CLOSED = 1;

const NANOSECONDS_PER_MS = 1_000_000n;

/** How much a guest may write at a time. Its whole body lies in its own memory anyway. */
const WRITABLE_BYTES = 1024n * 1024n;

/** Always ready. */
const NOW = new Pollable();
NOW.ready();

/** The functions by interface, without its version, and name. */
export function wasi(instance, { environment, connections, stderr }) {
  const { resources } = instance;
  const get = (handle) => resources.get(handle);
  const add = (resource) => resources.add(resource);
  const drop = (handle) => resources.drop(handle);

  const ok = (at) => instance.memory.setU8(at, OK);
  const okHandle = (at, resource) => {
    instance.memory.setU8(at, OK);
    instance.memory.setU32(at + 4, add(resource));
  };
  const errorCode = (at, { code, detail }) => {
    const { memory } = instance;
    memory.bytes.fill(0, at, at + ERROR_CODE_BYTES);
    memory.setU8(at, ERROR_CODES.indexOf(code));
    // Both have an optional text there.
    if (detail !== undefined && (code === 'DNS-error' || code === 'internal-error')) {
      memory.setU8(at + 8, SOME);
      memory.setList(at + 12, memory.placeText(detail));
    }
  };

  return {
    'wasi:cli/environment': {
      'get-environment'(at) {
        const { memory } = instance;
        const begin = memory.allocate(environment.length * 16, 4);
        environment.forEach(([name, value], i) => {
          memory.setList(begin + i * 16, memory.placeText(name));
          memory.setList(begin + i * 16 + 8, memory.placeText(value));
        });
        memory.setList(at, [begin, environment.length]);
      },
    },

    'wasi:cli/stderr': {
      'get-stderr': () => add({ write: stderr }),
    },

    'wasi:clocks/monotonic-clock': {
      now: () => process.hrtime.bigint(),
      'subscribe-duration': (nanoseconds) =>
        add(new Timer(Number(BigInt.asUintN(64, nanoseconds)) / Number(NANOSECONDS_PER_MS))),
    },

    'wasi:clocks/wall-clock': {
      now(at) {
        const milliseconds = Date.now();
        instance.memory.setU64(at, BigInt(Math.floor(milliseconds / 1000)));
        instance.memory.setU32(at + 8, (milliseconds % 1000) * 1_000_000);
      },
    },

    'wasi:random/insecure': {
      'get-insecure-random-u64': () => (random32() << 32n) | random32(),
    },

    'wasi:io/error': {
      '[method]error.to-debug-string'(error, at) {
        instance.memory.setList(at, instance.memory.placeText(get(error)));
      },
      '[resource-drop]error': drop,
    },

    'wasi:io/poll': {
      poll(list, length, at) {
        const { memory } = instance;
        const polled = Array.from({ length }, (_, i) => get(memory.u32(list + i * 4)));
        // The guest is called again here once one of them is ready.
        if (!instance.resumes() && !polled.some((it) => it.isReady)) {
          instance.suspend(polled);
          return;
        }
        const ready = [];
        polled.forEach((it, i) => it.isReady && ready.push(i));
        const begin = memory.allocate(ready.length * 4, 4);
        ready.forEach((index, i) => memory.setU32(begin + i * 4, index));
        memory.setList(at, [begin, ready.length]);
      },
      '[resource-drop]pollable'(pollable) {
        get(pollable).disarm();
        drop(pollable);
      },
    },

    'wasi:io/streams': {
      '[method]input-stream.subscribe': (stream) => add(get(stream).body.isReadable),
      '[method]input-stream.read'(stream, length, at) {
        const { memory } = instance;
        const { body } = get(stream);
        const piece = body.read(Number(BigInt.asUintN(64, length)));
        if (piece !== undefined || !body.isOver) {
          // Nothing is what comes where there is nothing yet.
          memory.setU8(at, OK);
          memory.setList(at + 4, memory.place(piece ?? new Uint8Array()));
          return;
        }
        memory.setU8(at, ERROR);
        memory.setU8(at + 4, body.error ? LAST_OPERATION_FAILED : CLOSED);
        if (body.error) memory.setU32(at + 8, add(body.error));
      },
      '[resource-drop]input-stream'(stream) {
        const exchange = get(stream);
        if (!exchange.body.isEnded) exchange.abandon('not read to its end');
        drop(stream);
      },
      '[method]output-stream.subscribe': () => add(NOW),
      '[method]output-stream.check-write'(stream, at) {
        ok(at);
        instance.memory.setU64(at + 8, WRITABLE_BYTES);
      },
      '[method]output-stream.write'(stream, begin, length, at) {
        get(stream).write(instance.memory.slice(begin, length));
        ok(at);
      },
      '[method]output-stream.flush': (stream, at) => ok(at),
      '[resource-drop]output-stream': drop,
    },

    'wasi:http/types': {
      '[static]fields.from-list'(list, length, at) {
        const { memory } = instance;
        const pair = (begin) => [
          memory.text(memory.u32(begin), memory.u32(begin + 4)),
          memory.slice(memory.u32(begin + 8), memory.u32(begin + 12)),
        ];
        okHandle(at, Array.from({ length }, (_, i) => pair(list + i * 16)));
      },
      '[method]fields.get'(fields, begin, length, at) {
        const { memory } = instance;
        const wanted = memory.text(begin, length).toLowerCase();
        const values = get(fields).filter(([name]) => name.toLowerCase() === wanted);
        const list = memory.allocate(values.length * 8, 4);
        values.forEach(([, value], i) => memory.setList(list + i * 8, memory.place(value)));
        memory.setList(at, [list, values.length]);
      },
      '[resource-drop]fields': drop,

      '[constructor]outgoing-request': (headers) =>
        add({ method: 'GET', scheme: 'https', headers: resources.take(headers), chunks: [] }),
      '[method]outgoing-request.set-method'(request, index, begin, length) {
        get(request).method = METHODS[index] ?? instance.memory.text(begin, length);
        return OK;
      },
      '[method]outgoing-request.set-scheme'(request, isSome, index) {
        if (!isSome || index >= SCHEMES.length) return ERROR;
        get(request).scheme = SCHEMES[index];
        return OK;
      },
      '[method]outgoing-request.set-authority'(request, isSome, begin, length) {
        if (!isSome) return ERROR;
        get(request).authority = instance.memory.text(begin, length);
        return OK;
      },
      '[method]outgoing-request.set-path-with-query'(request, isSome, begin, length) {
        get(request).path = isSome ? instance.memory.text(begin, length) : '/';
        return OK;
      },
      '[method]outgoing-request.body'(request, at) {
        const { chunks } = get(request);
        const body = { write: (chunk) => chunks.push(chunk), isFinished: false };
        get(request).body = body;
        okHandle(at, body);
      },
      '[method]outgoing-body.write': (body, at) => okHandle(at, get(body)),
      '[static]outgoing-body.finish'(body, hasTrailers, trailers, at) {
        resources.take(body).isFinished = true;
        ok(at);
      },
      '[resource-drop]outgoing-body': drop,
      '[resource-drop]outgoing-request': drop,

      '[constructor]request-options': () => add({}),
      '[method]request-options.set-connect-timeout'(options, isSome, nanoseconds) {
        const milliseconds = BigInt.asUintN(64, nanoseconds) / NANOSECONDS_PER_MS;
        get(options).connectTimeoutMs = isSome ? Number(milliseconds) : undefined;
        return OK;
      },
      // Not supported, which the guest is told: it watches the whole attempt by itself.
      '[method]request-options.set-first-byte-timeout': () => ERROR,
      '[method]request-options.set-between-bytes-timeout': () => ERROR,
      '[resource-drop]request-options': drop,

      '[method]future-incoming-response.subscribe': (future) => add(get(future).isAnswered),
      '[method]future-incoming-response.get'(future, at) {
        const { memory } = instance;
        const { isAnswered, error } = get(future);
        memory.setU8(at, isAnswered.isReady ? SOME : NONE);
        if (!isAnswered.isReady) return;
        memory.setU8(at + 8, OK);
        memory.setU8(at + 16, error ? ERROR : OK);
        if (error) errorCode(at + 24, error);
        else memory.setU32(at + 24, add(get(future)));
      },
      '[resource-drop]future-incoming-response'(future) {
        const exchange = get(future);
        if (!exchange.isAnswered.isReady) exchange.abandon('no answer in time');
        drop(future);
      },

      '[method]incoming-response.status': (response) => get(response).head.status,
      '[method]incoming-response.headers': (response) => add(get(response).head.headers),
      '[method]incoming-response.consume': (response, at) => okHandle(at, get(response)),
      '[resource-drop]incoming-response': drop,
      '[method]incoming-body.stream': (body, at) => okHandle(at, get(body)),
      '[resource-drop]incoming-body': drop,
    },

    'wasi:http/outgoing-handler': {
      handle(request, hasOptions, options, at) {
        const { body, chunks, ...message } = resources.take(request);
        const { connectTimeoutMs } = hasOptions ? resources.take(options) : {};
        if (body && !body.isFinished) throw new Error('a body has to be written before it is sent');
        if (body) message.body = Buffer.concat(chunks);
        let exchange;
        try {
          exchange = new Exchange(message, connectTimeoutMs, connections);
        } catch (refusal) {
          instance.memory.setU8(at, ERROR);
          errorCode(at + 8, { code: 'internal-error', detail: String(refusal?.message) });
          return;
        }
        instance.began(exchange);
        instance.memory.setU8(at, OK);
        instance.memory.setU32(at + 8, add(exchange));
      },
    },
  };
}

function random32() {
  return BigInt(Math.floor(Math.random() * 2 ** 32));
}
