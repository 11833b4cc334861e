// gelu_lab.js - GELU and ReLU between the matrices of the feed-forward layer, and how many hidden numbers are 0
import { claimRows, mean, percent } from './measures.js';
import { paper } from './papers.js';
import { APART, trainWays } from './written_stories.js';

/** @import { Model } from '../../api/index.js' */
/** @import { Lab } from './labs.js' */

/** Characters of the text that are measured. */
const MEASURED = 2000;
const WAYS = /** @type {[string, import('../../engine/config/config_input.js').OwnConfig][]} */ ([
  ['GELU', { ffn: 'gelu_erf' }],
  ['ReLU', { ffn: 'relu' }],
  ['no feed-forward layer', { ffn: 'none' }],
]);

/**
 * The share of the hidden numbers that are 0, of all layers.
 * @param {Model} model
 * @param {string} text
 */
async function zeroShare(model, text) {
  const ids = (await model.encode(text.slice(-MEASURED))).slice(0, model.contextLength);
  const { captured } = await model.forward(ids, { capture: ['blocks.*.mlp.hook_post'], logits: 'none' });
  return mean(Object.values(captured).map(({ data }) => mean(data.map((x) => Number(x === 0)))));
}

/** @type {Lab['run']} */
async function* run(options) {
  let zeros = 0;
  const { losses, trained } = yield* trainWays(options, WAYS, async (model, name, text) => {
    if (name === 'ReLU') zeros = await zeroShare(model, text);
  });
  return { found: findings(losses, zeros), trained };
}

/**
 * @param {number[]} losses  of WAYS and of the other first weights
 * @param {number} zeros
 * @returns {[string, boolean][]}
 */
function findings([gelu, relu, none, other], zeros) {
  const beside = (/** @type {string} */ name, /** @type {number} */ loss) =>
    `loss ${gelu.toFixed(3)}, ${name} ${loss.toFixed(3)}, with other first weights ${other.toFixed(3)}`;
  return [
    [beside('with ReLU', relu), gelu <= relu - APART],
    [beside('with ReLU', relu), relu <= gelu + APART],
    [percent(zeros, 1), zeros >= 0.6],
    [beside('without the layer', none), none >= gelu + APART],
  ];
}

/** @type {Lab} */
export const lab = {
  name: 'gelu',
  title: 'GELU or ReLU',
  claim:
    'GELU, which is smooth at 0, trains slightly better than ReLU. With ReLU most of the hidden numbers are 0, far ' +
    'more than the half with which training begins.',
  references: [
    { paper: 'The transformer block', where: 'tutorial 3, "GELU instead of ReLU"' },
    paper('Hendrycks and Gimpel 2016', 'section 3'),
    paper('Li et al. 2023', 'section 2'),
  ],
  claims: [
    ...claimRows('Tutorial 3', [
      ['GELU trains better than ReLU', '"slightly better convergence"', `a loss at least ${APART} nats lower`],
    ]),
    ...claimRows('Li et al. 2023', [
      ['ReLU trains as well as GELU', 'section 2.1', `a loss at most ${APART} nats higher`],
      ['With ReLU most hidden numbers become 0', 'section 2.1', 'at least 60 %, before training 50 %'],
    ]),
    ...claimRows('Vaswani et al. 2017', [
      ['Without the feed-forward layer the model trains worse', 'section 3.3', `a loss at least ${APART} nats higher`],
    ]),
  ],
  look: [
    'Loss: the models read the same stories, which the shipped model has written. The curve of GELU with other first ' +
      'weights shows the difference that chance makes.',
  ],
  refutes: 'A curve of ReLU that lies below that of GELU by more than the one with other first weights lies apart.',
  model: 'stories-1m.gguf',
  change: { title: 'Width of the residual stream', values: [24, 48, 96], default: 48 },
  run,
};
