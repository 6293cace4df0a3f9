'use strict';
/** What is checked before anything is sent: numbers, deliveries, and whether someone may be called. */
const { typeOf } = require('./arguments.js');
const { configuration, invalidInput, native } = require('./errors.js');
const { NativeContactRules, normalizeNumber: normalize, parseDocketCompleted: parse } = require('./native.js');

function normalizeNumber(number, countryCode) {
  const code = countryCode === undefined || countryCode === null ? undefined : text('countryCode', countryCode);
  return native(() => normalize(text('number', number), code));
}

/** Returns the body of a delivery as text. */
function textOf(body) {
  return ArrayBuffer.isView(body) ? Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString() : body;
}

function parseDocketCompleted(body) {
  return JSON.parse(native(() => parse(text('body', textOf(body))))) ?? undefined;
}

class ContactRules {
  constructor({ doNotCall, countryCode, hours, timeZone, ...unknown } = {}) {
    const [name] = Object.keys(unknown);
    if (name !== undefined) throw invalidInput(name, 'an unknown field', 'doNotCall, countryCode, hours, timeZone');
    const numbers = doNotCall && Array.from(doNotCall, (number, index) => text(`doNotCall.${index}`, number));
    const texts = Object.entries({ countryCode, hours, timeZone }).map(([name, it]) => it && text(name, it));
    const rules = native(() => new NativeContactRules(numbers, ...texts));
    this.mayCall = ({ toPhoneNumber }) => rules.refusal(String(toPhoneNumber), Date.now()) ?? true;
  }
}

function text(name, value) {
  if (typeof value !== 'string') throw invalidInput(name, typeOf(value), 'text');
  return value;
}

/** Asks a function of the user's whether a request may be sent. Returns why not, as a problem, if so. */
async function checked(mayCall, request) {
  const reason = await mayCall(request);
  if (reason === true) return undefined;
  if (reason !== false && typeof reason !== 'string') throw configuration('mayCall', typeOf(reason), 'true, false, or why not, as its result');
  return ['toPhoneNumber', reason || 'a number that may not be called', 'a number for which mayCall returns true'];
}

module.exports = { ContactRules, checked, normalizeNumber, parseDocketCompleted, textOf };
