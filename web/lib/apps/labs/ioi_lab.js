// ioi_lab.js - names in a story: how a model knows to whom something is given (indirect object identification)
import { addTo, byLayer, claimRows, headName, mean, randomIntegers, ranked, weightOf, zeros } from './measures.js';
import { paper } from './papers.js';

/** @import { Attribution, Model, Tensor } from '../../api/index.js' */
/** @import { Figure, Lab } from './labs.js' */
/**
 * Two sentences that differ in who gives. `clean` is answered by `other`, `flipped` by `giver`.
 * @typedef {object} Pair
 * @property {string} text
 * @property {number[]} clean     ids
 * @property {number[]} flipped   ids
 * @property {number} other       id of the name that stands once in `clean`
 * @property {number} giver       id of the name that stands twice
 * @property {number} otherAt     position
 * @property {number} giverAt     position of the first one
 */
/**
 * Sums over the pairs, [layer][head] or [layer][position].
 * @typedef {{heads: number[][], positions: number[][], direct: number[][], toOther: number[][], toGiver: number[][],
 *   duplicate: number[][]}} Tables
 */

const NAMES = 'Lily Tom Tim Ben Max Mia Anna Sam Lucy Jack Sara Bob Sue Amy Emma Jane John Billy Leo Daisy'.split(' ');
const PLACES = ['park', 'store', 'beach', 'school', 'garden', 'lake'];
const OBJECTS = ['ball', 'toy', 'book', 'cake', 'hat', 'flower', 'apple', 'kite'];
/** Each word of the end is one token: who gives stands TAIL.length tokens before the answer. */
const TEMPLATES = [
  'One day, A and B went to the PLACE. GIVER gave the OBJECT to',
  'One day, A and B were playing in the PLACE. GIVER threw the OBJECT to',
  'Once upon a time, A and B were at the PLACE. GIVER showed the OBJECT to',
];
const TAIL = ['second name', 'verb', 'the', 'object', 'to'];

/**
 * @param {Model} model
 * @param {number} n
 * @param {number} seed
 * @returns {Promise<Pair[]>} half of them with the giver first
 */
async function pairsOf(model, n, seed) {
  const random = randomIntegers(seed);
  const one = (/** @type {string[]} */ list) => list[random(list.length)];
  /** @type {Pair[]} */
  const pairs = [];
  for (let i = 0; i < n; i++) {
    const a = one(NAMES);
    const b = one(NAMES.filter((name) => name !== a));
    const frame = one(TEMPLATES).replace('PLACE', one(PLACES)).replace('OBJECT', one(OBJECTS));
    const [giver, other] = i % 2 ? [a, b] : [b, a];
    const text = (/** @type {string} */ name) => frame.replace(/\b(A|B|GIVER)\b/g, (x) => ({ A: a, B: b })[x] ?? name);
    const id = async (/** @type {string} */ name) => (await model.encode(` ${name}`, { addSpecialTokens: false }))[0];
    const [clean, flipped] = [await model.encode(text(giver)), await model.encode(text(other))];
    const ids = { giver: await id(giver), other: await id(other) };
    const at = { giverAt: clean.indexOf(ids.giver), otherAt: clean.indexOf(ids.other) };
    pairs.push({ text: text(giver), clean, flipped, ...ids, ...at });
  }
  return pairs;
}

/** What the heads add to a logit, [layer][head]. @param {Attribution} attribution @param {number[][]} like */
function byHead({ parts }, like) {
  const table = zeros(like.length, like[0].length);
  for (const { kind, layer, head, value } of parts) if (kind === 'head') table[layer ?? 0][head ?? 0] = value;
  return table;
}

/**
 * Measures one pair.
 * @param {Model} model
 * @param {Pair} pair
 * @param {Tables} tables  sums, to which this pair is added
 * @returns {Promise<{base: number, flipped: number, last: Tensor[]}>} the difference of the two logits for each
 *   sentence; z of each layer at the end of the flipped one, [head, d_head]
 */
