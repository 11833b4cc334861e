// encoder_decoder_runs.js - runs the claims of tutorial 2: layers, attentions, positions, the whole model
import { movedBy, ofResiduals } from '../activations.js';
import { distance, dot, fromOne, ids, mean, minus, plus, rows, variance } from '../arithmetic.js';
import { tutorial2 } from '../checkpoints.js';
import { ofCache, ofCount, ofFile, ofFreshPass, ofPass, ofReference, ofStages, using } from '../claim.js';
import { ENCODER, SEQ2SEQ, SOURCE, TARGET, TRANSLATION } from '../configs.js';
import { activations, flat, linear, sinusoid } from '../double_precision.js';
import { atMost, finite, noted, over, same, sentence, text, under, upTo } from '../outcome.js';
import { count, scalars } from '../parameter_table.js';

const batch = (/** @type {number} */ seed) => Array.from({ length: 8 }, (_, i) => ids(20, 1000, seed + i));

/** All positions of the preset. */
const POSITIONS = { ids: [1], source: ids(50, 1000), capture: ['encoder.hook_pos_embed'] };

/** @type {import('../claim.js').Runs} */
export const runs = {
  layernorm: ofPass(tutorial2, { ...TRANSLATION, capture: ['*.hook_normalized'] }, (captured) => {
    const all = Object.values(captured).flatMap(rows);
    const m = Math.max(...all.map((x) => Math.abs(mean(x)))),
      v = Math.max(...all.map((x) => Math.abs(variance(x) - 1)));
    return noted(
      sentence`means within ${upTo(1e-5, m)}, variances within ${upTo(1e-3, v)}`,
      `${all.length} tokens at the norms of all layers.`,
    );
  }),
  'add-and-norm': ofStages(
    tutorial2,
    [
      ...['encoder.0.hook_resid_mid', 'encoder.0.hook_resid_post'],
      ...['decoder.0.hook_resid_mid', 'decoder.0.hook_resid_mid_cross', 'decoder.0.hook_resid_post'],
    ],
    'All five of the first encoder and decoder layers.',
    TRANSLATION,
  ),
  relu: ofPass(tutorial2, { ...TRANSLATION, capture: ['encoder.1.mlp.*'] }, (c) => {
    const [pre, post] = ['pre', 'post'].map((name) => c[`encoder.1.mlp.hook_${name}`].data);
    const off = distance(post, pre.map(activations.relu)),
      zeros = post.filter((v) => v === 0).length;
    return noted(
      sentence`difference ${same(0, zeros ? off : NaN)}`,
      `${zeros} of ${post.length} values were cut to 0.`,
    );
  }),
  'ffn-alone': ofFile(tutorial2, async (model) => {
    const [ffn] = await movedBy(model, TRANSLATION, 'encoder.0.hook_resid_mid', ['encoder.0.hook_mlp_out']);
    return same('3', ffn, 'Positions whose output moves when position 3 is changed.');
  }),
  'residual-path': ofResiduals(
    { ...ENCODER, d_model: 16, n_heads: 2, d_ff: 32, n_layers: 40, use_norm: false },
    { ids: ids(6, 40), by: 1.1 },
    'How much of a change of the embeddings is there behind 40 layers, norms off.',
  ),
  'encoder-sees-all': ofFreshPass(
    SEQ2SEQ,
    { ids: [1], source: ids(20, 1000), capture: ['encoder.*.hook_pattern'] },
    (c) => {
      const [one, two] = Object.values(c),
        all = [one, two].flatMap(rows);
      return sentence`${same([4, 20, 20], one.shape)} and ${same([4, 20, 20], two.shape)}, weights ${over(0, Math.min(...all.flatMap((row) => [...row])))}, sums 1 ± ${upTo(1e-5, fromOne(all))}`;
    },
  ),
  masked: ofFreshPass(
    SEQ2SEQ,
    { ids: ids(20, 1000), source: ids(10, 1000, 2), capture: ['decoder.*.attn.hook_pattern'] },
    (c) => {
      const all = Object.values(c).flatMap(rows),
        later = Math.max(...all.map((r, i) => Math.max(0, ...r.subarray((i % 20) + 1)))),
        earlier = all.every((r, i) => r.subarray(0, (i % 20) + 1).every((p) => p > 0));
      return sentence`${same(0, later)} above the diagonal, ${same('none', earlier ? 'none' : 'some')} 0 below`;
    },
  ),
  cross: ofPass(
    tutorial2,
    {
      ...TRANSLATION,
      capture: ['encoder.1.hook_resid_post', 'decoder.0.cross_attn.hook_v', 'decoder.*.cross_attn.hook_pattern'],
    },
    (c, w) => {
      const [weight, bias] = ['weight', 'bias'].map((n) => w[`decoder.layers.0.enc_dec_attn.v_linear.${n}`]);
      const want = linear(rows(c['encoder.1.hook_resid_post']), weight, bias);
      const off = distance(c['decoder.0.cross_attn.hook_v'].data, flat(want)),
        pattern = c['decoder.0.cross_attn.hook_pattern'];
      return sentence`pattern ${same([2, 12, 9], pattern.shape)}, rows sum to 1 ± ${upTo(1e-5, fromOne(rows(pattern)))}; values within ${upTo(1e-5, off)}`;
    },
  ),
  'source-mask': ofFile(tutorial2, async (model) => {
    const sourceMask = SOURCE.map((_, i) => (i < 6 ? 1 : 0));
    const capture = ['decoder.*.cross_attn.hook_pattern'];
    const { logits, captured } = await model.forward(TARGET, { source: SOURCE, sourceMask, capture });
    const short = await model.forward(TARGET, { source: SOURCE.slice(0, 6) });
    const seen = Math.max(
      ...Object.values(captured)
        .flatMap(rows)
        .flatMap((r) => [...r.subarray(6)]),
    );
    return sentence`weight ${same(0, seen)} on the hidden three; logits of the shorter source within ${upTo(1e-5, distance(logits.data, short.logits.data))}`;
  }),
  'source-matters': ofPass(tutorial2, TRANSLATION, async (_, __, logits, model) => {
    const other = await model.forward(TARGET, { source: [...SOURCE].reverse() });
    return over(0.01, distance(logits.data, other.logits.data));
  }),
  cached: ofCache(tutorial2, TRANSLATION),
  shape: ofFreshPass(SEQ2SEQ, { ids: batch(1), source: batch(50) }, (_, logits) => finite([8, 20, 1000], logits)),
  'shape-unmasked': (g) =>
    using(g.create({ ...g.PRESETS[SEQ2SEQ], causal: false }, { seed: 1 }), async (model) => {
      const { logits, captured } = await model.forward([ids(20, 1000, 1)], {
        source: [ids(20, 1000, 2)],
        capture: ['decoder.0.attn.hook_pattern'],
      });
      const pattern = captured['decoder.0.attn.hook_pattern'].data.subarray(0, 20);
      return sentence`${same([1, 20, 1000], logits.shape)}, the first position sees ${same(20, pattern.filter((p) => p > 0).length)}`;
    }),
  parameters: ofCount(SEQ2SEQ, 296424, (t) => t.total),
  parts: ofCount(SEQ2SEQ, '64,000 + 2 × 33,472 + 2 × 50,240 + 65,000', (t) => {
    const of = (stack) => text(scalars(t, (r) => r.stack === stack && r.layer === 0));
    return `${text(count(t, 'embedding'))} + 2 × ${of('encoder')} + 2 × ${of('decoder')} + ${text(count(t, 'head'))}`;
  }),
  sublayers: (g) => {
    const t = g.countParameters(SEQ2SEQ),
      norms = (stack) =>
        t.rows.filter((r) => r.stack === stack && r.layer === 0 && r.component === 'norm' && r.name.endsWith('.weight'))
          .length;
    return same('2 and 3', `${norms('encoder')} and ${norms('decoder')}`);
  },
  reference: ofReference(tutorial2, TRANSLATION),
  'reference-unmasked': ofReference(() => tutorial2({ mask_mode: 'nomask' }), TRANSLATION),
  sinusoids: ofFreshPass(SEQ2SEQ, POSITIONS, (captured) => {
    const { data } = captured['encoder.hook_pos_embed'],
      want = flat(Array.from({ length: 50 }, (_, p) => sinusoid(p, 64)));
    return atMost(1e-6, distance(data, want), `Position 0 begins ${[...data.subarray(0, 4)].join(', ')}.`);
  }),
  'positions-unique': ofFreshPass(SEQ2SEQ, POSITIONS, (captured) => {
    const table = rows(captured['encoder.hook_pos_embed']);
    let nearest = Infinity,
      spread = 0;
    for (let a = 0; a < 50; a++)
      for (let b = 0; b < a; b++) {
        const apart = minus(table[a], table[b]);
        nearest = Math.min(nearest, Math.sqrt(dot(apart, apart)));
        spread = Math.max(spread, Math.abs(dot(table[a], table[b]) - dot(table[a - b], table[0])));
      }
    return sentence`nearest pair ${over(0.5, nearest)} apart; products at equal distance within ${upTo(1e-4, spread)}`;
  }),
  added: ofFreshPass(
    SEQ2SEQ,
    {
      ids: [1],
      source: ids(20, 1000),
      capture: ['encoder.hook_embed', 'encoder.hook_pos_embed', 'encoder.0.hook_resid_pre'],
    },
    (c) => {
      const sums = plus(c['encoder.hook_embed'].data, c['encoder.hook_pos_embed'].data);
      return atMost(1e-6, distance(c['encoder.0.hook_resid_pre'].data, sums));
    },
  ),
  'bag-of-words': async (g) => {
    const order = [3, 0, 5, 1, 4, 2],
      words = ids(6, 40);
    const moved = (position) =>
      using(g.create({ ...ENCODER, position }, { seed: 2 }), async (model) => {
        const hidden = async (list) => rows(/** @type {any} */ ((await model.forward(list)).hidden));
        const [a, b] = [await hidden(words), await hidden(order.map((i) => words[i]))];
        return Math.max(...order.map((from, to) => distance(a[from], b[to])));
      });
    const [none, sinusoidal] = [await moved('none'), await moved('sinusoidal')];
    return noted(
      sentence`without: ${under(1e-5, none)}; with: ${over(0.1, sinusoidal)}`,
      'Largest change of a token’s state when the sentence is shuffled.',
    );
  },
};
