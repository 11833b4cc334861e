// claims/tutorial3/block_stream.js - the residual stream, pre-norm and post-norm.
import { distance, ids, mean, plus, rms, rows } from '../arithmetic.js';
import { plainGpt } from '../checkpoints/gpts.js';
import { claim, ofFile, ofReference, using } from '../claim.js';
import { BLOCK, WORDS } from '../configs.js';
import { atMost, shown, text } from '../outcome.js';
import { gpt } from '../reference/gpt_forward.js';
import { layerNorm } from '../reference/parts.js';

const GPT = /** @type {const} */ ({ ...BLOCK, n_layers: 4, position: 'learned', final_norm: true });

export const claims = [
  ofReference(
    '3-reference',
    'A file with the names of this model gives the logits of its arithmetic in double precision',
    () => plainGpt({ fused_qkv: false }),
    WORDS,
    gpt,
  ),
  ofFile(
    '3-stream-sum',
    'The stream at any depth is the embedding plus what every sublayer before it wrote',
    () => plainGpt({ n_layers: 4 }),
    async (model) => {
      const { captured: c } = await model.forward(WORDS, {
        capture: ['hook_embed', 'hook_pos_embed', '*.hook_attn_out', '*.hook_mlp_out', '*.hook_resid_post'],
      });
      let total = plus(c.hook_embed.data, c.hook_pos_embed.data),
        worst = 0;
      for (let l = 0; l < 4; l++) {
        total = plus(total, c[`blocks.${l}.hook_attn_out`].data, c[`blocks.${l}.hook_mlp_out`].data);
        worst = Math.max(worst, distance(total, c[`blocks.${l}.hook_resid_post`].data));
      }
      return atMost(1e-5, worst, '4 blocks: the embedding and 4 contributions, each of an attention and an MLP.');
    },
  ),
  ofFile(
    '3-block-definition',
    'A block is x + attention(LN(x)), then x + MLP(LN(x)): each sublayer reads the stream through its norm',
    () => plainGpt({ fused_qkv: false }),
    async (model, made) => {
      const w = made.weights;

      const { captured: c } = await model.forward(WORDS, { capture: ['blocks.1.*'] });
      const norm = (x, name) =>
        layerNorm(
          rows(x).map((r) => Float64Array.from(r)),
          1e-5,
          w[`blocks.1.${name}.weight`],
          w[`blocks.1.${name}.bias`],
        );
      const times = (x, m) =>
        x.flatMap((row) =>
          Array.from({ length: m.shape[0] }, (_, r) => row.reduce((s, v, i) => s + v * m.data[r * m.shape[1] + i], 0)),
        );
      const q = distance(
        c['blocks.1.attn.hook_q'].data,
        times(norm(c['blocks.1.hook_resid_pre'], 'ln1'), w['blocks.1.attn.q.weight']),
      );
      const pre = distance(
        c['blocks.1.mlp.hook_pre'].data,
        times(norm(c['blocks.1.hook_resid_mid'], 'ln2'), w['blocks.1.mlp.fc1.weight']),
      );
      const sums = Math.max(
        distance(
          c['blocks.1.hook_resid_mid'].data,
          plus(c['blocks.1.hook_resid_pre'].data, c['blocks.1.hook_attn_out'].data),
        ),
        distance(
          c['blocks.1.hook_resid_post'].data,
          plus(c['blocks.1.hook_resid_mid'].data, c['blocks.1.hook_mlp_out'].data),
        ),
      );
      return atMost(
        1e-5,
        Math.max(q, pre, sums),
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
