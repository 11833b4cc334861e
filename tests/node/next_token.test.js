// next_token.test.js - the rows of the panel "Next token" and its sentences
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextOf } from '../../web/page/views/write/candidates.js';
import { surpriseOf } from '../../web/page/views/write/surprise.js';
import { excluded, passing } from '../../web/page/text/write.js';

const sampler = { temperature: 1, topK: 0, topP: 1, seed: 1, ignoreEos: false };
const token = (/** @type {any} */ more) => ({ id: 0, text: 'a', given: false, logprob: null, top: null, ...more });

/** @returns {any} */
const stateOf = ({ topK = 0, words = new Map() }) => ({
  text: {
    tokens: [token({})],
    cursor: 0,
    logits: new Map([[0, Float32Array.from([Math.log(8), Math.log(4), Math.log(2), Math.log(1), Math.log(1)])]]),
    words,
  },
  sampler: { ...sampler, topK },
  run: { model: { config: { kind: 'decoder' } } },
});

test("a candidate has the model's probability and the sampler's, and both bars have one scale", () => {
  const { rows, kept, size } = nextOf(stateOf({ topK: 2 })) ?? assert.fail();
  assert.deepEqual([kept, size, rows.length], [2, 5, 5]);
  rows.forEach(({ candidate, model, sampled, out }, i) => {
    const p = [8, 4, 2, 1, 1][i] / 16,
      q = [8 / 12, 4 / 12, 0, 0, 0][i];
    assert.ok(Math.abs(candidate.model - p) < 1e-6 && Math.abs((candidate.sampled ?? NaN) - q) < 1e-6);
    assert.ok(Math.abs(model - p / (8 / 12)) < 1e-6 && Math.abs(sampled - q / (8 / 12)) < 1e-6, 'the largest bar is 1');
    assert.equal(out, i >= 2);
  });
});

test('a candidate whose text is not known yet shows an ellipsis, never its id', () => {
  const words = new Map([
    [0, ' red'],
    [1, ''],
  ]);
  const { rows } = nextOf(stateOf({ words })) ?? assert.fail();
  assert.deepEqual(
    rows.map((row) => row.word),
    ['red', '#1', '…', '…', '…'],
  );
});

test('the excluded tokens are counted, with the rule that excluded them', () => {
  const rule = (/** @type {any} */ patch, /** @type {number} */ kept) => excluded({ ...sampler, ...patch }, kept, 2048);
  assert.equal(rule({ topP: 0.9 }, 3), '2,045 excluded by top-p');
  assert.equal(rule({ topK: 40 }, 40), '2,008 excluded by top-k');
  assert.equal(rule({ topK: 40, topP: 0.9 }, 40), '2,008 excluded by top-k');
  assert.equal(rule({ topK: 40, topP: 0.9 }, 3), '2,045 excluded by top-k and top-p');
  assert.equal(rule({ temperature: 0, topP: 0.9 }, 1), '2,047 excluded by temperature 0');
  assert.match(passing(sampler, { kept: 3, size: 2048, entropySampled: 1 }), /^3 of 2,048 tokens pass top-k\/top-p, /);
});

test('surprise is in bits, and is drawn from four known probabilities on', () => {
  const tokens = [1, 2, 4, 8].map((p) => token({ logprob: -Math.log(p), text: String(p) }));
  assert.equal(surpriseOf(tokens.slice(1), 0), null);
  const drawn = surpriseOf(tokens, 2) ?? assert.fail();
  assert.deepEqual([drawn.mean, drawn.most, drawn.mostBits], [1.5, 3, 3]);
  assert.deepEqual([drawn.at(0.01), drawn.at(0.99)], [0, 23], 'a short text fills a part of the width');
});
