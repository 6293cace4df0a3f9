/** The package knows all of the component that is in it, and nothing that is not. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { functions } from '../generated/wit.js';
import { signature } from '../src/canonical_abi.js';
import { compile, core } from '../src/core.js';
import { Instance } from '../src/instance.js';
import { wasi } from '../src/wasi.js';

const host = { environment: [], connections: undefined, stderr: () => {} };

test('every function of the component is one of the client, and the reverse', () => {
  const exports = WebAssembly.Module.exports(core().module).map(({ name }) => name);
  const exported = exports.filter((name) => name.startsWith('voice-calling:'));
  const known = Object.values(functions).map((known) => known.core);
  assert.deepEqual(exported.sort(), known.sort());
  for (const name of known) assert.ok(exports.includes(`cabi_post_${name}`));
});

test('every import of the component is there, and nothing is there that it does not import', () => {
  const instance = new Instance(core(), host);
  const imported = core().imports.map((it) => `${it.interface}#${it.name}`);
  const there = Object.entries(wasi(instance, host)).flatMap(([from, names]) =>
    Object.keys(names).map((name) => `${from}#${name}`),
  );
  assert.deepEqual(there.sort(), imported.sort());
});

test('another version of WASI 0.2 is the component\'s own business; another WASI is refused', () => {
  const renamed = (version) => {
    const bytes = moduleImporting(`wasi:io/error@${version}`, '[resource-drop]error');
    return () => {
      const { imports } = compile(bytes);
      return imports.map((it) => it.interface);
    };
  };
  assert.deepEqual(renamed('0.2.99')(), ['wasi:io/error']);
  assert.deepEqual(renamed('0.3.0')(), [undefined]);
});

test('an import that is not there is told by its name', () => {
  const module = compile(moduleImporting('wasi:io/streams@0.2.12', 'splice'));
  assert.throws(() => new Instance(module, host), /wasi:io\/streams@0\.2\.12#splice/);
});

test('a call can leave the stack, and only where it polls', () => {
  const exports = WebAssembly.Module.exports(core().module).map(({ name }) => name);
  for (const step of ['start_unwind', 'stop_unwind', 'start_rewind', 'stop_rewind', 'get_state']) {
    assert.ok(exports.includes(`asyncify_${step}`));
  }
  // Nothing else in the host may return later.
  const source = readFileSync(new URL('../src/wasi.js', import.meta.url), 'utf8');
  assert.equal(source.match(/instance\.suspend\(/g).length, 1);
  assert.ok(!/\basync\b|\bawait\b|Promise/.test(source));
});

test('every function has a layout', () => {
  for (const function_ of Object.values(functions)) signature(function_);
});

test('only what creates is known to create', () => {
  const creating = Object.keys(functions).filter((name) => functions[name].creates);
  assert.deepEqual(creating.sort(), [
    'agents.create',
    'calls.make',
    'dockets.create',
    'dockets.create-many',
    'dockets.create-v1',
  ]);
});

/** A module with one import and nothing else. */
function moduleImporting(module, name) {
  const text = (value) => [value.length, ...Buffer.from(value)];
  const section = (id, content) => [id, content.length, ...content];
  const functionType = [1, 0x60, 1, 0x7f, 0];
  const imports = [1, ...text(module), ...text(name), 0, 0];
  return Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...section(1, functionType), ...section(2, imports)]);
}
