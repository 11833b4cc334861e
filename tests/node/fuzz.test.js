// fuzz.test.js - the targets of tests/fuzz, for a moment and always the same: `./build.sh fuzz` takes its time
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzCalls } from '../fuzz/calls.js';
import { fuzz } from '../fuzz/readers.js';

test('wrong files end in refusals', async () => {
  const { cases, why } = await fuzz({ seed: 1, cases: 800 });
  assert.equal(why, undefined, `case ${cases}: ${why}`);
  assert.equal(cases, 800);
});

test('wrong arguments end in refusals, and the model writes on as before', async () => {
  const { cases, why } = await fuzzCalls({ seed: 1, cases: 300 });
  assert.equal(why, undefined, `case ${cases}: ${why}`);
  assert.equal(cases, 300);
});
