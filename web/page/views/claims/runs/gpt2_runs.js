// gpt2_runs.js - runs the claims of tutorial 4: the four sizes, the pass from input to output, attention, FFN
import { STREAM_POINTS, activated, streamDistance } from '../activations.js';
import { distance, dot, fromOne, ids, rms, rows, softmax } from '../arithmetic.js';
import { gpt2 } from '../checkpoints.js';
import { ofCount, ofFile, ofFresh, ofGreedy, ofPass, ofReference, ofStages, refusal } from '../claim.js';
import { TINY_GPT2, WORDS } from '../configs.js';
import { activations, flat, linear } from '../double_precision.js';
import { atMost, near, noted, over, same, sentence, shapeText, shown, text, under, upTo } from '../outcome.js';
import { count } from '../parameter_table.js';

/** Its tokens, vocabulary, width and heads. */
const T = WORDS.length,
  V = 48,
  D = 16,
  H = 2;

/** A claim about one pass over the small GPT-2. @param {string[]} capture @param {Parameters<typeof ofPass>[2]} use */
const ofGpt2 = (capture, use) => ofPass(gpt2, { capture }, use);

/** n_layer, n_head, n_embd, and what they add up to. */
const SIZES = /** @type {[string, import('glassformer').Preset, number, number, number, number][]} */ ([
  ['124M', 'gpt2', 12, 12, 768, 124439808],
  ['355M', 'gpt2-medium', 24, 16, 1024, 354823168],
  ['774M', 'gpt2-large', 36, 20, 1280, 774030080],
  ['1558M', 'gpt2-xl', 48, 25, 1600, 1557611200],
]);

/**
 * The table of sizes, with the parameters that each makes.
 * @param {typeof import('glassformer')} g
 * @returns {import('../tutorial_sections.js').Table}
 */
export const sizes = (g) => ({
  head: ['Model', 'n_layer', 'n_head', 'n_embd', 'n_vocab', 'n_ctx', 'Parameters'],
  rows: SIZES.map(([name, preset]) => {
    const c = g.completeConfig(preset);
    const numbers = [c.nLayers, c.nHeads, c.dModel, c.vocabSize, c.contextLength, g.countParameters(preset).total];
    return [name, ...numbers.map(text)];
  }),
});

/** @type {(preset: import('glassformer').Preset, layers: number, heads: number, width: number, total: number) => import('../claim.js').Run} */
const ofSize = (preset, layers, heads, width, total) => (g) => {
  const p = g.PRESETS[preset],
    sizes = [p.n_layers, p.n_heads, p.d_model, p.vocab_size, p.context_length];
  return sentence`${same(total, g.countParameters(preset).total)} parameters, sizes ${same([layers, heads, width, 50257, 1024], sizes)}`;
};

