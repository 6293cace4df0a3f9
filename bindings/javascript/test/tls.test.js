/** HTTPS to loopback, by an authority that Node does not know. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import https from 'node:https';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CREATED, DOCKET, REQUEST, TOKEN, failure, withClient } from './service.js';

const file = (name) => fileURLToPath(new URL(`certificates/${name}`, import.meta.url));
const pem = (name) => readFileSync(file(name), 'utf8');

async function withHttps(options, test) {
  const requests = [];
  const own = { key: pem('service.key'), cert: pem('service.pem'), ...options };
  const server = https.createServer(own, (request, response) => {
    requests.push(request.headers);
    response.end(JSON.stringify(CREATED));
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await test({ url: `https://127.0.0.1:${server.address().port}`, requests });
  } finally {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }
}

test('a certificate of an unknown authority is Unreachable, and nothing is sent', () =>
  withHttps({}, ({ url, requests }) =>
    withClient(url, { maxAttempts: 2 }, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.name, 'Unreachable', error.stack);
      assert.equal(error.attempts.length, 2);
      for (const { transportError } of error.attempts) assert.match(transportError, /unable to verify/);
      assert.equal(requests.length, 0);
    }),
  ));

test('the option ca has it trusted, and connections are used again', () =>
  withHttps({}, ({ url, requests }) =>
    withClient(url, { ca: pem('ca.pem') }, async (client) => {
      for (let i = 0; i < 3; i++) assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      const batch = await client.dockets.createMany([REQUEST, REQUEST], { timeoutMs: 5000 });
      assert.ok(batch.every(({ ok }) => ok));
      assert.equal(requests.length, 5);
      assert.equal(requests[0].host, new URL(url).host);
    }),
  ));

test('a certificate for another name is refused', () =>
  withHttps({}, ({ url, requests }) =>
    withClient(
      url.replace('127.0.0.1', 'ip6-localhost.invalid'),
      { agent: new https.Agent({ ca: pem('ca.pem'), lookup: loopback }), maxAttempts: 1 },
      async (client) => {
        const error = await failure(client.dockets.create(REQUEST));
        assert.match(error.attempts[0].transportError, /altnames/);
        assert.equal(error.name, 'Unreachable');
        assert.equal(requests.length, 0);
      },
    ),
  ));

test('an agent with a client certificate is let in, one without is not', () =>
  withHttps({ ca: pem('ca.pem'), requestCert: true, rejectUnauthorized: true }, async ({ url }) => {
    const ca = pem('ca.pem');
    const agent = new https.Agent({ ca, key: pem('client.key'), cert: pem('client.pem') });
    await withClient(url, { agent }, async (client) => {
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
    });
    // With TLS 1.3 the refusal comes after the request was sent: nobody knows.
    await withClient(url, { ca }, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.name, 'OutcomeUnknown', error.stack);
    });
  }));

const [major] = process.versions.node.split('.').map(Number);

/** Node's own settings, which it reads when it starts. */
const TOLD = [
  ['NODE_EXTRA_CA_CERTS', [], { NODE_EXTRA_CA_CERTS: file('ca.pem') }, true],
  ['--use-openssl-ca and SSL_CERT_FILE', ['--use-openssl-ca'], { SSL_CERT_FILE: file('ca.pem') }, true],
  ['SSL_CERT_FILE alone', [], { SSL_CERT_FILE: file('ca.pem') }, false],
  ...(major >= 24
    ? [['--use-system-ca and SSL_CERT_FILE', ['--use-system-ca'], { SSL_CERT_FILE: file('ca.pem') }, true]]
    : []),
];

for (const [what, flags, variables, isTrusted] of TOLD) {
  test(`${what}: the authority is ${isTrusted ? '' : 'not '}trusted`, () =>
    withHttps({}, async ({ url }) => {
      const program = `
        import { VoiceClient } from 'voice-calling';
        const client = new VoiceClient({ baseUrl: '${url}', token: '${TOKEN}', env: {}, maxAttempts: 1 });
        console.log(await client.dockets.get('${DOCKET}').then(() => 'trusted', (error) => error.name));`;
      const { PATH, SYSTEMROOT } = process.env;
      const printed = await new Promise((resolve, reject) => {
        const child = execFile(
          process.execPath,
          [...flags, '--input-type=module', '--eval', program],
          { cwd: fileURLToPath(new URL('..', import.meta.url)), env: { PATH, SYSTEMROOT, ...variables } },
          (error, stdout, stderr) => (error ? reject(new Error(stderr)) : resolve(stdout.trim())),
        );
        child.stdin.end();
      });
      assert.equal(printed, isTrusted ? 'trusted' : 'Unreachable');
    }));
}

function loopback(_host, options, found) {
  if (options.all) found(null, [{ address: '127.0.0.1', family: 4 }]);
  else found(null, '127.0.0.1', 4);
}
