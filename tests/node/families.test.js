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

// The published Gemma 3 did not open: its tokenizer has <image_soft_token>, the embedding of the text model no row.
test('a token without a row in the embedding is refused where it is used, and by its name', async () => {
  const extra = '<image_soft_token>';
  const vocab = Object.fromEntries(Array.from({ length: 61 }, (_, id) => [`w${id} `, id]));
  const tokenizer = {
    model: { type: 'BPE', vocab: { ...vocab, [extra]: 61 }, merges: [] },
    added_tokens: [...Object.entries(vocab), [extra, 61]].map(([content, id]) => ({ content, id, special: id === 61 })),
    decoder: { type: 'Fuse' },
  };
  const chatTemplate = '{% for m in messages %}{{ m.content }}{% endfor %}';
  const refused = { code: 'bad-token', message: /<image_soft_token>.*61.*has 61 rows/ };
  for (const name of ['arcee', HEADLESS]) {
    const { source } = all.find((each) => each.name === name);
    const model = await load({ ...source, tokenizer }, { dtype: 'f32', worker: false, chatTemplate });
    try {
      assert.deepEqual(await model.encode('w3 w5 '), [3, 5]);
      await assert.rejects(model.encode(`w3 ${extra}`), refused);
      await assert.rejects(model.forward(`w3 ${extra}`), refused);
      await assert.rejects(model.forward([3, 61]), { code: 'bad-token' });
      if (name === HEADLESS) {
        assert.equal((await model.embed('w3 w5 ')).data.length, 24);
        await assert.rejects(model.embed(`w3 ${extra}`), refused);
        continue;
      }
      const options = { maxTokens: 3, temperature: 0 };

      assert.equal(typeof (await model.generate('w3 w5 ', options).text()), 'string');
      const grammar = 'root ::= "w7 w9 "';
      assert.equal(await model.generate('w3 ', { ...options, grammar }).text(), 'w7 w9 ');
      assert.equal(typeof (await model.chat([{ role: 'user', content: 'w3 ' }], options).text()), 'string');
      await assert.rejects(model.generate(`w3 ${extra}`, options).text(), refused);
      await assert.rejects(model.chat([{ role: 'user', content: extra }], options).text(), refused);
    } finally {
      model.dispose();
    }
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
