/** The client without I/O: a core module, compiled once for the process, when it is first needed. */

let compiled;

/** The module that is in the package. It lies in text, so that bundlers take it along, and is CommonJS, which all load. */
export function compiledOnce() {
  compiled ??= import('../dist/packed.cjs').then(({ packed }) => unpacked(packed));
  return compiled;
}

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}
