/** Encodings of an answer, which a proxy may put on although none is asked for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { CREATED, DOCKET, REQUEST, failure, withBoth } from './service.js';

const json = JSON.stringify(CREATED);
const ENCODINGS = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync };

test('an answer that has an encoding is read', async () => {
  for (const [encoding, encode] of Object.entries(ENCODINGS)) {
    const answer = () => ({ headers: { 'content-encoding': encoding }, body: encode(json) });
    await withBoth(answer, {}, async (client, { requests }) => {
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      assert.equal(requests[0].headers['accept-encoding'], 'identity');
    });
  }
});

test('an encoded answer that is broken is an error that names it, and one that is larger than its limit is cut', async () => {
  const limits = { maxResponseBytes: 100_000, maxAttempts: 1, attemptTimeoutMs: 2000 };
  const bodies = [
    ['incorrect header check', Buffer.from(json)],
    ['unexpected end of file', gzipSync(json).subarray(0, -10)],
  ];
  await withBoth(() => ({ headers: { 'content-encoding': 'gzip' }, body: gzipSync(Buffer.alloc(5_000_000)) }), limits, async (client) => {
    const error = await failure(client.dockets.create(REQUEST));
    assert.deepEqual([error.name, error.mayHaveCreated, error.response.bodyCut], ['UnexpectedResponse', true, true]);
  });
  for (const [message, body] of bodies) {
    await withBoth(() => ({ headers: { 'content-encoding': 'gzip' }, body }), limits, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.mayHaveCreated, true);
      assert.match(error.attempts[0].transportError, new RegExp(message), error.stack);
    });
  }
});
