// cache_lab.js - the kv cache: the same text with and without it, the positions that are computed for it, and rotated
// positions that go wrong with it
import { claimRows, curvesOf, largest, mean } from './measures.js';
import { paper } from './papers.js';

/** @import { Edit, Model, Tensor } from '../../api/index.js' */
/** @import { Lab, LabReport } from './labs.js' */

const PROMPT = 'Once upon a time';
const TUTORIAL = 'Building a Transformer: The Complete Forward Pass';
const X = { name: 'new tokens', unit: '' };
const Y = { name: 'time', unit: 'ms' };
/** The time of a step is the least of as many. */
const REPEATS = 3;
/** What the first block reads: a row for each position that passes through the layers. */
const POINT = 'blocks.0.hook_resid_pre';

/**
 * The most likely token.
 * @param {ArrayLike<number>} logits
 * @param {readonly number[]} ends  tokens that end a text, which is to go on
 */
function best(logits, ends) {
  let found = -1;
  for (let id = 0; id < logits.length; id++)
    if (!ends.includes(id) && (found < 0 || logits[id] > logits[found])) found = id;
  return found;
}

/**
 * The edits of a pass in which the positions from `from` on have angle 0, as in a cache whose offset was forgotten:
 * queries and keys as they were before the rotation. Each layer reads what the wrong layers below it wrote.
 * @param {Model} model
 * @param {number[]} ids
 * @param {number} from
 */
async function forgottenOffset(model, ids, from) {
  /** @type {Edit[]} */
  const edits = [];
  const position = { from, to: ids.length };
  for (let layer = 0; layer < model.config.nLayers; layer++) {
    const names = ['q', 'k'].map((each) => `blocks.${layer}.attn.hook_${each}`);
    const { captured } = await model.forward(ids, { capture: names, edits, logits: 'none' });
    for (const name of names) {
      const { data, shape } = captured[name];
      const row = data.length / shape[0];
      const set = { shape: [ids.length - from, ...shape.slice(1)], data: data.slice(from * row) };
      edits.push({ at: name.replace('hook_', 'hook_rot_'), position, set });
    }
  }
  return edits;
}

/**
 * Generates the text twice, token by token.
 * @param {Model} model
 * @param {number[]} prompt
 * @param {number} n  new tokens
 * @returns {AsyncGenerator<LabReport, {texts: number[][], apart: number, computed: number[]}, void>}  without and with
 *   the cache: the texts, and how many positions pass through the layers; the largest difference of two logits
 */
async function* generateTwice(model, prompt, n) {
  const session = await model.session({ capture: [POINT] });
  /** @type {((ids: number[]) => Promise<{ logits: Float32Array, captured: Record<string, Tensor> }>)[]} */
  const ways = [
    async (ids) => {
      const { logits, captured } = await model.forward(ids, { logits: 'last', capture: [POINT] });
      return { logits: logits.data, captured };
    },
    async (ids) => {
      await session.rewind(Math.min(session.length, ids.length - 1));
      const logits = await session.eval(ids.slice(session.length));
      return { logits, captured: session.captured };
    },
  ];
  const computed = [0, 0];
  const texts = [prompt.slice(), prompt.slice()];
  const curves = ['without cache', 'with cache'].map((name) => ({ name, x: [0], y: [0] }));
  let apart = 0;
  try {
    for (const read of ways) await read(prompt); // the engine's code is compiled
    for (let t = 1; t <= n; t++) {
      /** @type {Float32Array[]} */
      const logits = [];
      for (const [i, read] of ways.entries()) {
        let least = Infinity;
        for (let repeat = 0; repeat < REPEATS; repeat++) {
          const start = performance.now();
          const pass = await read(texts[i]);
          least = Math.min(least, performance.now() - start);
          logits[i] = pass.logits;
          if (!repeat) computed[i] += pass.captured[POINT].shape[0];
        }
        curves[i].y.push(curves[i].y[t - 1] + least);
        curves[i].x.push(t);
        texts[i].push(best(logits[i], model.special.eos));
      }
      apart = Math.max(apart, largest(logits[0].map((x, i) => Math.abs(x - logits[1][i]))));
      const figures = t % 5 === 0 || t === n ? [curvesOf('time', 'Time for a text', X, Y, curves)] : [];
      yield { progress: (0.5 * t) / n, doing: `token ${t} of ${n}, with and without the cache`, figures };
    }
  } finally {
    await session.dispose();
  }
  return { texts, apart, computed };
}

