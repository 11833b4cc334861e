// sinks_lab.js - attention sinks: what heads give the first token, and a sliding window with and without that token
import { byLayer, claimRows, curvesOf, mean, weightOf } from './measures.js';
import { paper } from './papers.js';

/** @import { Model, Tensor } from '../../api/index.js' */
/** @import { Lab } from './labs.js' */

const TEXTS = 4;
/** Windows in a text: it has as many contexts of that length. */
const CONTEXTS = 4;
/** Positions whose losses a point of the curves joins. */
const BIN = 16;
const WAYS = ['all tokens', 'window', 'window and first token'];
const [X, Y] = [
  { name: 'position', unit: '' },
  { name: 'loss', unit: 'nats a token' },
];

/**
 * What is added to the scores so that a query sees as many keys as the window holds: the last ones, or the first and
 * the last ones. Positions stay those in the text; the paper counts them within the cache.
 * @param {number} heads
 * @param {number} n  positions
 * @param {number} window
 * @param {boolean} first  whether the first token stays
 * @returns {Tensor} [head, query, key]
 */
function windowMask(heads, n, window, first) {
  const data = new Float32Array(heads * n * n);
  for (let head = 0; head < heads; head++)
    for (let query = window; query < n; query++) {
      const row = (head * n + query) * n;
      data.fill(-1e30, row, row + query - window + 1);
      if (first) [data[row], data[row + query - window + 1]] = [0, -1e30];
    }
  return { data, shape: [heads, n, n] };
}

/**
 * The mean weight on the first token of all later ones, [layer][head].
 * @param {Model} model
 * @param {number[]} ids
 */
async function shares(model, ids) {
  const { nLayers, nHeads } = model.config;
  const { captured } = await model.forward(ids, { capture: ['*.hook_pattern'], logits: 'none' });
  const later = ids.slice(1).map((_, i) => i + 1);
  return Array.from({ length: nLayers }, (_, layer) =>
    Array.from({ length: nHeads }, (__, head) =>
      mean(later.map((query) => weightOf(captured[`blocks.${layer}.attn.hook_pattern`], head, query, 0))),
    ),
  );
}

/** @type {Lab['run']} */
async function* run({ model, seed, size, change, signal }) {
  const [window, texts] = size === 'short' ? [16, 1] : [change, TEXTS];
  const n = window * CONTEXTS;
  const bins = Array.from({ length: n / BIN }, (_, i) => i * BIN);
  const edits = [false, true].map((first) => [
    { at: '*.hook_attn_scores', add: windowMask(model.config.nHeads, n, window, first) },
  ]);
  /** The loss of each token after the first, by way and text. @type {number[][][]} */
  const losses = WAYS.map(() => []);
  /** @type {number[][][]} */
  const tables = [];
  const average = (/** @type {number[][]} */ lists) => lists[0].map((_, i) => mean(lists.map((list) => list[i])));
  for (let text = 0; text < texts; text++) {
    const options = { maxTokens: n - 1, minTokens: n - 1, temperature: 1, topP: 1, seed: seed + text, signal };
    const begin = [model.special.bos ?? 0];
    const ids = [...begin, ...(await model.generate(begin, options).result).ids].slice(0, n);
    tables.push(await shares(model, ids));
    for (const [way, changes] of [[], ...edits].entries()) {
      const { perToken } = await model.loss(ids, { perToken: true, edits: changes });
      losses[way].push([.../** @type {Tensor} */ (perToken).data]);
      yield { progress: (text + (way + 1) / 4) / texts, doing: `text ${text + 1}: ${WAYS[way]}`, figures: [] };
    }
    const table = tables[0].map((_, layer) => average(tables.map((each) => each[layer])));
    const curves = losses.map((list, way) => {
      const tokens = average(list);
      return { name: WAYS[way], x: bins, y: bins.map((at) => mean(tokens.slice(at, at + BIN))) };
    });
    const figures = [
      byLayer('shares', 'Attention on the first token', 'share', table, [0, 1]),
      curvesOf('loss', `Loss of what the model wrote, window ${window}`, X, Y, curves),
    ];
    yield { progress: (text + 1) / texts, doing: `text ${text + 1}`, figures };
  }
  const above = tables[0].flatMap((_, layer) => (layer < 2 ? [] : average(tables.map((each) => each[layer]))));
  const sinks = above.filter((share) => share > 0.5).length;
  // The loss of position p stands at p - 1.
  const [all, without, kept] = losses.map((list) => mean(average(list).slice(window - 1)));
  const behind = (/** @type {number} */ loss) => `${loss.toFixed(2)} nats, ${all.toFixed(2)} with all tokens`;
  return {
    found: [
      [`${sinks} of ${above.length} heads, ${(100 * mean(above)).toFixed(0)} % on average`, sinks > above.length / 2],
      [behind(without), without > all + 1],
      [behind(kept), kept < all + 0.1],
    ],
  };
}

/** @type {Lab} */
export const lab = {
  name: 'sinks',
  title: 'Attention sinks',
  claim:
    'Heads that find nothing to attend to put their attention on the first token. A sliding window that drops this ' +
    'token breaks the model, a window that keeps it does not.',
  references: [paper('Xiao et al. 2023', 'section 3.1, figures 2 and 3')],
  claims: claimRows('Xiao et al. 2023', [
    [
      'After the first two layers, most heads attend mainly to the first token',
      'figure 2',
      'most of them with more than half',
    ],
    [
      'A window without the first token breaks the model',
      'figure 3, table 1',
      'a loss at least 1 nat higher behind it',
    ],
    ['Keeping the first token in that window avoids the damage', 'figure 3, table 1', 'a loss at most 0.1 nats higher'],
  ]),
  look: [
    'Heads: which of them rest on the first token, and in which layers.',
    'Loss: the curves part where the window has left the first token behind. The text has four windows, all within ' +
      'the positions that the model was trained on.',
  ],
  refutes: 'Curves with and without the first token that coincide.',
  model: 'stories.gguf',
  change: { title: 'Tokens in the window', values: [32, 64, 128], default: 128 },
  run,
};
