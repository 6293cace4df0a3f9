/**
 * Makes `dist/core.js` from the component: its core module, rewritten so that a call can wait
 * without blocking the event loop (Binaryen's Asyncify), packed into text that bundlers take along.
 *
 *     node build.mjs path/to/voice-calling.wasm
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

const folder = fileURLToPath(new URL('.', import.meta.url));
const wasmOpt = join(folder, 'node_modules/binaryen/bin/wasm-opt');
const output = join(folder, 'dist/core.js');

/** What the component's compiler uses of WebAssembly. */
const FEATURES = [
  'bulk-memory',
  'nontrapping-float-to-int',
  'sign-ext',
  'mutable-globals',
  'multivalue',
  'reference-types',
];

const [component] = process.argv.slice(2);
if (!component) throw new Error('usage: node build.mjs path/to/voice-calling.wasm');
const bytes = readFileSync(component);
const source = createHash('sha256')
  .update(bytes)
  .update(readFileSync(fileURLToPath(import.meta.url)))
  .update(readFileSync(join(folder, 'package-lock.json')))
  .digest('hex');
if (existsSync(output) && readFileSync(output, 'utf8').includes(source)) {
  console.error('dist/core.js: up to date');
} else {
  const module = suspendable(coreModule(bytes));
  const packed = brotliCompressSync(module, {
    params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: module.length },
  }).toString('base64');
  mkdirSync(join(folder, 'dist'), { recursive: true });
  writeFileSync(
    output,
    `// Written by build.mjs. The component's core module: WebAssembly, brotli, base64.\n` +
      `// Made from ${source}.\nexport const packed =\n  '${packed}';\n`,
  );
  console.error(`dist/core.js: written, ${module.length} bytes of module, ${packed.length} packed`);
}

/** The first section of a component that is a core module. The others only connect it. */
function coreModule(bytes) {
  const CORE_MODULE = 1;
  const PREAMBLE_BYTES = 8;
  let at = PREAMBLE_BYTES;
  const number = () => {
    let result = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      result += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return result;
    }
  };
  while (at < bytes.length) {
    const id = bytes[at++];
    const length = number();
    if (id === CORE_MODULE) return bytes.subarray(at, at + length);
    at += length;
  }
  throw new Error(`${component} has no core module: it is no component`);
}

/** The module, whose stack can be left and entered again at `poll`, the only place where it waits. */
function suspendable(module) {
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(module));
  const poll = imports.find((it) => it.module.startsWith('wasi:io/poll@') && it.name === 'poll');
  if (!poll) throw new Error('the component does not import wasi:io/poll');
  const scratch = mkdtempSync(join(tmpdir(), 'voice-calling-'));
  try {
    const [from, to] = [join(scratch, 'core.wasm'), join(scratch, 'suspendable.wasm')];
    writeFileSync(from, module);
    execFileSync(process.execPath, [
      wasmOpt,
      from,
      '--output',
      to,
      ...FEATURES.map((feature) => `--enable-${feature}`),
      '-O2',
      '--asyncify',
      `--pass-arg=asyncify-imports@${poll.module}.${poll.name}`,
      '-O2',
    ]);
    return readFileSync(to);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
