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
  post1: 6,
  post2: 6,
  ffn: 24,
  resid: 16,
  more: 16,
  final: 6,
};
/**
 * Order of the rows, by where the norms are. The values of `out` are those that are added: norms of outputs stand before
 * them.
 * @param {import('./anatomy.js').Parts['placement']} placement
 */
function orderOf(placement) {
  const at = (/** @type {string} */ place, /** @type {string} */ id) => (place === placement ? [id] : []);
  const before = placement === 'pre' || placement === 'sandwich';
  return [
    ...['embed', 'before', ...(before ? ['norm1'] : []), 'qkv', 'heads'],
    ...[...at('sandwich', 'post1'), ...at('output', 'norm1'), 'out', ...at('post', 'norm1'), 'encoder', 'cross'],
    ...[...(before ? ['norm2'] : []), 'ffn', ...at('sandwich', 'post2'), ...at('output', 'norm2'), 'resid'],
    ...[...at('post', 'norm2'), 'more', 'final', 'head'],
  ];
}

/**
 * Rows of values in the order in which a token passes them: up to the heads, from them to the end of the block, and
 * after it.
 * @typedef {{ attention: string[], block: string[], rest: string[] }} Ways
 * @param {string[]} order
 * @param {string} last  row of the block
 * @returns {Ways}
 */
function waysOf(order, last) {
  const ids = order
    .filter((id) => !['heads', 'encoder', 'head'].includes(id) && !(id === 'embed' && order.includes('before')))
    .map((id) => (id === 'before' ? 'embed' : id === 'cross' ? 'added' : id));
  const [heads, end] = [ids.indexOf('qkv') + 1, ids.indexOf(last)];
  return { attention: ids.slice(0, heads), block: ids.slice(heads, end + 1), rest: ids.slice(end) };
}

/**
 * The rows from top to bottom.
 * @param {import('./anatomy.js').Parts} parts
 * @param {number} width
 * @param {Record<string, number>} cardHeights
 */
export function rowsOf({ stages, placement }, width, cardHeights) {
  /** @type {Record<string, Row>} */
  const rows = {};
  /** @type {Record<string, number>} */
  const cards = {};
  /** @type {import('./anatomy.js').Caption[]} */
  const captions = [];
  const order = orderOf(placement).filter((name) => stages.includes(name));
  const last = placement === 'post' && stages.includes('norm2') ? 'norm2' : 'resid'; // of the block
  let y = LABEL;
  for (const id of order) {
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
      y += HEIGHT[id] + GAP + (id === last ? NAME : 0);
    }
  }
  return { rows, ways: waysOf(order, last), captions, cards, height: y };
}
