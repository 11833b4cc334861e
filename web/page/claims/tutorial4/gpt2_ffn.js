// claims/tutorial4/gpt2_ffn.js - residual connections, FFN and GELU.
import { STREAM_POINTS, activated, doubles, streamDistance } from '../activations.js';
import { distance } from '../arithmetic.js';
import { ofFresh } from '../claim.js';
import { TINY_GPT2 } from '../configs.js';
import { atMost, shown, text } from '../outcome.js';
import { activations, each, flat, linear, transposed } from '../reference/parts.js';
import { ofGpt2 } from './gpt2_pass.js';

export const claims = [
  ofGpt2('4-residuals', 'Each block adds attention and then the FFN to the stream', STREAM_POINTS, (c) =>
    atMost(1e-5, streamDistance(c)),
  ),
  ofGpt2('4-ffn', 'FFN(x) = GELU(x W₁ + b₁) W₂ + b₂', ['blocks.0.mlp.*', 'blocks.0.hook_mlp_out'], (c, w) => {
    const hidden = each(doubles(c['blocks.0.mlp.hook_pre']), activations.gelu_tanh);
    const want = linear(hidden, transposed(w['h.0.mlp.c_proj.weight']), w['h.0.mlp.c_proj.bias']);
    return atMost(1e-5, distance(c['blocks.0.hook_mlp_out'].data, flat(want)));
  }),
  ofFresh(
    '4-gelu',
    'GELU is the tanh form with 0.044715, which is not quite the erf form',
    TINY_GPT2,
    1,
    async (model) => {
      const set = Float32Array.from({ length: 128 }, (_, i) => i / 10 - 6.4),
        got = await activated(model, set, 128);
      const own = distance(got, set.map(activations.gelu_tanh)),
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
