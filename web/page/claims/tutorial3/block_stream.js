// claims/tutorial3/block_stream.js - the residual stream, pre-norm and post-norm.
import { STREAM_POINTS, doubles, streamSumDistance } from '../activations.js';
import { distance, ids, mean, plus, rms, rows } from '../arithmetic.js';
import { plainGpt } from '../checkpoints/gpts.js';
import { claim, ofPass, ofReference, using } from '../claim.js';
import { BLOCK } from '../configs.js';
import { atMost, shown, text } from '../outcome.js';
import { gpt } from '../reference/gpt_forward.js';
import { flat, layerNorm, linear } from '../reference/parts.js';

const GPT = /** @type {const} */ ({ ...BLOCK, n_layers: 4, position: 'learned', final_norm: true });

export const claims = [
  ofReference(
    '3-reference',
    'A file with the names of this model gives the logits of its arithmetic in double precision',
    () => plainGpt({ fused_qkv: false }),
    gpt,
  ),
  ofPass(
    '3-stream-sum',
    'The stream at any depth is the embedding plus what every sublayer before it wrote',
    () => plainGpt({ n_layers: 4 }),
    { capture: ['hook_embed', 'hook_pos_embed', ...STREAM_POINTS] },
    (c) =>
      atMost(
        1e-5,
        streamSumDistance(c, 4, plus(c.hook_embed.data, c.hook_pos_embed.data)),
        '4 blocks: the embedding and 4 contributions, each of an attention and an MLP.',
      ),
  ),
  ofPass(
    '3-block-definition',
    'A block is x + attention(LN(x)), then x + MLP(LN(x)): each sublayer reads the stream through its norm',
    () => plainGpt({ fused_qkv: false }),
    { capture: ['blocks.1.*'] },
    (c, weights) => {
      const at = (name) => c[`blocks.1.${name}`],
        w = (name) => weights[`blocks.1.${name}`];
      const projected = (stream, norm, matrix) =>
        flat(linear(layerNorm(doubles(at(stream)), 1e-5, w(`${norm}.weight`), w(`${norm}.bias`)), w(matrix)));
      const sum = (stream, out) => plus(at(stream).data, at(out).data);
      return atMost(
        1e-5,
        Math.max(
          distance(at('attn.hook_q').data, projected('hook_resid_pre', 'ln1', 'attn.q.weight')),
          distance(at('mlp.hook_pre').data, projected('hook_resid_mid', 'ln2', 'mlp.fc1.weight')),
          distance(at('hook_resid_mid').data, sum('hook_resid_pre', 'hook_attn_out')),
          distance(at('hook_resid_post').data, sum('hook_resid_mid', 'hook_mlp_out')),
        ),
        'Queries from LN(x), the MLP’s hidden layer from LN of the stream between, and both sums.',
      );
    },
  ),
  claim(
    '3-post-constant',
    'Post-norm brings the stream back to one size after every block, pre-norm lets it grow',
    async (g) => {
      const sizes = (config) =>
        using(g.create(config, { seed: 3 }), async (model) => {
          const { captured } = await model.forward(ids(12, 32), {
            capture: ['*.hook_resid_post'],
            edits: [{ at: 'hook_embed', scale: 5 }],
          });
          return Object.values(captured).map((t) => mean(rows(t).map(rms)));
        });
      const [pre, post] = [
        await sizes({ ...GPT, n_layers: 8 }),
        await sizes({ ...GPT, n_layers: 8, norm_placement: 'post' }),
      ];
      return shown(
        post.every((s) => Math.abs(s - 1) < 0.001) && pre[7] > pre[0],
        'post-norm 1 throughout, pre-norm growing',
        `post-norm ${text(post[0])} … ${text(post[7])}, pre-norm ${pre.map((s) => s.toFixed(3)).join(' ')}`,
        'Size of the stream (RMS) behind each of 8 blocks.',
      );
    },
  ),
];
