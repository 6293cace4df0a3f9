'use strict';
/** Loads the native half: the one that was built beside this file, or that of the package for the platform. */

const { existsSync } = require('node:fs');
const { join } = require('node:path');

/** The platforms that have a package. */
const PLATFORMS = require('../platforms.json');

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
  const name = `@voice-calling/${found}`;
  const allowed = Object.keys(PLATFORMS).join(', ');
  if (!PLATFORMS[found]) throw new Error(`voice-calling: found the platform ${found}; allowed: ${allowed}`);
  try {
    return require(name);
  } catch (cause) {
    const hint = 'install it, and let npm install optional dependencies';
    throw new Error(`voice-calling: the package ${name} is missing or does not load: ${hint}`, { cause });
  }
}

module.exports = load();
