// depth.test.js - depth(): what layers do to the stream of an untrained model
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { depth } from '../../web/lib/api/index.js';
import { depthInDouble } from './gradients.js';

describe('depth', () => {
  const deep = {
    d_model: 32,
    n_layers: 24,
    n_heads: 2,
    d_ff: 64,
    context_length: 16,
    norm: 'layernorm',
    ffn: 'gelu_erf',
    position: 'learned',
  };

  test('with 24 layers, norms and residuals keep signal and gradient as published', async () => {
    const [pre, post, carried, bare] = await Promise.all(
      [{}, { norm_placement: 'post' }, { use_norm: false }, { useNorm: false, useResidual: false }].map((change) =>
        depth({ ...deep, ...change }, { tokens: 64 }),
      ),
    );
    assert.ok([pre, post, carried, bare].every((list) => list.length === 24));
    assert.ok(pre[23].stream > 2 * pre[0].stream); // pre-norm: the stream grows
    assert.ok(pre[0].weights > 0.1 * pre[23].weights); // pre-norm: every layer receives gradient
    for (const { stream } of post) assert.ok(Math.abs(stream - 1) < 0.01); // post-norm: the stream stays at 1
    // residuals alone preserve both
    assert.ok(carried[0].weights > 1e-9 && carried[23].stream > 0.5 * carried[0].stream);
    // without norms and residuals both vanish
    assert.ok(bare[23].stream < 1e-6 * bare[0].stream && bare[0].weights < 1e-6 * carried[0].weights);
  });

  test('gradients and residual norms equal those computed in double precision', async () => {
    for (const change of [
      {},
      { norm_placement: 'post' },
      { norm_placement: 'post', use_residual: false },
      { use_norm: false },
    ]) {
      const config = { ...deep, n_heads: 4, ffn: 'gelu_tanh', norm_eps: 1e-5, ...change };
      const got = await depth(config, { seed: 9, tokens: 48 }),
        want = depthInDouble({ ...config, vocab_size: 256 }, 9, 48);
      for (const [l, { weights, stream }] of want.entries()) {
        assert.ok(
          Math.abs(got[l].weights - weights) < 1e-4 * weights,
          `${JSON.stringify(change)} layer ${l}: gradient ${got[l].weights}, in double ${weights}`,
        );
        assert.ok(
          Math.abs(got[l].stream - stream) < 1e-5 * stream,
          `${JSON.stringify(change)} layer ${l}: stream ${got[l].stream}, in double ${stream}`,
        );
      }
    }
  });

  test('the same seed gives the same measurement', async () => {
    assert.deepEqual(await depth(deep), await depth({ ...deep }, { seed: 1, tokens: 256 }));
    assert.notDeepEqual(await depth(deep), await depth(deep, { seed: 2 }));
  });

  test('refusals', async () => {
    await assert.rejects(depth({ ...deep, kind: 'encoder' }), { code: 'unsupported' });
    await assert.rejects(depth(deep, { tokens: 1 }), { code: 'bad-option' });
    await assert.rejects(depth(deep, { layers: 1 }), { code: 'bad-option' });
    const reason = new Error('enough');
    await assert.rejects(depth(deep, { signal: AbortSignal.abort(reason) }), reason);
  });
});
