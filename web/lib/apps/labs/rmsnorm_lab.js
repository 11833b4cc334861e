// rmsnorm_lab.js - RMSNorm and LayerNorm: whether models train as well without the subtraction of the mean
import { claimRows, mean, percent } from './measures.js';
import { paper } from './papers.js';
import { APART, trainWays } from './written_stories.js';

/** @import { Model } from '../../api/index.js' */
/** @import { Lab } from './labs.js' */

/** Characters of the text that are measured. */
const MEASURED = 2000;
const WAYS = /** @type {[string, import('../../engine/config/config_input.js').OwnConfig][]} */ ([
  ['LayerNorm', { norm: 'layernorm' }],
  ['RMSNorm', { norm: 'rmsnorm' }],
  ['no norm', { norm: 'layernorm', use_norm: false, use_final_norm: false }],
]);

/**
 * The share of the mean in the inputs of the norms behind the first sublayer: its square through the mean square.
 * @param {Model} model
 * @param {string} text
 */
async function meanShare(model, text) {
  const ids = (await model.encode(text.slice(-MEASURED))).slice(0, model.contextLength);
  const at = ['blocks.*.hook_resid_mid', 'blocks.*.hook_resid_post'];
  const { captured } = await model.forward(ids, { capture: at, logits: 'none' });
  const shares = Object.values(captured).flatMap(({ data, shape: [n, d] }) =>
    Array.from({ length: n }, (_, i) => {
      const row = data.subarray(i * d, (i + 1) * d);
      return mean(row) ** 2 / mean(row.map((x) => x * x));
    }),
  );
  return mean(shares);
}

/** @type {Lab['run']} */
async function* run(options) {
  let share = 0;
  const { losses, trained } = yield* trainWays(options, WAYS, async (model, name, text) => {
    if (name === 'LayerNorm') share = await meanShare(model, text);
  });
  return { found: findings(losses, share, options.change), trained };
}

/**
 * @param {number[]} losses  of WAYS and of the other first weights
 * @param {number} share
 * @param {number} width
 * @returns {[string, boolean][]}
 */
function findings([layer, rms, none, other], share, width) {
  const besides = (/** @type {number} */ loss) =>
    `loss ${loss.toFixed(3)}, with LayerNorm ${layer.toFixed(3)}, that with other first weights ${other.toFixed(3)}`;
  return [
    [besides(rms), Math.abs(rms - layer) <= APART],
    [`${percent(share, 1)} of the mean square, ${percent(1 / width, 1)} in rows of independent numbers`, share <= 0.05],
    [besides(none), none >= layer + APART],
  ];
}

/** @type {Lab} */
export const lab = {
  name: 'rmsnorm',
  title: 'RMSNorm or LayerNorm',
  claim:
    'A norm that only divides by the root mean square trains as well as one that also subtracts the mean, because ' +
    'the mean is small. Without any norm a model trains worse.',
  references: [
    { paper: 'The transformer block', where: 'tutorial 3, "RMSNorm"' },
    { paper: 'Building a Transformer: The Complete Forward Pass', where: 'tutorial 1, "RMSNorm: the modern choice"' },
    paper('Zhang and Sennrich 2019', 'sections 3 and 6'),
  ],
  claims: [
    ...claimRows('Tutorial 3', [
      [
        'RMSNorm trains as well as LayerNorm',
        '"identical training quality at our scale"',
        `losses at most ${APART} nats apart`,
      ],
    ]),
    ...claimRows('Tutorial 1', [
      [
        'The mean is small behind the first sublayer',
        '"it tends to be once activations have passed through a layer or two"',
        'its square at most 5 % of the mean square',
      ],
    ]),
    ...claimRows('Zhang and Sennrich 2019', [
      ['Without a norm the model trains worse', 'section 6', `a loss at least ${APART} nats higher`],
    ]),
  ],
  look: [
    'Loss: the models read the same stories, which the shipped model has written. The curve of LayerNorm with other ' +
      'first weights shows the difference that chance makes.',
  ],
  refutes: 'A curve of RMSNorm that lies farther from that of LayerNorm than the one with other first weights.',
  model: 'stories-1m.gguf',
  change: { title: 'Width of the residual stream', values: [24, 48, 96], default: 48 },
  run,
};