async function measure(model, pair, tables) {
  const { clean, flipped: from, other, giver } = pair;
  const metric = { token: other, minus: giver };
  const options = { capture: ['*.hook_pattern'], logits: /** @type {const} */ ('none') };
  const { captured } = await model.forward(clean, options);
  const heads = await model.sweep(clean, { at: '*.hook_z', each: 'head', from }, { metric });
  const positions = await model.sweep(clean, { at: '*.hook_resid_pre', each: 'position', from }, { metric });
  const swapped = await model.forward(from, { capture: ['*.hook_z'], logits: 'last' });
  const { data: logits } = swapped.logits;
  const { base } = heads;
  const added = byHead(await model.attribution(clean, { token: other }), tables.direct);
  const taken = byHead(await model.attribution(clean, { token: giver }), tables.direct);
  const n = clean.length;
  const attends =
    (/** @type {number} */ query, /** @type {number} */ key) =>
    (/** @type {number} */ layer, /** @type {number} */ head) =>
      weightOf(captured[`blocks.${layer}.attn.hook_pattern`], head, query, key);
  const [perHead, perPosition] = [tables.heads[0].length, n];
  addTo(tables.heads, (layer, head) => base - heads.values.data[layer * perHead + head]);
  addTo(tables.positions, (l, p) => base - positions.values.data[l * perPosition + n - TAIL.length + p]);
  addTo(tables.direct, (layer, head) => added[layer][head] - taken[layer][head]);
  addTo(tables.toOther, attends(n - 1, pair.otherAt));
  addTo(tables.toGiver, attends(n - 1, pair.giverAt));
  addTo(tables.duplicate, attends(n - TAIL.length, pair.giverAt));
  const last = tables.heads.map((_, layer) => {
    const { data, shape } = swapped.captured[`blocks.${layer}.attn.hook_z`];
    return { data: data.slice(-data.length / n), shape: shape.slice(1) };
  });
  return { base, flipped: logits[other] - logits[giver], last };
}

/**
 * The mean difference of logits with a head's output at the end replaced by its mean over the flipped sentences.
 * @param {Model} model
 * @param {Pair[]} pairs
 * @param {{layer: number, head: number}} at
 * @param {Tensor[][]} last  of each pair, by layer
 */
async function knockedOut(model, pairs, { layer, head }, last) {
  const d = model.config.dHead;
  const rows = last.map((each) => each[layer].data.slice(head * d, (head + 1) * d));
  const set = Array.from({ length: d }, (_, i) => mean(rows.map((row) => row[i])));
  /** @type {number[]} */
  const left = [];
  for (const { clean, other, giver } of pairs) {
    const edits = [{ at: `blocks.${layer}.attn.hook_z`, head, position: /** @type {const} */ ('last'), set }];
    const { data } = (await model.forward(clean, { edits, logits: 'last' })).logits;
    left.push(data[other] - data[giver]);
  }
  return mean(left);
}

/** @param {Tables} sums @param {number} n  pairs @param {number} effect  of the flips, summed @returns {Figure[]} */
function figuresOf(sums, n, effect) {
  const over = (/** @type {number[][]} */ table, /** @type {number} */ by) =>
    table.map((row) => row.map((x) => x / by));
  const end = { name: 'position', labels: TAIL };
  const part = 'share of the flip';
  return [
    byLayer('heads', 'Patched: one head from the flipped sentence', part, over(sums.heads, effect), [-1, 1]),
    byLayer('positions', 'Patched: the stream at one position', part, over(sums.positions, effect), [-1, 1], end),
    byLayer('direct', 'What a head adds itself to the difference', 'logits', over(sums.direct, n), [-3, 3]),
    byLayer('to-other', 'Attention from the end to the other name', '', over(sums.toOther, n), [0, 1]),
    byLayer('duplicate', 'Attention from the second name to the first', '', over(sums.duplicate, n), [0, 1]),
  ];
}

/**
 * @param {Tables} sums
 * @param {number[]} bases   the difference of logits of each pair
 * @param {number} copying   of the name mover
 * @param {number} left      the difference without it
 * @returns {[string, boolean][]}
 */
