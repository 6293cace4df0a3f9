'use strict';
/** Functions of the user's that the native half asks. */

/** Returns the listener of questions that a function of the user's answers, or a promise of it. */
const answering = (decide) => (question) => {
  const fail = (error) => question.fail(String(error?.message ?? error));
  (async () => question.answer(await decide(question)))().catch(fail);
};

module.exports = { answering };
