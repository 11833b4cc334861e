// claims/tutorial2.js - D. Lodha, "Assembling the Full Transformer" (2025): the encoder-decoder of 2017.

import {
  atMost,
  block,
  count,
  distance,
  ids,
  mean,
  minus,
  normal,
  plus,
  rms,
  rows,
  same,
  shapeText,
  shown,
  sum,
  text,
  using,
  variance,
} from './check.js';
import { asSource, tutorial2 } from './files.js';
import { encoderDecoder, flat, layerNorm, sinusoid } from './reference.js';

/** @typedef {import('./check.js').Claim} Claim */

const MODEL = 'tutorial-2';
const SOURCE = ids(9, 40, 4),
  TARGET = ids(12, 40, 3);
/** One encoder block, as the first half of the model has it. */
const ENCODER = {
  kind: 'encoder',
  vocab_size: 40,
  d_model: 32,
  n_layers: 2,
  n_heads: 4,
  d_ff: 64,
  context_length: 50,
  norm: 'layernorm',
  norm_placement: 'post',
  ffn: 'relu',
  position: 'sinusoidal',
  bias_qkv: true,
  bias_attn_out: true,
  bias_ffn: true,
};

/** @type {(id: string, text: string, run: Claim['run']) => Claim} */
const claim = (id, words, run) => ({ id: `2-${id}`, tutorial: 2, text: words, run });

const against = (glassformer, made) =>
  using(glassformer.load(asSource(made)), async (model) => {
    const { logits } = await model.forward(TARGET, { source: SOURCE });
    return atMost(1e-4, distance(logits.data, flat(encoderDecoder(made.weights, made.config, SOURCE, TARGET))));
  });