/**
 * What a forgotten offset does to a text of n new tokens behind a prompt.
 * @param {Model} model
 * @param {number[]} ids  prompt and text
 * @param {number} n
 * @returns {AsyncGenerator<LabReport, {wrong: number[], right: number, forgotten: number}, void>}  the text that comes
 *   out; the losses of `ids`, in nats a token
 */
async function* misplace(model, ids, n) {
  const first = ids.length - n;
  const wrong = ids.slice(0, first);
  while (wrong.length < ids.length) {
    const edits = await forgottenOffset(model, wrong, first);
    wrong.push(best((await model.forward(wrong, { edits, logits: 'last' })).logits.data, model.special.eos));
    const progress = 0.5 + (0.5 * (wrong.length - first)) / n;
    yield { progress, doing: 'the text with a forgotten offset', figures: [] };
  }
  const texts = [
    { name: 'as it is', text: await model.decode(ids.slice(1)) },
    { name: 'with a forgotten offset', text: await model.decode(wrong.slice(1)) },
  ];
  yield { progress: 1, doing: 'done', figures: [{ id: 'texts', kind: 'texts', title: 'The most likely text', texts }] };
  const lossOf = async (/** @type {Edit[]} */ edits) => {
    const { perToken } = await model.loss(ids, { perToken: true, edits });
    return mean(/** @type {Tensor} */ (perToken).data.slice(first));
  };
  return { wrong, right: await lossOf([]), forgotten: await lossOf(await forgottenOffset(model, ids, first)) };
}

/** @type {Lab['run']} */
async function* run({ model, size, change }) {
  const n = size === 'short' ? 20 : change;
  const { texts, apart, computed } = yield* generateTwice(model, await model.encode(PROMPT), n);
  const [ids, cached] = texts;
  const { wrong, right, forgotten } = yield* misplace(model, ids, n);
  const first = ids.length - n;
  const same = (/** @type {number[]} */ other) => ids.filter((id, i) => i >= first && id === other[i]).length;
  const [whole, single] = computed;
  const prefixes = (n * (first + ids.length - 1)) / 2;
  return {
    found: [
      [`${same(cached)} of ${n} tokens the same, logits apart by ${apart}`, same(cached) === n && apart <= 1e-5],
      [`${whole} positions without the cache, ${single} with it`, whole === prefixes && single === n],
      [
        `${same(wrong)} of ${n} tokens the same, loss ${forgotten.toFixed(2)} instead of ${right.toFixed(2)}`,
        same(wrong) < n && forgotten > right,
      ],
    ],
  };
}

/** @type {Lab} */
export const lab = {
  name: 'cache',
  title: 'The cache',
  claim:
    'A decoder that keeps the keys and values of earlier tokens writes the same text in a fraction of the time. ' +
    'Each new token must be rotated by its own position.',
  references: [
    { paper: TUTORIAL, where: 'tutorial 1, section 6, "The generate() Method"' },
    paper('Su et al. 2021', 'section 3.2.2'),
  ],
  claims: claimRows(TUTORIAL, [
    [
      'The cache does not change the text',
      '"The invariant that proves it correct"',
      'the same tokens, logits within 0.00001',
    ],
    [
      'Without the cache every step computes the whole prefix again',
      '"every step re-encodes the entire prefix"',
      'the sum of all prefixes without the cache, one position per token with it',
    ],
    ['A forgotten RoPE offset silently spoils the text', '"the subtle part"', 'other tokens and a higher loss'],
  ]),
  look: [
    'Time: without the cache it grows with the square of the length, with it almost in a straight line.',
    'Text: with a forgotten offset all new tokens stand at position 0. Their order is lost, and no tensor shape ' +
      'reveals it.',
  ],
  refutes: 'Two different tokens or logits, or a step with the cache that computes more than one position.',
  model: 'stories-1m.gguf',
  change: { title: 'New tokens', values: [50, 100, 200], default: 100 },
  run,
};
