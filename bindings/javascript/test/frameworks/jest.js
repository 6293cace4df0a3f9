/** Jest loads the package by `require`. */
const { testDoubles } = require('./doubles.js');

const package_ = { ...require('voice-calling'), ...require('voice-calling/testing') };

testDoubles(globalThis, jest, { doNotFake: ['setImmediate'] }, package_);
