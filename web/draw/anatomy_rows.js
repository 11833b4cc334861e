// anatomy_rows.js - the rows of the tall picture of a forward pass (anatomy_tall.js), from top to bottom
import { BARS } from './anatomy.js';
import { lastOfBlock, orderOf } from './anatomy_lanes.js';

export const CAPTION = 26; // of a caption's row, which is a button
export const GAP = 20; // between values and the next caption: ribbons
export const NAME = 16; // of the block's name, below its last row
const LABEL = 18; // of the row of tokens
export const BAR = 22; // of a row of the next token
/** Height of the values of a stage. @type {Record<string, number>} */
const HEIGHT = {
  embed: 16,
  before: 16,
  norm1: 6,
  qkv: 14,
  out: 16,
  added: 16,
  norm2: 6,
  post1: 6,
  post2: 6,
  ffn: 24,
  resid: 16,
  more: 16,
  final: 6,
};
/**
 * The rows from top to bottom.
 * @param {import('./anatomy.js').Parts} parts
 * @param {number} width
 * @param {Record<string, number>} cardHeights
 */
export function rowsOf(parts, width, cardHeights) {
  /** Of values, below their captions. @type {Record<string, import('./anatomy_lanes.js').Slot>} */
  const rows = {};
  /** @type {Record<string, number>} */
  const cards = {};
  /** @type {import('./anatomy.js').Caption[]} */
  const captions = [];
  const last = lastOfBlock(parts);
  let y = LABEL;
  for (const id of orderOf(parts)) {
    const skipped = id === 'embed' && parts.stages.includes('before'); // its values are not drawn
    captions.push({
      id,
      x: 10,
      y: y + 18,
      anchor: 'start',
      small: false,
      sub: { x: width - 10, y: y + 18, anchor: 'end' },
      back: { x: 3, y: y + 2, width: width - 6, height: CAPTION - 3 },
      leader: null,
    });
    y += CAPTION;
    if (skipped) continue;
    if (id === 'head') {
      y += GAP + BARS * BAR;
    } else if (id === 'encoder') {
      y += GAP;
    } else if (id in cardHeights) {
      cards[id] = y + 14;
      y += 14 + cardHeights[id] + GAP;
      if (id === 'cross') {
        rows.added = { at: y + 4, length: HEIGHT.added };
        y += 4 + HEIGHT.added + GAP;
      }
    } else {
      rows[id === 'before' ? 'embed' : id] = { at: y, length: HEIGHT[id] };
      y += HEIGHT[id] + GAP + (id === last ? NAME : 0);
    }
  }
  if (!rows.norm2 && rows.ffn) rows.norm2 = { at: rows.ffn.at - CAPTION - 8, length: HEIGHT.norm2 }; // shared with norm1
  return { rows, captions, cards, height: y };
}
