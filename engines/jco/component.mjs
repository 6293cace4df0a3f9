/** The component as jco makes JavaScript of it, with the WASI 0.3 of jco's own shim. */
import * as cli from '@bytecodealliance/preview3-shim/cli';
import * as clocks from '@bytecodealliance/preview3-shim/clocks';
import * as http from '@bytecodealliance/preview3-shim/http';
import * as random from '@bytecodealliance/preview3-shim/random';
import { transpileBytes } from '@bytecodealliance/jco-transpile';

import { withoutTimeouts } from './network.mjs';

const NAME = 'component';
const PACKAGE = 'voice-calling:client-async';
const VERSION = '0.1.0';
const INTERFACES = ['agents', 'bulk', 'calls', 'dockets', 'webhooks'];

/** Compiled once; `instance` makes as many of it as one likes, each with settings of its own. */
export class Component {
  #instantiate;
  #modules;

  static async from(bytes) {
    const { files } = await transpileBytes(bytes, {
      name: NAME,
      instantiation: 'async',
      base64Cutoff: 0,
      emitTypescriptDeclarations: false,
      // As the command `jco transpile` does by default.
      noComponentErrorWrapping: false,
    });
    const component = new Component();
    component.#modules = new Map();
    for (const [path, content] of Object.entries(files)) {
      if (path.endsWith('.wasm')) {
        component.#modules.set(path, await WebAssembly.compile(content));
      } else if (path === `${NAME}.js`) {
        const source = Buffer.from(content).toString('base64');
        component.#instantiate = (await import(`data:text/javascript;base64,${source}`)).instantiate;
      }
    }
    return component;
  }

  /**
   * An instance with these settings, written without `VOICE_CALLING_`. `client` is what it sends
   * its requests by.
   */
  async instance(settings, client = withoutTimeouts(http.client)) {
    const variables = Object.entries(settings).map(([name, value]) => [`VOICE_CALLING_${name}`, value]);
    const exports = await this.#instantiate((path) => this.#modules.get(path), {
      'wasi:cli/environment': { getEnvironment: () => variables },
      'wasi:cli/stderr': cli.stderr,
      'wasi:clocks/monotonic-clock': clocks.monotonicClock,
      'wasi:clocks/system-clock': clocks.systemClock,
      'wasi:http/client': client,
      'wasi:http/types': http.types,
      'wasi:random/insecure': random.insecure,
    });
    return Object.fromEntries(
      INTERFACES.map((name) => [name, exports[`${PACKAGE}/${name}@${VERSION}`]]),
    );
  }
}

/** jco's own client, as it is. */
export const shimsClient = http.client;
