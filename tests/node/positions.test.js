// positions.test.js - the rotary frequencies of YaRN are those of its paper (Peng et al. 2023, section 3), with and
// without rounding the bounds of the ramp, as transformers computes them
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '../../web/lib/api/index.js';

test('the frequencies of YaRN, with and without rounded bounds, also where the upper one is cut', async () => {
  const [d, factor] = [16, 4];
  for (const [theta, original, truncate] of [
    [10000, 64, true],
    [10000, 64, false],
    [8, 438, true],
    [8, 438, false],
  ]) {
    const model = await create({
      ...{ vocab_size: 8, d_model: 16, n_layers: 1, n_heads: 1, d_head: d, context_length: 16, rope_theta: theta },
      ...{ rope_scaling: 'yarn', rope_factor: factor, rope_original_context: original, rope_attention_factor: 1 },
      rope_truncate: truncate,
    });
    const [q, rotated] = ['hook_q', 'hook_rot_q'].map((name) => `blocks.0.attn.${name}`);
    const { captured } = await model.forward([1, 2], { capture: [q, rotated] });
    const pair = (point, i) => [i, i + d / 2].map((j) => captured[point].data[d + j]); // of position 1
    const bound = (turns) => (d * Math.log(original / (turns * 2 * Math.PI))) / (2 * Math.log(theta));
    const low = Math.max(truncate ? Math.floor(bound(32)) : bound(32), 0),
      high = Math.min(truncate ? Math.ceil(bound(1)) : bound(1), d - 1);
    for (let i = 0; i < d / 2; i++) {
      const [a, b] = pair(q, i),
        [x, y] = pair(rotated, i);
      const angle = Math.atan2(a * y - b * x, a * x + b * y);
      const ramp = Math.min(Math.max((i - low) / (high - low), 0), 1);
      const plain = theta ** ((-2 * i) / d);
      const want = (plain / factor) * ramp + plain * (1 - ramp);
      assert.ok(Math.abs(angle - want) < 1e-5, `pair ${i}, truncate ${truncate}: ${angle}, expected ${want}`);
    }
    model.dispose();
  }
});
