'use strict';
/** Loads the native half: the one that was built beside this file, or that of the package for the platform. */

const { existsSync } = require('node:fs');
const { join } = require('node:path');

/** The systems that have a package, by what Node calls them. */
const PLATFORMS = {
  'linux-x64-gnu': '@voice-calling/linux-x64-gnu',
  'linux-x64-musl': '@voice-calling/linux-x64-musl',
  'linux-arm64-gnu': '@voice-calling/linux-arm64-gnu',
  'darwin-x64': '@voice-calling/darwin-x64',
  'darwin-arm64': '@voice-calling/darwin-arm64',
  'win32-x64': '@voice-calling/win32-x64',
};

function platform() {
  const { platform, arch } = process;
  if (platform !== 'linux') return `${platform}-${arch}`;
  const { header } = process.report?.getReport() ?? {};
  return `${platform}-${arch}-${header && !header.glibcVersionRuntime ? 'musl' : 'gnu'}`;
}

function load() {
  const built = join(__dirname, '..', 'voice-calling.node');
  if (existsSync(built)) return require(built);
  const found = platform();
  const name = PLATFORMS[found];
  const allowed = Object.keys(PLATFORMS).join(', ');
  if (!name) throw new Error(`voice-calling: found the platform ${found}; allowed: ${allowed}`);
  try {
    return require(name);
  } catch (cause) {
    const hint = 'install it, and let npm install optional dependencies';
    throw new Error(`voice-calling: the package ${name} is missing or does not load: ${hint}`, { cause });
  }
}

module.exports = load();
