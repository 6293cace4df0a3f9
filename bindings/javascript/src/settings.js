/** Options of the client as variables of the component. */
import { ConfigurationProblem } from '../generated/errors.js';
import { settings } from '../generated/settings.js';
import { found } from './words.js';

const PREFIX = 'VOICE_CALLING_';

/** Refuses an option. */
export function misconfigured(variable, found, allowed) {
  return new ConfigurationProblem(`${variable}: found ${found}, allowed: ${allowed}`, {
    variable,
    found,
    allowed,
  });
}

/**
 * The component's environment, as pairs: `variables` with the prefix, and over them the options
 * that are given.
 */
export function environment(options, variables, logsAttempts) {
  const merged = new Map();
  for (const [name, value] of Object.entries(variables)) {
    // Whatever has the prefix, since the component refuses what may be a setting misspelt.
    if (name.startsWith(PREFIX) && value !== undefined) merged.set(name, text(name, value));
  }
  for (const [name, setting] of Object.entries(settings)) {
    const value = options[name];
    if (value !== undefined) merged.set(setting.variable, written(name, setting, value));
  }
  if (logsAttempts) merged.set(`${PREFIX}LOG`, 'attempts');
  return [...merged];
}

/** @param {{ kind: string, words?: string[] }} setting */
function written(name, setting, value) {
  const { kind, words } = setting;
  switch (kind) {
    case 'integer':
      if (!Number.isSafeInteger(value) || value < 0) {
        throw misconfigured(name, found(value), 'a whole number, not negative');
      }
      return String(value);
    case 'flag':
      if (typeof value !== 'boolean') throw misconfigured(name, found(value), 'true or false');
      return String(value);
    case 'choice':
      if (!words.includes(value)) {
        throw misconfigured(name, found(value), words.map((word) => `'${word}'`).join(' or '));
      }
      return value;
    case 'secret':
      if (typeof value !== 'string') throw misconfigured(name, `a ${typeof value}`, 'a string');
      return text(name, value);
    default:
      return text(name, value);
  }
}

function text(name, value) {
  if (typeof value !== 'string') throw misconfigured(name, found(value), 'a string');
  if (!value.isWellFormed()) throw misconfigured(name, 'a lone surrogate', 'Unicode text');
  return value;
}
