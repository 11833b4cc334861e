// anatomy_tall.js - the picture of a forward pass for narrow screens, whose lanes run from top to bottom, in px of the
// screen. Each stage is a row: its caption over the whole width, below it its values, a strip for each lane.
import { BARS, KEYS, LEAST_TYPE, stackOf } from './anatomy_geometry.js';
import { NORMS, lanesOf, lastOfBlock, orderOf } from './anatomy_lanes.js';

const MOST = 9; // lanes
const PITCH = 62; // of a lane, at least
const WORD = 104; // of a row of the next token: its words, px
const NUMBER = 62; // and its numbers
const CAPTION = 26; // of a caption's row, which is a button
const GAP = 20; // between values and the next caption: ribbons
const NAME = 16; // of the block's name, below its last row
const LABEL = 18; // of the row of tokens
const BAR = 22; // of a row of the next token
/** Height of the values of a stage. @param {string} id */
const heightOf = (id) => (NORMS.includes(id) ? 6 : id === 'ffn' ? 24 : 16);

/** How many lanes fit. @param {number} width px */
export const lanesFor = (width) => Math.max(4, Math.min(MOST, Math.floor((width - 8) / PITCH)));

/**
 * @param {import('./anatomy_geometry.js').Parts} parts
 * @param {number} width px
 * @returns {import('./anatomy_geometry.js').Picture}
 */
export function tallPicture(parts, width) {
  const { stages, heads } = parts;
  const count = lanesFor(width);
  const pitch = (width - 8) / count;
  const step = Math.min(24, (width - 120) / (count + 1));
  const crossStep = Math.min(step, (width - 60) / KEYS);
  const card = 44 + count * step + 30;
  const { rows, captions, height, cards } = rowsOf(parts, width, { heads: card, cross: 42 + count * crossStep + 26 });
  const top = Math.min(rows.norm1?.at ?? rows.qkv.at, rows.qkv.at);
  const first = { x: 10, y: cards.heads, width: width - 44 - count * 6, height: card }; // values pass to its right
  const middle = first.x + first.width / 2;
  const last = rows[lastOfBlock(parts)];
  const bottom = last.at + last.length + NAME;
  const [at, full, thin] = [height - BARS * BAR, Math.min(46, pitch - 14), Math.min(16, (pitch - 12) / 3)];
  const xOf = (/** @type {number} */ lane) => 4 + pitch * (lane + 0.5);
  return {
    width,
    height,
    tall: true,
    letters: Math.floor(pitch / 6.6),
    words: 12,
    type: LEAST_TYPE,
    block: { x: 1, y: top - CAPTION - 6, width: width - 2, height: bottom + 8 - top + CAPTION },
    blockName: { x: width - 10, y: bottom - 3, anchor: 'end' },
    ...lanesOf({
      ...{ tall: true, count, parts, slots: rows, middle: xOf },
      label: (lane) => ({ x: xOf(lane), y: 13, anchor: 'middle' }),
      thick: { flow: 18, full, thin, ffn: Math.min(58, pitch - 6), resid: full * 0.7 },
      aside: { stream: full / 2 + 4, value: thin + 2, beside: pitch / 2 - 3 },
      norm: [-12, 12],
      card: {
        from: cards.heads,
        to: cards.heads + card,
        q: (lane) => 30 + lane * 7,
        k: (lane) => width / 2 + (lane - count / 2) * 6,
        v: (lane) => width - 6 - (count - 1 - lane) * 6,
      },
      cross: { at: cards.cross, out: [(rows.added?.at ?? 0) - GAP - 4, width / 2] },
      head: (lane) => [at, WORD + 8 + lane * 4],
    }),
    card: {
      stack: stackOf(first, Math.min(4, heads), 4, 3),
      queries: { x: first.x + 10, y: first.y + 30, anchor: 'start' },
      keys: { x: middle, y: first.y + 46 + count * step, anchor: 'middle' },
      name: { x: first.x + 10, y: first.y + card - 8, anchor: 'start' },
      dots: { x: middle - ((count - 2) / 2) * step, y: first.y + 44 },
      step,
      radius: step * 0.36,
    },
    cross: stages.includes('cross') ? crossCard(cards.cross, count, width, Math.min(3, heads), crossStep) : null,
    captions,
    bars: Array.from({ length: stages.includes('head') ? BARS : 0 }, (_, i) => ({
      at: { x: WORD + 8, y: at + i * BAR + 11 },
      word: { x: WORD, y: at + i * BAR + 15, anchor: 'end' },
      bar: { x: WORD + 8, y: at + i * BAR + 5, width: width - WORD - 8 - NUMBER, height: 12 },
      number: { x: WORD + 14, y: at + i * BAR + 15 },
    })),
    leader: () => '',
  };
}

/**
 * The card of cross-attention: queries from the lanes above, keys and values from the encoder's caption.
 * @param {number} y
 * @param {number} count
 * @param {number} width
 * @param {number} heads
 * @param {number} step
 */
function crossCard(y, count, width, heads, step) {
  const box = { x: 2, y: y - 14 - 2 * CAPTION - GAP + 1, width: width - 4, height: CAPTION };
  const ribbon = (/** @type {string} */ hue, /** @type {number} */ x) => ({
    hue,
    d: `M${x - 9} ${box.y + box.height}V${y}H${x + 9}V${box.y + box.height}Z`,
  });
  return {
    stack: stackOf({ x: 16, y, width: width - 40, height: 42 + count * step + 26 }, heads, 4, 3),
    queries: { x: 26, y: y + 20, anchor: /** @type {const} */ ('start') },
    keys: { x: width / 2, y: y + 46 + count * step, anchor: /** @type {const} */ ('middle') },
    dots: { x: width / 2 - 8 - ((KEYS - 1) / 2) * step, y: y + 42 },
    step,
    radius: step * 0.36,
    box,
    ribbons: [ribbon('k', width - 90), ribbon('v', width - 55)],
  };
}

/**
 * The rows from top to bottom.
 * @param {import('./anatomy_geometry.js').Parts} parts
 * @param {number} width
 * @param {Record<string, number>} cardHeights
 */
function rowsOf(parts, width, cardHeights) {
  /** Rows of values, below their captions. @type {Record<string, import('./anatomy_lanes.js').Slot>} */
  const rows = {};
  /** @type {Record<string, number>} */
  const cards = {};
  /** @type {import('./anatomy_geometry.js').Caption[]} */
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
        rows.added = { at: y + 4, length: heightOf('added') };
        y += 4 + heightOf('added') + GAP;
      }
    } else {
      rows[id === 'before' ? 'embed' : id] = { at: y, length: heightOf(id) };
      y += heightOf(id) + GAP + (id === last ? NAME : 0);
    }
  }
  if (!rows.norm2 && rows.ffn) rows.norm2 = { at: rows.ffn.at - CAPTION - 8, length: heightOf('norm2') }; // shared with norm1
  return { rows, captions, cards, height: y };
}
