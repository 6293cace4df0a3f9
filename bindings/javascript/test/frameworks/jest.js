/** Jest loads the package by `require`, in a context of its own. */
const { testDoubles } = require('./doubles.js');

testDoubles(globalThis, jest, require('voice-calling'), require('voice-calling/testing'));
