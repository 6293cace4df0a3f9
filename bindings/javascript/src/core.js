/** The core module, compiled once for the process, when it is first needed. */
import { brotliDecompressSync } from 'node:zlib';
import { functions } from '../generated/wit.js';
import { signature } from './canonical_abi.js';
import { packed } from '../dist/core.js';

let compiled;

/** The module, and its imports by interface. */
export function core() {
  return (compiled ??= compile(brotliDecompressSync(Buffer.from(packed, 'base64'))));
}

/** For tests: how it is made from bytes. */
export function compile(bytes) {
  const module = new WebAssembly.Module(bytes);
  const imports = WebAssembly.Module.imports(module).map(({ module, name }) => {
    // The version of WASI is the component's own business: `wasi:io/poll@0.2.12`.
    const [, from] = /^(wasi:[a-z-]+\/[a-z-]+)@0\.2\.\d+$/.exec(module) ?? [];
    return { module, interface: from, name };
  });
  return { module, imports };
}

const signatures = new Map();

/** How a function of the client is called. */
export function signatureOf(name) {
  let found = signatures.get(name);
  if (!found) signatures.set(name, (found = signature(functions[name])));
  return found;
}