/** @type {Claim[]} */
export const claims = [
  claim(
    'shape',
    'Sources and targets of shape (8, 20) flow through the whole model and become logits of shape (8, 20, 1000)',
    (g) =>
      using(g.create(MODEL, { seed: 1 }), async (model) => {
        const batch = (from) => Array.from({ length: 8 }, (_, i) => ids(20, 1000, from + i));
        const { logits } = await model.forward(batch(1), { source: batch(50) });
        return shown(
          shapeText(logits.shape) === '(8, 20, 1000)' && logits.data.every(Number.isFinite) && rms(logits.data) > 0,
          '(8, 20, 1000), all finite',
          `${shapeText(logits.shape)}, ${logits.data.every(Number.isFinite) ? 'all finite' : 'not all finite'}`,
        );
      }),
  ),
  claim('shape-unmasked', 'The same without a causal mask, as the tutorial runs it', (g) =>
    using(g.create({ ...g.PRESETS[MODEL], causal: false }, { seed: 1 }), async (model) => {
      const { logits, captured } = await model.forward([ids(20, 1000, 1)], {
        source: [ids(20, 1000, 2)],
        capture: ['decoder.0.attn.hook_pattern'],
      });
      const pattern = captured['decoder.0.attn.hook_pattern'].data.subarray(0, 20);
      return shown(
        shapeText(logits.shape) === '(1, 20, 1000)' && pattern.every((p) => p > 0),
        '(1, 20, 1000), the first position sees 20',
        `${shapeText(logits.shape)}, the first position sees ${pattern.filter((p) => p > 0).length}`,
      );
    }),
  ),
  claim('parameters', 'Parameters of the model with vocabulary 1000, width 64, 2 + 2 layers, 4 heads, FFN 128', (g) =>
    same(296424, g.countParameters(MODEL).total),
  ),
  claim(
    'parts',
    'Which are 64,000 in the embedding, 33,472 in an encoder layer, 50,240 in a decoder layer and 65,000 in the output layer',
    (g) => {
      const t = g.countParameters(MODEL),
        of = (stack) => block({ rows: t.rows.filter((r) => r.stack === stack) });
      return same(
        '64,000 + 2 × 33,472 + 2 × 50,240 + 65,000',
        `${text(count(t, 'embedding'))} + 2 × ${text(of('encoder'))} + 2 × ${text(of('decoder'))} + ${text(count(t, 'head'))}`,
      );
    },
  ),
  claim('sublayers', 'An encoder layer has two sublayers with a norm each, a decoder layer three', (g) => {
    const t = g.countParameters(MODEL),
      norms = (stack) =>
        t.rows.filter((r) => r.stack === stack && r.layer === 0 && r.component === 'norm' && r.name.endsWith('.weight'))
          .length;
    return same('2 and 3', `${norms('encoder')} and ${norms('decoder')}`);
  }),
  claim(
    'reference',
    'A file with the tutorial’s names gives the logits of its arithmetic in double precision, the target masked',
    (g) => against(g, tutorial2()),
  ),
  claim('reference-unmasked', 'So it does without masks', (g) => against(g, tutorial2({ mask_mode: 'nomask' }))),

  // -- positions
  claim(
    'sinusoids',
    'Position p, dimension 2i: sin(p / 10000^(2i / d)); dimension 2i + 1: the cosine; all 50 × 64 of them',
    (g) =>
      using(g.create(MODEL, { seed: 1 }), async (model) => {
        const { captured } = await model.forward([1], { source: ids(50, 1000), capture: ['encoder.hook_pos_embed'] });
        const want = Float64Array.from({ length: 50 }, (_, p) => p).reduce(
          (all, p) => [...all, ...sinusoid(p, 64)],
          /** @type {number[]} */ ([]),
        );
        return atMost(
          1e-6,
          distance(captured['encoder.hook_pos_embed'].data, want),
          `Position 0 begins ${[...captured['encoder.hook_pos_embed'].data.subarray(0, 4)].join(', ')}.`,
        );
      }),
  ),
  claim(
    'positions-unique',
    'Each position has a signature of its own, and how alike two are depends on their distance alone',
    (g) =>
      using(g.create(MODEL, { seed: 1 }), async (model) => {
        const { captured } = await model.forward([1], { source: ids(50, 1000), capture: ['encoder.hook_pos_embed'] });
        const table = rows(captured['encoder.hook_pos_embed']),
          dot = (a, b) => sum(Array.from(a, (v, i) => v * b[i]));
        let nearest = Infinity,
          spread = 0;
        for (let a = 0; a < 50; a++)
          for (let b = 0; b < a; b++) {
            nearest = Math.min(nearest, Math.sqrt(sum(minus(table[a], table[b]).map((v) => v * v))));
            spread = Math.max(spread, Math.abs(dot(table[a], table[b]) - dot(table[a - b], table[0])));
          }
        return shown(
          nearest > 0.5 && spread < 1e-4,
          'no two alike; products equal at equal distance',
          `nearest pair ${text(nearest)} apart; products within ${text(spread)}`,
        );
      }),
  ),
  claim('added', 'Positions are simply added to the embedding', (g) =>
    using(g.create(MODEL, { seed: 1 }), async (model) => {
      const { captured: c } = await model.forward([1], {
        source: ids(20, 1000),
        capture: ['encoder.hook_embed', 'encoder.hook_pos_embed', 'encoder.0.hook_resid_pre'],
      });
      return atMost(
        1e-6,
        distance(
          c['encoder.0.hook_resid_pre'].data,
          plus(c['encoder.hook_embed'].data, c['encoder.hook_pos_embed'].data),
        ),
      );
    }),
  ),
  claim(
    'bag-of-words',
    'Without positions attention sees a bag of words: other order, same states; with positions not',
    async (g) => {
      const order = [3, 0, 5, 1, 4, 2],
        words = ids(6, 40);
      const moved = (position) =>
        using(g.create({ ...ENCODER, position }, { seed: 2 }), async (model) => {
          const hidden = async (list) => rows(/** @type {any} */ ((await model.forward(list)).hidden));
          const [a, b] = [await hidden(words), await hidden(order.map((i) => words[i]))];
          return Math.max(...order.map((from, to) => distance(a[from], b[to])));
        });
      const [none, sinusoidal] = [await moved('none'), await moved('sinusoidal')];
      return shown(
        none < 1e-5 && sinusoidal > 0.1,
        'without: under 0.00001; with: over 0.1',
        `without: ${text(none)}; with: ${text(sinusoidal)}`,
        'Largest change of a token’s state when the sentence is shuffled.',
      );
    },
  ),

  // -- the utility modules
  claim('layernorm', 'LayerNorm gives each token mean 0 and variance 1 before its gain and shift', (g) =>
    using(g.load(asSource(tutorial2())), async (model) => {
      const { captured } = await model.forward(TARGET, { source: SOURCE, capture: ['*.hook_normalized'] });
      const all = Object.values(captured).flatMap(rows);
      const m = Math.max(...all.map((x) => Math.abs(mean(x)))),
        v = Math.max(...all.map((x) => Math.abs(variance(x) - 1)));
      return shown(
        all.length > 0 && m < 1e-5 && v < 1e-3,
        'means within 0.00001, variances within 0.001',
        `means within ${text(m)}, variances within ${text(v)}`,
        `${all.length} tokens at the norms of all layers.`,
      );
    }),
  ),
  claim(
    'add-and-norm',
    'Add & Norm: the output is LayerNorm of input plus sublayer, on live activations',
    async (g) => {
      const made = tutorial2();
      return using(g.load(asSource(made)), async (model) => {
        const { captured: c } = await model.forward(TARGET, {
          source: SOURCE,
          capture: ['encoder.0.*', 'decoder.0.*'],
        });
        const w = made.weights,
          off = (stack, before, out, n, after) => {
            const x = rows({
              data: Float32Array.from(plus(c[`${stack}.0.${before}`].data, c[`${stack}.0.${out}`].data)),
              shape: c[`${stack}.0.${before}`].shape,
            }).map((r) => Float64Array.from(r));
            const name = `${stack}.layers.0.add_norm${n}.norm`;
            return distance(
              c[`${stack}.0.${after}`].data,
              flat(layerNorm(x, 1e-5, w[`${name}.gamma`], w[`${name}.beta`])),
            );
          };
        return atMost(
          1e-5,
          Math.max(
            off('encoder', 'hook_resid_pre', 'hook_attn_out', 1, 'hook_resid_mid'),
            off('encoder', 'hook_resid_mid', 'hook_mlp_out', 2, 'hook_resid_post'),
            off('decoder', 'hook_resid_pre', 'hook_attn_out', 1, 'hook_resid_mid'),
            off('decoder', 'hook_resid_mid', 'hook_cross_attn_out', 2, 'hook_resid_mid_cross'),
            off('decoder', 'hook_resid_mid_cross', 'hook_mlp_out', 3, 'hook_resid_post'),
          ),
          'All five of the first encoder and decoder layers.',
        );
      });
    },
  ),
  claim('relu', 'Between the two linear maps of an FFN is max(0, x)', (g) =>
    using(g.load(asSource(tutorial2())), async (model) => {
      const { captured: c } = await model.forward(TARGET, { source: SOURCE, capture: ['encoder.1.mlp.*'] });
      const pre = c['encoder.1.mlp.hook_pre'].data,
        post = c['encoder.1.mlp.hook_post'].data;
      const off = distance(
          post,
          pre.map((v) => Math.max(0, v)),
        ),
        zeros = post.filter((v) => v === 0).length;
      return shown(
        off === 0 && zeros > 0,
        'difference 0',
        `difference ${text(off)}`,
        `${zeros} of ${post.length} values were cut to 0.`,
      );
    }),
  ),
  claim('ffn-alone', 'The FFN is applied to each position independently', (g) =>
    using(g.load(asSource(tutorial2())), async (model) => {
      const run = async (edits) =>
        rows(
          (await model.forward(TARGET, { source: SOURCE, capture: ['encoder.0.hook_mlp_out'], edits })).captured[
            'encoder.0.hook_mlp_out'
          ],
        );
      const a = await run([]),
        b = await run([
          { at: 'encoder.0.hook_resid_mid', position: 3, add: Float32Array.from({ length: 16 }, normal(1)) },
        ]);
      return same(
        '3',
        a
          .map((x, t) => (distance(x, b[t]) > 0 ? t : -1))
          .filter((t) => t >= 0)
          .join(', '),
        'Positions whose output moves when position 3 is changed.',
      );
    }),
  ),
  claim('residual-path', 'Residual connections give a direct path through a deep stack', async (g) => {
    const deep = { ...ENCODER, d_model: 16, n_heads: 2, d_ff: 32, n_layers: 40, use_norm: false };
    const arrives = (config) =>
      using(g.create(config, { seed: 5 }), async (model) => {
        const run = async (by) =>
          (
            await model.forward(ids(6, 40), {
              capture: ['blocks.0.hook_resid_pre', 'blocks.39.hook_resid_post'],
              edits: [{ at: 'hook_embed', scale: by }],
            })
          ).captured;
        const [a, b] = [await run(1), await run(1.1)];
        return (
          rms(minus(b['blocks.39.hook_resid_post'].data, a['blocks.39.hook_resid_post'].data)) /
          rms(minus(b['blocks.0.hook_resid_pre'].data, a['blocks.0.hook_resid_pre'].data))
        );
      });
    const [kept, lost] = [await arrives(deep), await arrives({ ...deep, use_residual: false })];
    return shown(
      Math.abs(kept - 1) < 0.05 && lost < 1e-20,
      'with: 1; without: under 10⁻²⁰',
      `with: ${text(kept)}; without: ${text(lost)}`,
      'How much of a change of the embeddings is there behind 40 layers, norms off.',
    );
  }),

  // -- the three attentions
  claim('encoder-sees-all', 'Encoder: every position sees every other, and each row of the pattern sums to 1', (g) =>
    using(g.create(MODEL, { seed: 1 }), async (model) => {
      const { captured } = await model.forward([1], { source: ids(20, 1000), capture: ['encoder.*.hook_pattern'] });
      const all = Object.values(captured),
        off = Math.max(...all.flatMap(rows).map((r) => Math.abs(sum(r) - 1)));
      return shown(
        all.length === 2 &&
          all.every((t) => shapeText(t.shape) === '(4, 20, 20)' && t.data.every((p) => p > 0)) &&
          off < 1e-5,
        '2 × (4, 20, 20), none 0, sums 1 ± 0.00001',
        `${all.length} × ${shapeText(all[0].shape)}, ${all.reduce((n, t) => n + t.data.filter((p) => p === 0).length, 0) || 'none'} 0, sums 1 ± ${text(off)}`,
      );
    }),
  ),
  claim('masked', 'Decoder: masked self-attention sees no later position', (g) =>
    using(g.create(MODEL, { seed: 1 }), async (model) => {
      const { captured } = await model.forward(ids(20, 1000), {
        source: ids(10, 1000, 2),
        capture: ['decoder.*.attn.hook_pattern'],
      });
      const later = Object.values(captured)
        .flatMap(rows)
        .map((r, i) => Math.max(0, ...r.subarray((i % 20) + 1)));
      const earlier = Object.values(captured)
        .flatMap(rows)
        .every((r, i) => r.subarray(0, (i % 20) + 1).every((p) => p > 0));
      return shown(
        Math.max(...later) === 0 && earlier,
        '0 above the diagonal, none 0 below',
        `${text(Math.max(...later))} above the diagonal, ${earlier ? 'none' : 'some'} 0 below`,
      );
    }),
  ),
  claim('cross', 'Cross-attention: queries from the target, keys and values from the encoder’s output', async (g) => {
    const made = tutorial2();
    return using(g.load(asSource(made)), async (model) => {
      const { captured: c } = await model.forward(TARGET, {
        source: SOURCE,
        capture: ['encoder.1.hook_resid_post', 'decoder.0.cross_attn.hook_v', 'decoder.*.cross_attn.hook_pattern'],
      });
      const { data: w } = made.weights['decoder.layers.0.enc_dec_attn.v_linear.weight'],
        { data: b } = made.weights['decoder.layers.0.enc_dec_attn.v_linear.bias'];
      const want = rows(c['encoder.1.hook_resid_post']).flatMap((x) =>
        Array.from(b, (bias, r) => bias + x.reduce((s, v, i) => s + v * w[r * 16 + i], 0)),
      );
      const off = distance(c['decoder.0.cross_attn.hook_v'].data, want),
        pattern = c['decoder.0.cross_attn.hook_pattern'];
      const sums = Math.max(...rows(pattern).map((r) => Math.abs(sum(r) - 1)));
      return shown(
        off < 1e-5 && shapeText(pattern.shape) === '(2, 12, 9)' && sums < 1e-5,
        'pattern (2, 12, 9), rows sum to 1; values within 0.00001',
        `pattern ${shapeText(pattern.shape)}, rows within ${text(sums)} of 1; values within ${text(off)}`,
      );
    });
  }),
  claim('source-mask', 'A source mask hides positions from encoder and cross-attention', (g) =>
    using(g.load(asSource(tutorial2())), async (model) => {
      const sourceMask = SOURCE.map((_, i) => (i < 6 ? 1 : 0));
      const masked = await model.forward(TARGET, {
        source: SOURCE,
        sourceMask,
        capture: ['decoder.*.cross_attn.hook_pattern'],
      });
      const short = await model.forward(TARGET, { source: SOURCE.slice(0, 6) });
      const seen = Math.max(
        ...Object.values(masked.captured)
          .flatMap(rows)
          .map((r) => Math.max(...r.subarray(6))),
      );
      return shown(
        seen === 0 && distance(masked.logits.data, short.logits.data) < 1e-5,
        'weight 0 on the hidden three; logits of the shorter source',
        `weight ${text(seen)} on the hidden three; logits off by ${text(distance(masked.logits.data, short.logits.data))}`,
      );
    }),
  ),
  claim('source-matters', 'The encoder’s output reaches the logits: another source, other logits', (g) =>
    using(g.load(asSource(tutorial2())), async (model) => {
      const [a, b] = [
        await model.forward(TARGET, { source: SOURCE }),
        await model.forward(TARGET, { source: [...SOURCE].reverse() }),
      ];
      return shown(
        distance(a.logits.data, b.logits.data) > 0.01,
        'over 0.01',
        text(distance(a.logits.data, b.logits.data)),
      );
    }),
  ),
  claim(
    'cached',
    'Token by token with a cache equals one pass over the target, cross keys and values computed once',
    (g) =>
      using(g.load(asSource(tutorial2())), async (model) => {
        const full = (await model.forward(TARGET, { source: SOURCE })).logits,
          session = await model.session({ source: SOURCE });
        let worst = 0;
        for (const [t, id] of TARGET.entries())
          worst = Math.max(worst, distance(await session.eval([id]), full.data.subarray(t * 40, (t + 1) * 40)));
        return same('0, to the last bit', worst === 0 ? '0, to the last bit' : text(worst));
      }),
  ),
];
