// switches.test.js - load's option `switches`: it reaches the engine, and wrong values are refused. The results of each
// switch are compared with golden models in tests/native/model_test.c.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { stories } from './helpers.js';

const ids = [0, 431, 290, 17, 290, 1024];

for (const name of ['causal', 'scaleScores', 'usePosition', 'useResidual', 'useNorm', 'useFinalNorm']) {
  test(`${name}: false changes the logits, true does not`, async () => {
    const plain = await load(stories),
      off = await load(stories, { switches: { [name]: false } }),
      on = await load(stories, { switches: { [name]: true } });
    try {
      const a = await plain.forward(ids),
        b = await off.forward(ids),
        c = await on.forward(ids);
      assert.equal(off.config[name], false);
      assert.deepEqual(c.logits.data, a.logits.data);
      const most = b.logits.data.reduce((m, v, i) => Math.max(m, Math.abs(v - a.logits.data[i])), 0);
      assert.ok(most > 0.1, `the largest difference is ${most}`);
    } finally {
      plain.dispose();
      off.dispose();
      on.dispose();
    }
  });
}

test('without the scale a score is the plain product, without the mask no score is -inf', async () => {
  const bare = await load(stories, { switches: { scaleScores: false } }),
    open = await load(stories, { switches: { causal: false } });
  try {
    const { captured } = await bare.forward(ids, { capture: ['blocks.2.attn.hook_attn_scores_*'] });
    assert.deepEqual(
      captured['blocks.2.attn.hook_attn_scores_scaled'].data,
      captured['blocks.2.attn.hook_attn_scores_raw'].data,
    );
    const pattern = (await open.forward(ids, { capture: ['blocks.0.attn.hook_pattern'] })).captured[
      'blocks.0.attn.hook_pattern'
    ];
    assert.ok(pattern.data.every((p) => p > 0));
  } finally {
    bare.dispose();
    open.dispose();
  }
});

test('an unknown switch, and a value that is not a boolean, are refused by name', async () => {
  await assert.rejects(load(stories, { switches: { useMagic: false } }), { code: 'bad-option', message: /useMagic/ });
  await assert.rejects(load(stories, { switches: { useNorm: 0 } }), { code: 'bad-option', message: /useNorm/ });
});
