#!/usr/bin/env node
'use strict';
/** The command for people with a list. */
const { runCommand } = require('../src/native.js');

// It handles the signals by itself. A listener that goes takes Node's own with it.
for (const signal of ['SIGINT', 'SIGTERM']) {
  const listener = () => {};
  process.on(signal, listener).off(signal, listener);
}
process.exitCode = runCommand(process.argv.slice(2));
