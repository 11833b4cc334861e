// width_lab.js - how wide the feed-forward layer is, its activation, and whether the head has the embedding's matrix
import { train } from '../../api/index.js';
import { trainEach } from './lab_training.js';
import { claimRows } from './measures.js';
import { paper } from './papers.js';
import { written } from './written_stories.js';

/** @import { Lab } from './labs.js' */

const STEPS = 300;
const EVERY = 20;
const STORIES = 120;
/** Nats by which losses differ in earnest. */
const APART = 0.02;
/** Weights of 4 d in two matrices are those of 8 d / 3 in three. */
const WAYS = /** @type {const} */ ([
  ['GELU, 2 times', 'gelu_erf', 2, true],
  ['GELU, 4 times', 'gelu_erf', 4, true],
  ['GELU, 8 times', 'gelu_erf', 8, true],
  ['SwiGLU, 8/3 times', 'swiglu', 8 / 3, true],
  ['GELU, 4 times, head of its own', 'gelu_erf', 4, false],
]);

/** @type {Lab['run']} */
async function* run({ model, seed, size, change: d_model, signal }) {
  const [stories, steps] = size === 'short' ? [24, EVERY] : [STORIES, STEPS];
  const text = yield* written(model, stories, seed, signal);
  const options = { steps, seed, signal, vocabSize: 320, batchTokens: 1024, validation: 0.1, validateEvery: EVERY };
  const sizes = { d_model, n_layers: 2, n_heads: 4, context_length: 64 };
  const asked = WAYS.map(([name, ffn, times, tie_word_embeddings]) => ({
    name,
    start: () => train({ ...sizes, ffn, d_ff: Math.round(times * d_model), tie_word_embeddings }, text, options),
  }));
  const { losses, trained } = yield* trainEach('Loss of held-out stories', asked);
  return { found: findings(losses), trained };
}

/** @param {number[]} losses  of WAYS @returns {[string, boolean][]} */
function findings([two, four, eight, gated, untied]) {
  const both = (/** @type {number} */ a, /** @type {number} */ b) => `loss ${a.toFixed(3)}, at 4 times ${b.toFixed(3)}`;
  const [first, second] = [two - four, four - eight];
  return [
    [both(two, four), first >= APART],
    [`${second.toFixed(3)} nats from 4 to 8 times, ${first.toFixed(3)} from 2 to 4`, second < first],
    [`loss ${gated.toFixed(3)}, with GELU ${four.toFixed(3)}`, gated <= four - APART],
    [`loss ${four.toFixed(3)} tied, ${untied.toFixed(3)} with a head of its own`, four <= untied + APART],
  ];
}

/** @type {Lab} */
export const lab = {
  name: 'width',
  title: 'Width of the feed-forward layer',
  claim:
    'The feed-forward layer is four times as wide as the stream because less underfits and more is not worth ' +
    'its weights; a gate makes better use of as many, and the head can share the matrix of the embedding.',
  references: [
    { paper: 'The transformer block', where: 'tutorial 3, "The MLP"' },
    paper('Shazeer 2020', 'table 1'),
    paper('Press and Wolf 2017', 'section 4'),
  ],
  claims: [
    ...claimRows('Tutorial 3', [
      [
        'An FFN of 2 × d_model underfits',
        '"Smaller (2×) underfits"',
        `a loss at least ${APART} nats above that of 4 times`,
      ],
      [
        '8 × d_model brings diminishing returns',
        '"larger (8×) doesn’t help in proportion"',
        'less is gained than from 2 to 4 times',
      ],
    ]),
    ...claimRows('Shazeer 2020', [
      ['SwiGLU is better than GELU with as many weights', 'table 1', `a loss at least ${APART} nats lower`],
    ]),
    ...claimRows('Press and Wolf 2017', [
      ['A tied head is as good with fewer weights', 'section 4', `a loss at most ${APART} nats higher`],
    ]),
  ],
  look: [
    'Loss: five models read the same stories, which the shipped model has written; the steps are few, and what is ' +
      'learnt slowly does not show.',
  ],
  refutes: 'A curve of 8 times that lies as far below that of 4 times as that lies below 2 times.',
  model: 'stories-1m.gguf',
  change: { title: 'Width of the residual stream', values: [24, 48, 96], default: 48 },
  run,
};
