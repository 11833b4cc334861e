// families.test.js - tiny models of every family in tests/golden/families.bin give the numbers of transformers
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { distance } from './helpers.js';
import { packedModels } from './packed_models.js';

/** A model of the file without a head. */
const HEADLESS = 'llama-base';

/** How far a value may be off: sums in f32 over two to four layers, of values around 1. */
const MOST = 2e-4;

const all = packedModels('families.bin');

// What reads logits says in one sentence that there are none.
test('a decoder without a head gives a vector for a text, and refuses what needs logits', async () => {
  const { source, runs } = all.find(({ name }) => name === HEADLESS);
  const model = await load(source, { dtype: 'f32', kvDtype: 'f32', worker: false });
  try {
    const [{ ids, data, shape }] = runs;
    const { data: last } = await model.embed(ids, { pooling: 'last', normalize: false });
    assert.ok(distance(last, data.subarray(data.length - shape[1])) <= MOST);
    await assert.rejects(model.generate(ids).text(), {
      code: 'unsupported',
      message: /has no next token; use embed or forward/,
    });
  } finally {
    model.dispose();
  }
});

describe('models as transformers 5.24 saves them', () => {
  for (const { name, source, runs } of all)
    test(name, async () => {
      const model = await load(source, { dtype: 'f32', kvDtype: 'f32', worker: false });
      try {
        for (const { ids, source: from, key, shape, data } of runs) {
          const result = await model.forward(ids, from && { source: from });
          assert.ok(result[key], `${key} is missing, there are ${Object.keys(result)}`);
          assert.deepEqual(result[key].shape, shape);
          const off = distance(result[key].data, data);
          assert.ok(off <= MOST, `${key} of ${ids.length} tokens is ${off} off`);
        }
      } finally {
        model.dispose();
      }
    });
});
