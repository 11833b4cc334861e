// claims/tutorial2/encoder_decoder_runs.js - what runs its claims: layers, attentions, positions, the whole model
import { arriving, doubles, moved } from '../activations.js';
import { distance, fromOne, ids, mean, minus, normal, plus, rows, sum, variance } from '../arithmetic.js';
import { tutorial2 } from '../checkpoints.js';
import { ofCache, ofCount, ofFile, ofFreshPass, ofPass, ofReference, ofStages, using } from '../claim.js';
import { ENCODER, SEQ2SEQ, SOURCE, TARGET, TRANSLATION } from '../configs.js';
import { activations, flat, linear, sinusoid } from '../double_precision.js';
import { atMost, finite, noted, over, same, sentence, shapeText, shown, text, under, upTo } from '../outcome.js';
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
    const at = 'encoder.0.hook_mlp_out',
      add = Float32Array.from({ length: 16 }, normal(1));
    const run = async (edits) => (await model.forward(TARGET, { source: SOURCE, capture: [at], edits })).captured[at];
    const a = await run([]),
      b = await run([{ at: 'encoder.0.hook_resid_mid', position: 3, add }]);
    return same('3', moved(a, b), 'Positions whose output moves when position 3 is changed.');
  }),
  'residual-path': async (g) => {
    const deep = { ...ENCODER, d_model: 16, n_heads: 2, d_ff: 32, n_layers: 40, use_norm: false };
    const change = { ids: ids(6, 40), by: 1.1 };
    const [kept, lost] = [await arriving(g, deep, change), await arriving(g, { ...deep, use_residual: false }, change)];
    return shown(
      Math.abs(kept - 1) < 0.05 && lost < 1e-20,
      'with: 1; without: under 10⁻²⁰',
      `with: ${text(kept)}; without: ${text(lost)}`,
      'How much of a change of the embeddings is there behind 40 layers, norms off.',
    );
  },
  'encoder-sees-all': ofFreshPass(
    SEQ2SEQ,
    { ids: [1], source: ids(20, 1000), capture: ['encoder.*.hook_pattern'] },
    (c) => {
      const all = Object.values(c),
        off = fromOne(all.flatMap(rows));
      return shown(
        all.length === 2 &&
          all.every((t) => shapeText(t.shape) === '(4, 20, 20)' && t.data.every((p) => p > 0)) &&
          off < 1e-5,
        '2 × (4, 20, 20), none 0, sums 1 ± 0.00001',
        `${all.length} × ${shapeText(all[0].shape)}, ${all.reduce((n, t) => n + t.data.filter((p) => p === 0).length, 0) || 'none'} 0, sums 1 ± ${text(off)}`,
      );
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
      const want = linear(doubles(c['encoder.1.hook_resid_post']), weight, bias);
      const off = distance(c['decoder.0.cross_attn.hook_v'].data, flat(want)),
        pattern = c['decoder.0.cross_attn.hook_pattern'],
        sums = fromOne(rows(pattern));
      return shown(
        off < 1e-5 && shapeText(pattern.shape) === '(2, 12, 9)' && sums < 1e-5,
        'pattern (2, 12, 9), rows sum to 1; values within 0.00001',
        `pattern ${shapeText(pattern.shape)}, rows within ${text(sums)} of 1; values within ${text(off)}`,
      );
    },
  ),
  'source-mask': ofFile(tutorial2, async (model) => {
    const sourceMask = SOURCE.map((_, i) => (i < 6 ? 1 : 0));
    const capture = ['decoder.*.cross_attn.hook_pattern'];
    const { logits, captured } = await model.forward(TARGET, { source: SOURCE, sourceMask, capture });
    const short = await model.forward(TARGET, { source: SOURCE.slice(0, 6) });
    const weights = Object.values(captured).flatMap(rows),
      seen = Math.max(...weights.map((r) => Math.max(...r.subarray(6)))),
      off = distance(logits.data, short.logits.data);
    return shown(
      seen === 0 && off < 1e-5,
      'weight 0 on the hidden three; logits of the shorter source',
      `weight ${text(seen)} on the hidden three; logits off by ${text(off)}`,
    );
  }),
  'source-matters': ofPass(tutorial2, TRANSLATION, async (_, __, logits, model) => {
    const other = await model.forward(TARGET, { source: [...SOURCE].reverse() });
    const off = distance(logits.data, other.logits.data);
    return over(0.01, off);
  }),
  cached: ofCache(tutorial2, TRANSLATION),
  shape: ofFreshPass(SEQ2SEQ, { ids: batch(1), source: batch(50) }, (_, logits) => finite('(8, 20, 1000)', logits)),
  'shape-unmasked': (g) =>
    using(g.create({ ...g.PRESETS[SEQ2SEQ], causal: false }, { seed: 1 }), async (model) => {
      const { logits, captured } = await model.forward([ids(20, 1000, 1)], {
        source: [ids(20, 1000, 2)],
        capture: ['decoder.0.attn.hook_pattern'],
      });
      const pattern = captured['decoder.0.attn.hook_pattern'].data.subarray(0, 20);
      return sentence`${same('(1, 20, 1000)', shapeText(logits.shape))}, the first position sees ${same(20, pattern.filter((p) => p > 0).length)}`;
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
