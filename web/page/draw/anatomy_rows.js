// anatomy_rows.js - the rows of the tall picture of a forward pass (anatomy_tall.js), from top to bottom
import { BARS } from './anatomy.js';

/** @typedef {{ y: number, height: number }} Row  of values, below its caption */

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
  ffn: 24,
  resid: 16,
  more: 16,
  final: 6,
};
/** Order of the rows with norms before and after their sublayer. */
const PRE = [
  'embed',
  'before',
  'norm1',
  'qkv',
  'heads',
  'out',
  'encoder',
  'cross',
  'norm2',
  'ffn',
  'resid',
  'more',
  'final',
  'head',
];
const POST = [
  'embed',
  'before',
  'qkv',
  'heads',
  'out',
  'norm1',
  'encoder',
  'cross',
  'ffn',
  'resid',
  'norm2',
  'more',
  'final',
  'head',
];

/**
 * The rows from top to bottom.
 * @param {string[]} stages
 * @param {boolean} post
 * @param {number} width
 * @param {Record<string, number>} cardHeights
 */
export function rowsOf(stages, post, width, cardHeights) {
  /** @type {Record<string, Row>} */
  const rows = {};
  /** @type {Record<string, number>} */
  const cards = {};
  /** @type {import('./anatomy.js').Caption[]} */
  const captions = [];
  let y = LABEL;
  for (const id of (post ? POST : PRE).filter((name) => stages.includes(name))) {
    const skipped = id === 'embed' && stages.includes('before'); // its values are not drawn
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
        rows.added = { y: y + 4, height: HEIGHT.added };
        y += 4 + HEIGHT.added + GAP;
      }
    } else {
      rows[id === 'before' ? 'embed' : id] = { y, height: HEIGHT[id] };
      y += HEIGHT[id] + GAP + (id === (post && stages.includes('norm2') ? 'norm2' : 'resid') ? NAME : 0);
    }
  }
  return { rows, captions, cards, height: y };
}
