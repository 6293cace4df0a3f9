/** The client without I/O that is in the package, and the tables by which it is driven. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { VoiceClient } from 'voice-calling';
import { functions } from '../generated/wit.js';
import { Guest, compiledOnce } from '../src/guest.js';
import { camel } from '../src/words.js';
import { TOKEN } from './service.js';

test('it imports nothing, and is compiled once', async () => {
  const module = await compiledOnce();
  assert.deepEqual(WebAssembly.Module.imports(module), []);
  assert.equal(await compiledOnce(), module);
});

test('the file for platforms that compile ahead of time is the same', async () => {
  const file = readFileSync(new URL('../dist/voice-calling-sans-io.wasm', import.meta.url));
  const exports = (module) => JSON.stringify(WebAssembly.Module.exports(module));
  assert.equal(exports(new WebAssembly.Module(file)), exports(await compiledOnce()));
});

test('every function is a method of the client, and the reverse', () => {
  const client = new VoiceClient({ env: {} });
  const known = Object.values(functions).map(({ method }) => method.split('.').map(camel).join('.'));
  const there = ['agents', 'calls', 'dockets', 'webhooks'].flatMap((group) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(client[group]))
      .filter((name) => name !== 'constructor')
      .map((name) => `${group}.${name}`),
  );
  assert.deepEqual(there.sort(), known.sort());
});

test('every call is understood by its name', async () => {
  const guest = new Guest(await compiledOnce());
  const environment = [['VOICE_CALLING_BASE_URL', 'http://127.0.0.1:1'], ['VOICE_CALLING_API_TOKEN', TOKEN]];
  assert.equal(guest.configure(environment, { Seed: 1 }), undefined);
  assert.throws(() => guest.step([{ Begin: { operation: 1, call: { Nothing: null } } }], 0, 0), /unknown variant `Nothing`/);
  const names = Object.keys(functions).filter((name) => name !== 'ParseDocketCompleted');
  for (const name of names) {
    const begin = () => guest.step([{ Begin: { operation: 1, call: { [name]: 5 } } }], 0, 0);
    assert.throws(begin, (error) => /misused/.test(error.message) && !/unknown variant/.test(error.message));
  }
});
