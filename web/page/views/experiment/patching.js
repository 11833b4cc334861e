// patching.js - activation patching: which activation of one prompt, put into the pass over another, restores the first
// prompt's answer
//
// The clean prompt and the corrupted one have equally many tokens. Each cell is one pass over the corrupted prompt in
// which the activation of one layer at one position is replaced by that of the clean pass. Measured is the difference of
// the two answers' logits after the last token, 0 as in the corrupted pass, 1 as in the clean one. (Meng et al. 2022;
// Wang et al. 2022.)
import { blockPoint } from '../../state/facts/hook_points.js';

/** @typedef {'resid' | 'attn' | 'ffn'} Place */

/**
 * The activations that can be patched, by what a visitor chooses.
 * @type {Record<Place, string>}
 */
const POINTS = { resid: 'hook_resid_pre', attn: 'hook_attn_out', ffn: 'hook_mlp_out' };

/**
 * The first position whose tokens differ, -1 for none: activations before it are equal, patching them changes nothing.
 * @param {number[]} clean
 * @param {number[]} corrupted
 */
export const firstDifference = (clean, corrupted) => clean.findIndex((id, i) => id !== corrupted[i]);

/**
 * Patch every layer and position, the last position first. restored: how far the pass is on the way to the clean one.
 * @param {(ids: number[], options: { capture?: string[], edits?: any[] }) => Promise<{ logits: any, captured: any }>}
 *   forward
 * @param {any} config
 * @param {{ clean: number[], corrupted: number[], place: Place, answers: { clean: number, corrupted: number } }} setup  ids
 *   of both prompts, as many, and of their answers
 * @returns {AsyncGenerator<{ layer: number, position: number, restored: number }>}
 */
export async function* patchCells(forward, config, { clean, corrupted, place, answers }) {
  const points = Array.from({ length: config.nLayers }, (_, layer) => `${blockPoint(config, layer)}.${POINTS[place]}`);
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
      const restored = (difference(logits) - ends.corrupted) / (ends.clean - ends.corrupted);
      yield { layer, position, restored };
    }
}