/** @type {import('../claim.js').Runs} */
export const runs = {
  scores: ofGpt2(['blocks.0.attn.hook_q', 'blocks.0.attn.hook_k', 'blocks.0.attn.hook_attn_scores'], (c) => {
    const [q, k, scores] = ['q', 'k', 'attn_scores'].map((name) => rows(c[`blocks.0.attn.hook_${name}`]));
    let off = 0,
      masked = 0;
    scores.forEach((row, at) => {
      const [h, i] = [Math.floor(at / T), at % T];
      row.forEach((got, j) => {
        if (j > i) masked += Number(got === -Infinity);
        else off = Math.max(off, Math.abs(got - dot(q[i * H + h], k[j * H + h]) / Math.sqrt(D / H)));
      });
    });
    return sentence`${same((H * T * (T - 1)) / 2, masked)} masked, the others within ${upTo(1e-5, off)}`;
  }),
  pattern: ofGpt2(['blocks.*.attn.hook_attn_scores', 'blocks.*.attn.hook_pattern'], (c) => {
    let off = 0,
      sums = 0,
      later = 0;
    for (const l of [0, 1]) {
      const scores = rows(c[`blocks.${l}.attn.hook_attn_scores`]);
      rows(c[`blocks.${l}.attn.hook_pattern`]).forEach((p, i) => {
        off = Math.max(off, distance(p, softmax(scores[i])));
        sums = Math.max(sums, fromOne([p]));
        later = Math.max(later, 0, ...p.subarray((i % T) + 1));
      });
    }
    return noted(
      sentence`sums 1 ± ${upTo(1e-5, off < 1e-6 ? sums : NaN)}, later ${same(0, later)}`,
      `Each weight within ${text(off)} of softmax in double precision.`,
    );
  }),
  values: ofStages(gpt2, ['blocks.1.attn.hook_z']),
  concat: ofStages(gpt2, ['blocks.1.hook_attn_out']),
  residuals: ofGpt2(STREAM_POINTS, (c) => atMost(1e-5, streamDistance(c, 2))),
  ffn: ofStages(gpt2, ['blocks.0.hook_mlp_out']),
  gelu: ofFresh(TINY_GPT2, 1, async (model) => {
    const set = Float32Array.from({ length: 128 }, (_, i) => i / 10 - 6.4),
      got = await activated(model, set, 128);
    const [own, other] = ['gelu_tanh', 'gelu_erf'].map((form) => distance(got, set.map(activations[form])));
    return noted(
      sentence`tanh form: ${under(2e-6, own)}; erf form: ${near(5e-4, other, 1e-4)}`,
      'Largest distance of the engine’s curve from either, from −6.4 to 6.3.',
    );
  }),
  ...Object.fromEntries(SIZES.map(([name, ...size]) => [`size-${name}`, ofSize(...size)])),
  hidden: (g) =>
    same(
      '4, 4, 4, 4',
      SIZES.map(([, preset]) => {
        const [rowsUp, columns] = /** @type {any} */ (
          g.countParameters(preset).rows.find((r) => r.name === 'blocks.0.ffn.up.weight')
        ).shape;
        return rowsUp / columns;
      }).join(', '),
    ),
  reference: ofReference(gpt2),
  shapes: ofGpt2(['hook_embed', '*.hook_resid_post'], (c, _, logits) =>
    same(
      '(12, 16), (12, 16), (12, 16), (12, 48)',
      [c.hook_embed, c['blocks.0.hook_resid_post'], c['blocks.1.hook_resid_post'], logits]
        .map((t) => shapeText(t.shape))
        .join(', '),
    ),
  ),
  embedding: ofStages(gpt2, ['blocks.0.hook_resid_pre']),
  causal: ofFile(gpt2, async (model) => {
    const other = [...WORDS];
    other[8] = (other[8] + 1) % V;
    const [a, b] = [(await model.forward(WORDS)).logits.data, (await model.forward(other)).logits.data];
    const before = distance(a.subarray(0, 8 * V), b.subarray(0, 8 * V)),
      after = distance(a.subarray(8 * V), b.subarray(8 * V));
    return noted(
      sentence`before it ${same(0, before)}, from it on ${over(0.01, after)}`,
      'The ninth of twelve tokens exchanged.',
    );
  }),
  tied: ofGpt2(['ln_final.hook_normalized'], (c, w, logits) => {
    const [gain, shift] = ['weight', 'bias'].map((end) => w[`ln_f.${end}`].data);
    const x = rows(c['ln_final.hook_normalized']).map((row) =>
      Float64Array.from(row, (v, i) => v * gain[i] + shift[i]),
    );
    return atMost(1e-4, distance(logits.data, flat(linear(x, w['wte.weight']))));
  }),
  'tied-free': ofCount('gpt2', 0, (t) => count(t, 'head')),
  distributions: ofGpt2([], async (_, __, logits, model) => {
    const each = await Promise.all(rows(logits).map((r) => model.distribution(r, {})));
    const off = Math.max(fromOne(each), ...rows(logits).map((r, i) => distance(each[i], softmax(r))));
    return sentence`${same(T, rms(logits.data) > 0.1 ? each.length : 0)} that sum to 1 ± ${upTo(1e-5, off)}`;
  }),
  generation: ofGreedy(gpt2, 5, 6),
  context: ofFresh(TINY_GPT2, 1, async (model) => {
    const fits = await refusal(() => model.forward(ids(32, 64)).then(() => null)),
      longer = await refusal(() => model.forward(ids(33, 64)).then(() => null));
    return shown(
      fits === '' && longer.includes('33') && longer.includes('32'),
      '32 fit, 33 are refused',
      `32 ${fits ? 'are refused' : 'fit'}, 33 ${longer ? 'are refused' : 'fit'}`,
      longer && `“${longer}”`,
    );
  }),
};
