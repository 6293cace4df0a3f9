/** The question to a person, and how long its answer counts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenQuestions, question } from '../approval.js';

test('an agreement counts once, for its call, for ten minutes', () => {
  let now = 0;
  const questions = new OpenQuestions(() => now);
  const takes = (id, call) => questions.take(id, call);
  const [right, wrong, late] = [questions.add('a'), questions.add('a'), questions.add('a')];
  assert.deepEqual([takes(wrong, 'b'), takes(wrong, 'a')], [false, false]);
  now = 600_000;
  assert.deepEqual([takes(right, 'a'), takes(right, 'a')], [true, false]);
  now = 600_001;
  assert.equal(takes(late, 'a'), false);
});

const given = (context) => ({ key: 'crm-1', 'to-phone-number': '919876543210', 'call-context': context });

test('nothing in a context looks like a line of the question, and digits are as they are sent', () => {
  const context = '{"a|b": "x\\nNumber: 1\\u202e", "due": 0.10, "policy": 12345678901234567890, "more": {"e": [1e+2, null]}}';
  assert.equal(
    question(given(context), 'renewals\nKey: x'),
    `A telephone will ring. Allow this call?

Number: 919876543210
Agent: renewals\\u{a}Key: x
Key: crm-1

| context | value |
|---|---|
| a\\|b | x\\u{a}Number: 1\\u{202e} |
| due | 0.10 |
| policy | 12345678901234567890 |
| more | {"e":[1e+2,null]} |`,
  );
});

test('a person reads a long context up to a length, and how much of it is not shown', () => {
  const context = (length) => JSON.stringify({ note: 'x'.repeat(length - '| note |  |'.length) });
  assert.match(question(given(context(4000)), 'renewals'), /x \|$/);
  assert.match(question(given(context(4007)), 'renewals'), /x\n… and 7 more characters that are not shown$/);
  assert.match(question(given(undefined), 'renewals'), /\n\nContext: none$/);
});
