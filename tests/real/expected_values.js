// expected_values.js - what other programs say of the real files, as make_expected.py wrote it
import { readFileSync } from 'node:fs';

export const expected = JSON.parse(readFileSync(new URL('expected.json', import.meta.url), 'utf8'));
/** Distributions after each position of a text; make_expected.py has the layout. */
export const logprobs = () => readFileSync(new URL('logprobs.bin', import.meta.url));
