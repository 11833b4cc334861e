// claims/tutorial3/block_parameters.js - the parameters of a block, which its sanity check prints
import { ofCount, ofTable } from '../claim.js';
import { BLOCK, WIDE } from '../configs.js';
import { misprint, same, shown, text } from '../outcome.js';
import { block, count } from '../parameter_table.js';

/** @typedef {import('../parameter_table.js').Table} Table */

const PRESET = 'tutorial-3';

/** A block's parameters as a sum. @param {Table} t */
const parts = (t) =>
  `${text(block(t))} = ${['attention', 'ffn', 'norm'].map((part) => text(count(t, part, 0))).join(' + ')}`;

const mlp = (/** @type {Table} */ t) => count(t, 'ffn');

const attention = (/** @type {Table} */ t) => count(t, 'attention');

/** @type {import('../claim.js').Runs} */
export const runs = {
  params: ofTable(PRESET, (t) =>
    misprint(
      '82,304',
      same('49,408 = 16,384 + 32,768 + 256', parts(t)),
      'Its code has an MLP of 4 times the width, which makes 49,408. Even the parts it prints, 16,384 + 65,536 + 256, add up to 82,176 and not to 82,304.',
    ),
  ),
  'params-attention': ofCount(PRESET, 16384, attention),
  'params-mlp': ofTable(PRESET, (t) =>
    misprint(
      '65,536',
      same(32768, mlp(t)),
      'Two matrices of 64 × 256 hold 32,768. 65,536 is what 8 times the width would hold; the code says 4.',
    ),
  ),
  'params-mlp-8x': ofCount(
    { ...BLOCK, d_ff: 512 },
    '65,536 in a block of 82,176',
    (t) => `${text(mlp(t))} in a block of ${text(block(t))}`,
  ),
  'params-norms': ofCount(PRESET, 256, (t) => count(t, 'norm')),
  'norms-free': ofTable(PRESET, (t) => {
    const share = count(t, 'norm') / block(t);
    return shown(share < 0.01, 'under 1 % of the block', `${(100 * share).toFixed(2)} % of the block`);
  }),
  'mlp-share': ofTable(PRESET, (t) =>
    misprint(
      '4 at the end, 2 in the text',
      same(2, mlp(t) / attention(t)),
      'Its list of things to notice follows the printed 65,536; its text, with 131,072 against 65,536, has it right.',
    ),
  ),
  'mlp-128': ofCount(WIDE, 131072, mlp),
  'attention-128': ofCount(WIDE, 65536, attention),
  'twelve-blocks': ofTable({ ...WIDE, n_layers: 12 }, (t) => {
    const share = mlp(t) / t.total;
    const right = share > 0.5 && mlp(t) === 12 * 131072;
    return shown(right, '1,572,864, over half', `${text(mlp(t))}, ${(100 * share).toFixed(1)} %`);
  }),
};
