// claims/tutorial3/block_parameters.js - the parameters of a block, which its sanity check prints.
import { claim } from '../claim.js';
import { BLOCK, WIDE } from '../configs.js';
import { misprint, same, shown, text } from '../outcome.js';
import { block, count, ofCount } from '../parameter_table.js';

/** @typedef {import('../parameter_table.js').Table} Table */

const PRESET = 'tutorial-3';
/** A block's parameters as a sum. @param {Table} t */
const parts = (t) =>
  `${text(block(t))} = ${['attention', 'ffn', 'norm'].map((part) => text(count(t, part, 0))).join(' + ')}`;

const mlp = (/** @type {Table} */ t) => count(t, 'ffn');
const attention = (/** @type {Table} */ t) => count(t, 'attention');

export const claims = [
  claim('3-params', 'Parameters of the block of width 64', (g) => {
    const t = g.countParameters('tutorial-3');
    return misprint(
      '82,304',
      same('49,408 = 16,384 + 32,768 + 256', parts(t)),
      'Its code has an MLP of 4 times the width, which makes 49,408. Even the parts it prints, 16,384 + 65,536 + 256, add up to 82,176 and not to 82,304.',
    );
  }),
  ofCount('3-params-attention', 'Attention of the block: four matrices of 64 × 64', PRESET, 16384, attention),
  claim('3-params-mlp', 'MLP of the block', (g) =>
    misprint(
      '65,536',
      same(32768, mlp(g.countParameters(PRESET))),
      'Two matrices of 64 × 256 hold 32,768. 65,536 is what 8 times the width would hold; the code says 4.',
    ),
  ),
  ofCount(
    '3-params-mlp-8x',
    'An MLP of 8 times the width would hold the printed 65,536, and its block 82,176',
    { ...BLOCK, d_ff: 512 },
    '65,536 in a block of 82,176',
    (t) => `${text(mlp(t))} in a block of ${text(block(t))}`,
  ),
  ofCount('3-params-norms', 'Both LayerNorms: a gain and a shift of 64 each', PRESET, 256, (t) => count(t, 'norm')),
  claim('3-norms-free', 'The norms are almost free', (g) => {
    const t = g.countParameters(PRESET),
      share = count(t, 'norm') / block(t);
    return shown(share < 0.01, 'under 1 % of the block', `${(100 * share).toFixed(2)} % of the block`);
  }),
  claim('3-mlp-share', 'Parameters of the MLP for each one of attention', (g) => {
    const t = g.countParameters(PRESET);
    return misprint(
      '4 at the end, 2 in the text',
      same(2, mlp(t) / attention(t)),
      'Its list of things to notice follows the printed 65,536; its text, with 131,072 against 65,536, has it right.',
    );
  }),
  ofCount('3-mlp-128', 'At width 128 the MLP holds 131,072 parameters', WIDE, 131072, mlp),
  ofCount('3-attention-128', 'At width 128 attention holds 65,536', WIDE, 65536, attention),
  claim('3-twelve-blocks', 'In a model of 12 blocks the MLPs hold most parameters', (g) => {
    const t = g.countParameters({ ...WIDE, n_layers: 12 }),
      share = mlp(t) / t.total;
    return shown(
      share > 0.5 && mlp(t) === 12 * 131072,
      '1,572,864, over half',
      `${text(mlp(t))}, ${(100 * share).toFixed(1)} %`,
    );
  }),
];
