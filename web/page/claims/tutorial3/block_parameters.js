// claims/tutorial3/block_parameters.js - the parameters of a block, which its sanity check prints.
import { claim } from '../claim.js';
import { BLOCK } from '../configs.js';
import { misprint, same, shown, text } from '../outcome.js';
import { block, count } from '../parameter_table.js';

/**
 * A block's parameters as a sum.
 * @param {import('glassformer').ParameterTable} t
 */
const parts = (t) =>
  `${text(count(t, 'attention', 0) + count(t, 'ffn', 0) + count(t, 'norm', 0))} = ${text(count(t, 'attention', 0))} + ${text(count(t, 'ffn', 0))} + ${text(count(t, 'norm', 0))}`;

export const claims = [
  claim('3-params', 'Parameters of the block of width 64', (g) => {
    const t = g.countParameters('tutorial-3');
    return misprint(
      '82,304',
      same('49,408 = 16,384 + 32,768 + 256', parts(t)),
      'Its code has an MLP of 4 times the width, which makes 49,408. Even the parts it prints, 16,384 + 65,536 + 256, add up to 82,176 and not to 82,304.',
    );
  }),
  claim('3-params-attention', 'Attention of the block: four matrices of 64 × 64', (g) =>
    same(16384, count(g.countParameters('tutorial-3'), 'attention')),
  ),
  claim('3-params-mlp', 'MLP of the block', (g) =>
    misprint(
      '65,536',
      same(32768, count(g.countParameters('tutorial-3'), 'ffn')),
      'Two matrices of 64 × 256 hold 32,768. 65,536 is what 8 times the width would hold; the code says 4.',
    ),
  ),
  claim('3-params-mlp-8x', 'An MLP of 8 times the width would hold the printed 65,536, and its block 82,176', (g) => {
    const t = g.countParameters({ ...BLOCK, d_ff: 512 });
    return same(
      '65,536 in a block of 82,176',
      `${text(count(t, 'ffn'))} in a block of ${text(count(t, 'attention') + count(t, 'ffn') + count(t, 'norm'))}`,
    );
  }),
  claim('3-params-norms', 'Both LayerNorms: a gain and a shift of 64 each', (g) =>
    same(256, count(g.countParameters('tutorial-3'), 'norm')),
  ),
  claim('3-norms-free', 'The norms are almost free', (g) => {
    const t = g.countParameters('tutorial-3'),
      share = count(t, 'norm') / (count(t, 'norm') + count(t, 'attention') + count(t, 'ffn'));
    return shown(share < 0.01, 'under 1 % of the block', `${(100 * share).toFixed(2)} % of the block`);
  }),
  claim('3-mlp-share', 'Parameters of the MLP for each one of attention', (g) => {
    const t = g.countParameters('tutorial-3');
    return misprint(
      '4 at the end, 2 in the text',
      same(2, count(t, 'ffn') / count(t, 'attention')),
      'Its list of things to notice follows the printed 65,536; its text, with 131,072 against 65,536, has it right.',
    );
  }),
  claim('3-mlp-128', 'At width 128 the MLP holds 131,072 parameters', (g) =>
    same(131072, count(g.countParameters({ ...BLOCK, d_model: 128 }), 'ffn')),
  ),
  claim('3-attention-128', 'At width 128 attention holds 65,536', (g) =>
    same(65536, count(g.countParameters({ ...BLOCK, d_model: 128 }), 'attention')),
  ),
  claim('3-twelve-blocks', 'In a model of 12 blocks the MLPs hold most parameters', (g) => {
    const t = g.countParameters({ ...BLOCK, d_model: 128, n_layers: 12 }),
      share = count(t, 'ffn') / t.total;
    return shown(
      share > 0.5 && count(t, 'ffn') === 12 * 131072,
      '1,572,864, over half',
      `${text(count(t, 'ffn'))}, ${(100 * share).toFixed(1)} %`,
    );
  }),
];
