// fuzz.test.js - a few cases of tests/fuzz with a fixed seed; `./build.sh fuzz` runs many
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzCalls } from '../fuzz/calls.js';
import { fuzz } from '../fuzz/readers.js';

test('random wrong files are refused', async () => {
  const { cases, why } = await fuzz({ seed: 1, cases: 400 });
  assert.equal(why, undefined, `case ${cases}: ${why}`);
  assert.equal(cases, 400);
});

test('random wrong arguments are refused, and the model then generates the same text', async () => {
  const { cases, why } = await fuzzCalls({ seed: 1, cases: 150 });
  assert.equal(why, undefined, `case ${cases}: ${why}`);
  assert.equal(cases, 150);
});
