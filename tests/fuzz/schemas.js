// schemas.js - compares constrained texts with Ajv, an independent validator of JSON schemas
//
//   node tests/fuzz/schemas.js [--seconds N] [--cases N] [--seed N] [--case N]
//
// A case is a random schema and a random text that its grammar permits, in one of several vocabularies. Ajv, which is
// installed into build/ajv and is no development dependency, must find the text valid.
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { numbersOf, randomText, schema } from '../node/random_schemas.js';
import { vocabularies } from '../node/vocabularies.js';
import { installed, runFromCommandLine } from './command_line.js';

/** Ajv for draft 2020-12 with the formats of ajv-formats. */
function validator() {
  const require = createRequire(installed('ajv', ['ajv@8.20.0', 'ajv-formats@3.0.1']));
  const { default: Ajv } = require('ajv/dist/2020');
  // of numbers, the remainder of a division is rounded
  return () => require('ajv-formats').default(new Ajv({ strict: false, multipleOfPrecision: 9 }));
}

/**
 * @param {{seed: number, first: number, cases: number, seconds: number}} how
 * @returns {Promise<{cases: number, why?: string}>} why: a finding, in case number `cases`
 */
async function fuzz({ seed, first, cases, seconds }) {
  const models = await vocabularies();
  const ajv = validator();
  const end = performance.now() + 1000 * seconds;
  let n = first;
  for (; n < first + cases && performance.now() < end; n++) {
    const [[given]] = [fc.sample(schema, { numRuns: 1, seed: seed * 100_003 + n })];
    const { text } = randomText(models[n % models.length], { json: given }, numbersOf(n));
    if (/"(toString|valueOf)":/.test(text)) continue; // Ajv's comparison of values calls them
    const isValid = ajv().compile(given);
    if (!isValid(JSON.parse(text)))
      return { cases: n, why: `${JSON.stringify(given)}\n${text}\n${JSON.stringify(isValid.errors)}` };
  }
  return { cases: n - first };
}

await runFromCommandLine('schemas', fuzz);