function findings(sums, bases, copying, left) {
  const n = bases.length;
  const right = bases.filter((base) => base > 0).length;
  const [mover] = ranked(sums.direct);
  const [twice = { ...mover, value: 0 }] = ranked(sums.duplicate.slice(0, mover.layer));
  const moved = ranked(sums.heads).filter(({ value }) => value > 0);
  const total = (/** @type {{value: number}[]} */ list) => list.reduce((sum, { value }) => sum + value, 0);
  const three = total(moved.slice(0, 3)) / total(moved);
  const turn = sums.positions.findIndex((row) => row[TAIL.length - 1] > row[0]);
  const [toOther, toGiver] = [sums.toOther, sums.toGiver].map((table) => table[mover.layer][mover.head] / n);
  const [adds, fall] = [mover.value / n, mean(bases) - left];
  return [
    [`${mean(bases).toFixed(2)} logits apart, in ${right} of ${n}`, right >= 0.95 * n],
    [`${moved.slice(0, 3).map(headName).join(', ')}: ${(100 * three).toFixed(0)} % of the effect`, three > 0.5],
    [turn < 0 ? 'it stays there' : `more at the end from the input of layer ${turn} on`, turn > 0],
    [
      `${headName(mover)}: ${toOther.toFixed(2)} and ${toGiver.toFixed(2)}, copying ${copying.toFixed(2)}`,
      toOther > toGiver && copying > 0,
    ],
    [`${headName(twice)}: ${(twice.value / n).toFixed(2)}`, twice.value / n > 0.3],
    [`${headName(mover)} adds ${adds.toFixed(2)}, the difference falls by ${fall.toFixed(2)}`, fall < 0.5 * adds],
  ];
}

/** @type {Lab['run']} */
async function* run({ model, seed, size, change }) {
  const { nLayers, nHeads } = model.config;
  const pairs = await pairsOf(model, size === 'short' ? 4 : change, seed);
  const perHead = () => zeros(nLayers, nHeads);
  const sums = {
    heads: perHead(),
    positions: zeros(nLayers, TAIL.length),
    direct: perHead(),
    toOther: perHead(),
    toGiver: perHead(),
    duplicate: perHead(),
  };
  /** @type {number[]} */
  const bases = [];
  /** @type {Tensor[][]} */
  const last = [];
  let effect = 0;
  for (const [i, pair] of pairs.entries()) {
    const { base, flipped, last: z } = await measure(model, pair, sums);
    bases.push(base);
    last.push(z);
    effect += base - flipped;
    const figures = i % 5 === 4 || i + 1 === pairs.length ? figuresOf(sums, i + 1, effect) : [];
    yield { progress: (0.9 * (i + 1)) / pairs.length, doing: pair.text, figures };
  }
  const [mover] = ranked(sums.direct);
  const { copying = 0 } = await model.circuit(mover.layer, mover.head, 'OV');
  const left = await knockedOut(model, pairs, mover, last);
  return { found: findings(sums, bases, copying, left) };
}

/** @type {Lab} */
export const lab = {
  name: 'ioi',
  title: 'Names in a story',
  claim:
    'In "Lily and Tom went to the park. Tom gave the ball to" a model says Lily: early heads find the name that ' +
    'stands twice, and late heads copy the other one.',
  references: [paper('Wang et al. 2022', 'section 3 and figure 3')],
  claims: claimRows('Wang et al. 2022', [
    ['The model prefers the name that appears once', 'section 2', 'in 95 % of the sentences (GPT-2 small: 99.3 %)'],
    ['Few heads carry the answer', 'figure 3', 'three heads have more effect than all others together'],
    [
      'Information moves from the second name to the last position',
      'section 3.2',
      'more at the end before the last layer',
    ],
    [
      'The name mover attends to the other name and copies it',
      'section 3.1',
      'more than to the giver; copying above 0',
    ],
    ['An earlier head finds the repeated name', 'section 3.3', 'more than 0.3 of its attention on the first'],
    [
      'Other heads take over when the name mover is ablated',
      'section 3.4',
      'the fall is less than half of what the head adds',
    ],
  ]),
  look: [
    'Patched heads: 1 means that this head alone turns the answer round.',
    'Patched positions: the lower layers need the second name, the upper ones the last word.',
    'A name mover adds to the difference itself, and attends from the end to the other name.',
  ],
  refutes: 'An effect that is spread over all heads, or name movers that attend to the giver or do not copy.',
  model: 'stories.gguf',
  change: { title: 'Pairs of sentences', values: [20, 100, 200], default: 100 },
  run,
};
