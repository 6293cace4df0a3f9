/** Options of the client as variables of the component. */
import { ConfigurationProblem } from '../generated/errors.js';
import { settings } from '../generated/settings.js';
import { found, kind as kindOf } from './words.js';

const PREFIX = 'VOICE_CALLING_';

const DEFAULT_DEADLINE_MS = 30_000;

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
    if (!name.startsWith(PREFIX) || value === undefined) continue;
    // It may be the token.
    if (typeof value !== 'string') throw misconfigured(name, kindOf(value), 'a string');
    merged.set(name, text(name, value));
  }
  for (const [name, setting] of Object.entries(settings)) {
    const value = options[name];
    if (value !== undefined) merged.set(setting.variable, written(name, setting, value));
  }
  if (logsAttempts) merged.set(`${PREFIX}LOG`, 'attempts');
  return [...merged];
}

/** How long an operation may take; the default where the component will refuse what is set. */
export function deadlineOf(environment) {
  const text = new Map(environment).get(`${PREFIX}DEADLINE_MS`) ?? '';
  return /^\d+$/.test(text) ? Number(text) : DEFAULT_DEADLINE_MS;
}

/** `http:` or `https:`, where the service's address has one of them. */
export function protocolOf(environment) {
  const url = new Map(environment).get(`${PREFIX}BASE_URL`) ?? '';
  return /^https?:/i.exec(url)?.[0].toLowerCase();
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
      if (typeof value !== 'string') throw misconfigured(name, kindOf(value), 'a string');
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
