// fuzz.test.js - a few cases of tests/fuzz with a fixed seed; `./build.sh fuzz` runs many
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzCalls } from '../fuzz/calls.js';
import { fuzzFullMemory } from '../fuzz/full_memory.js';
import { fuzz } from '../fuzz/readers.js';
import { fuzzTemplates } from '../fuzz/templates.js';

test('random wrong files are refused', async () => {
  const { cases, why } = await fuzz({ seed: 1, cases: 400 });
  assert.equal(why, undefined, `case ${cases}: ${why}`);
  assert.equal(cases, 400);
});

test('random chat templates are rendered or refused', async () => {
  const { cases, why } = await fuzzTemplates({ seed: 1, cases: 500 });
  assert.equal(why, undefined, `case ${cases}: ${why}`);
  assert.equal(cases, 500);
});

test('random wrong arguments are refused, and the model then generates the same text', async () => {
  const { cases, why } = await fuzzCalls({ seed: 1, cases: 150 });
  assert.equal(why, undefined, `case ${cases}: ${why}`);
  assert.equal(cases, 150);
});

// After a refused fork near 4 GiB, the next call trapped, or read a session of -1082339339 positions.
test('a call that memory refuses changes nothing, and any other gives the bits of an engine with more memory', async () => {
  for (const first of [0, 16]) {
    const { cases, steps, why } = await fuzzFullMemory({ seed: 1, first, cases: 8 });
    assert.equal(why, undefined, `case ${cases}: ${why}`);
    assert.equal(steps, 2000);
  }
});
