// claims/tutorial5.js - day 7 of a course on language models: the full GPT, its parameters, its shapes, and its
// exercises.

import { number } from '../views/learn/typed_answer.js';
import { GPT, QUIZ, SMALL, TINY, WALK } from './configs.js';
import { byBlock } from './parameter_table.js';
import { sectionsOf, seen } from './section.js';
import { claims as cost } from './tutorial5/gpt_cost.js';
import { claims as families, familyTable } from './tutorial5/three_families.js';
import { claims as model } from './tutorial5/gpt_model.js';
import { claims as norms } from './tutorial5/gpt_norms.js';
import { claims as parameters } from './tutorial5/gpt_parameters.js';
import { claims as stream } from './tutorial5/gpt_stream.js';

const section = sectionsOf([...model, ...norms, ...stream, ...parameters, ...cost, ...families]);
const MODEL = { preset: GPT };
const LLAMA = 'llama-7b';

/** @type {import('./section.js').Exercise[]} */
const EXERCISES = [
  { text: 'Forward random ids through the tiny GPT.', ids: { model: MODEL, n: 32 } },
  {
    text: 'How many parameters has the tiny GPT of 4 blocks, width 128, 1000 tokens, 64 positions? (5 % are allowed)',
    answer: (g) => within(g.countParameters(GPT).total),
  },
  {
    text: 'What is its loss before training? (two decimals)',
    answer: () => number(Math.log(1000), 'ln 1000 = 6.91', 0.02),
  },
];

/** A count that the rule 12D² gives too. @param {number} total */
const within = (total) => number(total, total.toLocaleString('en'), 0.05 * total);

/** @type {import('./section.js').Exercise[]} */
const QUIZ_QUESTIONS = [
  {
    text: 'How many parameters has D = 2048, 24 layers, V = 50,000, plain GELU, tied? (5 % are allowed)',
    answer: (g) => within(g.countParameters(QUIZ).total),
  },
  {
    text: 'A batch of shape (2, 64) goes through the tiny GPT. How many numbers are its logits?',
    answer: (g) => number(2 * 64 * g.completeConfig(GPT).vocabSize),
  },
  {
    text: 'How many numbers does the feed-forward network make of each token there, at its widest?',
    answer: (g) => number(g.completeConfig(GPT).dFf),
  },
];

export const sections = [
  section('The architecture', [seen('stream', MODEL, 'shape', 'width-kept')]),
  section('Layer normalization', [
    seen('norm', MODEL, 'per-token'),
    seen('norm', TINY, 'rmsnorm'),
    seen('parameters', MODEL, 'norm-parameters'),
    seen('cost', MODEL, 'norm-cost'),
  ]),
  section('Residual connections', [seen('stream', MODEL, 'stream-sum', 'identity-prior')]),
  section('Feed-forward network', [seen('compare', LLAMA, 'ffn-table', 'ffn-share')]),
  section('The full model', [
    seen('stream', MODEL, 'reference'),
    seen('compare', 'gpt2', 'tying'),
    seen('compare', 'llama3-70b', 'one-class'),
  ]),
  section(
    'Counting parameters',
    [
      seen('compare', 'gpt2', 'projections', 'rule', 'gpt2-small', 'positions-small'),
      seen('compare', LLAMA, 'llama-attention', 'llama-ffn', 'llama-block', 'llama-embeddings', 'llama-total'),
    ],
    { table: (g) => byBlock(g.countParameters(SMALL)) },
  ),
  section('Three families', [seen('cross', 'weights/dates/', 'families')], { table: familyTable }),
  section('Tracing shapes', [seen('compare', WALK, 'walk')]),
  section('Cost', [
    seen('compare', LLAMA, 'flops', 'tokens-per-second', 'kv-7b', 'kv-block', 'activations'),
    seen('compare', 'llama3-70b', 'kv-70b'),
  ]),
  section(
    'Exercises',
    [
      seen('norm', MODEL, 'layernorm'),
      seen('parameters', MODEL, 'rule-exercise'),
      seen('training', MODEL, 'fresh-loss', 'default-loss'),
      seen('cache', MODEL, 'generate'),
      seen('stream', { ...MODEL, n_layers: 8 }, 'drift'),
    ],
    { exercises: EXERCISES },
  ),
  section('Quiz', [seen('compare', QUIZ, 'quiz'), seen('stream', MODEL, 'trace')], { exercises: QUIZ_QUESTIONS }),
];
