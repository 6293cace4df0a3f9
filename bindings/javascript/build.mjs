/**
 * Makes `dist/`, the package: CommonJS, which all test runners load, with the client without I/O
 * packed into text that bundlers take along.
 *
 *     node build.mjs path/to/voice-calling-sans-io.wasm
 */
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const folder = fileURLToPath(new URL('.', import.meta.url));
const dist = join(folder, 'dist');

const [wasm] = process.argv.slice(2);
if (!wasm) throw new Error('usage: node build.mjs path/to/voice-calling-sans-io.wasm');
const bytes = readFileSync(wasm);
checkImports(bytes);

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const packed = gzipSync(bytes, { level: 9 }).toString('base64');
writeFileSync(
  join(dist, 'packed.cjs'),
  `// Written by build.mjs: ${basename(wasm)}, gzip, base64.\nexports.packed =\n  '${packed}';\n`,
);
await build({
  entryPoints: ['index', 'testing'].map((name) => join(folder, 'src', `${name}.js`)),
  outdir: dist,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  // Loaded when it is needed, and by `require`: test runners such as Jest have no `import()`.
  external: ['../dist/packed.cjs'],
  supported: { 'dynamic-import': false },
});
// TypeScript asks how they are loaded.
for (const name of readdirSync(join(folder, 'types'))) {
  const text = readFileSync(join(folder, 'types', name), 'utf8');
  writeFileSync(join(dist, name.replace('.d.ts', '.d.cts')), text.replaceAll(".js'", ".cjs'"));
}
console.error(`dist: written, ${bytes.length} bytes of WebAssembly, ${packed.length} packed`);

function checkImports(bytes) {
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(bytes));
  if (imports.length > 0) throw new Error(`${wasm} imports something: it has to be the client without I/O`);
}
