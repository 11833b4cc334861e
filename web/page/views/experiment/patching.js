// patching.js - activation patching: which activation of one prompt, put into the pass over another, restores the first
// prompt's answer
//
// The clean prompt and the corrupted one have equally many tokens. Each cell is one pass over the corrupted prompt in
// which the activation of one layer at one position is replaced by that of the clean pass. Measured is the difference of
// the two answers' logits after the last token, 0 as in the corrupted pass, 1 as in the clean one. (Meng et al. 2022;
// Wang et al. 2022.)
import { blockPoint } from '../../state/points.js';

/** @typedef {'resid' | 'attn' | 'ffn'} Place */

/**
 * The activations that can be patched, by what a visitor chooses.
 * @type {Record<Place, string>}
 */
const POINTS = { resid: 'hook_resid_pre', attn: 'hook_attn_out', ffn: 'hook_mlp_out' };

/**
 * @param {any} config
 * @param {number} layer
 * @param {Place} place
 */
export const patchPoint = (config, layer, place) => `${blockPoint(config, layer)}.${POINTS[place]}`;

/**
 * The first position whose tokens differ: activations before it are equal, so patching them changes nothing.
 * @param {number[]} clean
 * @param {number[]} corrupted
 */
export function firstDifference(clean, corrupted) {
  let at = 0;
  while (at < clean.length && clean[at] === corrupted[at]) at++;
  return at;
}

/**
 * How far a pass is on the way from the corrupted to the clean one.
 * @param {{ clean: number, corrupted: number, patched: number }} differences  of the two answers' logits
 */
export const restored = ({ clean, corrupted, patched }) => (patched - corrupted) / (clean - corrupted);

/** @typedef {{ layer: number, position: number, restored: number }} Cell */
/**
 * @typedef {object} Setup
 * @property {number[]} clean       ids of the clean prompt
 * @property {number[]} corrupted   as many
 * @property {Place} place
 * @property {{ clean: number, corrupted: number }} answers  ids of the two answers
 */

/**
 * Patch every layer and position, the last position first.
 * @param {(ids: number[], options: { capture?: string[], edits?: any[] }) => Promise<{ logits: any, captured: any }>}
 *   forward
 * @param {any} config
 * @param {Setup} setup
 * @returns {AsyncGenerator<Cell>}
 */
export async function* patchCells(forward, config, { clean, corrupted, place, answers }) {
  const points = Array.from({ length: config.nLayers }, (_, layer) => patchPoint(config, layer, place));
  const source = await forward(clean, { capture: points });
  const difference = (/** @type {{ data: Float32Array, shape: number[] }} */ { data, shape: [n, size] }) =>
    data[(n - 1) * size + answers.clean] - data[(n - 1) * size + answers.corrupted];
  const ends = {
    clean: difference(source.logits),
    corrupted: difference((await forward(corrupted, {})).logits),
  };
  const first = firstDifference(clean, corrupted);
  for (let position = clean.length - 1; position >= first; position--)
    for (let layer = 0; layer < points.length; layer++) {
      const { data, shape } = source.captured[points[layer]];
      const set = data.slice(position * shape[1], (position + 1) * shape[1]);
      const { logits } = await forward(corrupted, { edits: [{ at: points[layer], position, set }] });
      yield { layer, position, restored: restored({ ...ends, patched: difference(logits) }) };
    }
}
