// claims/tutorial4/gpt2_ffn.js - residual connections, FFN and GELU.
import { STREAM_POINTS, streamDistance } from '../activations.js';
import { distance, rows } from '../arithmetic.js';
import { ofFresh } from '../claim.js';
import { TINY_GPT2 } from '../configs.js';
import { atMost, shown, text } from '../outcome.js';
import { activations, erf } from '../reference/parts.js';
import { D, ofPass } from './gpt2_pass.js';

export const claims = [
  ofPass('4-residuals', 'Each block adds attention and then the FFN to the stream', STREAM_POINTS, (c) =>
    atMost(1e-5, streamDistance(c)),
  ),
  ofPass('4-ffn', 'FFN(x) = GELU(x W₁ + b₁) W₂ + b₂', ['blocks.0.mlp.*', 'blocks.0.hook_mlp_out'], (c, _, w) => {
    const two = w['h.0.mlp.c_proj.weight'].data,
      b = w['h.0.mlp.c_proj.bias'].data;
    const hidden = rows(c['blocks.0.mlp.hook_pre']).map((r) => Array.from(r, activations.gelu_tanh));
    const want = hidden.flatMap((x) =>
      Array.from(b, (bias, r) => bias + x.reduce((s, v, i) => s + v * two[i * D + r], 0)),
    );
    return atMost(1e-5, distance(c['blocks.0.hook_mlp_out'].data, want));
  }),
  ofFresh(
    '4-gelu',
    'GELU is the tanh form with 0.044715, which is not quite the erf form',
    TINY_GPT2,
    1,
    async (model) => {
      const set = Float32Array.from({ length: 128 }, (_, i) => i / 10 - 6.4);
      const { captured } = await model.forward([1], {
        capture: ['blocks.0.mlp.hook_post'],
        edits: [{ at: 'blocks.0.mlp.hook_pre', set }],
      });
      const got = captured['blocks.0.mlp.hook_post'].data,
        own = distance(got, set.map(activations.gelu_tanh)),
        other = distance(got, set.map(activations.gelu_erf));
      return shown(
        own < 2e-6 && other > 4e-4 && other < 6e-4,
        'tanh form: under 0.000002; erf form: 0.0004 to 0.0006',
        `tanh form: ${text(own)}; erf form: ${text(other)}`,
        'Largest distance of the engine’s curve from either, from −6.4 to 6.3.',
      );
    },
  ),
];
