// anatomy_columns.js - the columns of the wide picture of a forward pass (anatomy_wide.js), from left to right

/** @typedef {import('./anatomy.js').Parts} Parts */

export const LANES = 9;
export const Y0 = 104; // first lane
export const PITCH = 34;
export const STEP = 15.5; // of the pattern
export const BOTTOM = Y0 + (LANES - 1) * PITCH + 46;
const ACROSS = 300; // what cross-attention takes, between the heads and the FFN
const OUTPUT_NORM = 26; // what a norm of an output takes, before the output
export const CROSS_W = 152;
/** @type {Record<string, number>} */
const LEFT = {
  label: 104,
  embed: 114,
  norm1: 204,
  qkv: 262,
  card: 424,
  out: 756,
  norm2: 838,
  ffn: 898,
  resid: 990,
  more: 1074,
  final: 1150,
  bars: 1256,
};
const AFTER_FFN = ['resid', 'more', 'final', 'bars'];
const AFTER_CROSS = ['norm2', 'ffn', ...AFTER_FFN];
/** @type {Record<string, number>} */
export const WIDTH = {
  added: 44,
  embed: 44,
  norm1: 8,
  qkv: 32,
  card: 196,
  out: 44,
  norm2: 8,
  ffn: 56,
  resid: 28,
  more: 44,
  final: 8,
};

/**
 * Where each column begins, and how much wider the picture is than with an FFN, without cross-attention and norms of
 * outputs.
 * @param {Parts} parts
 */
export function columnsOf({ stages, placement }) {
  /** @type {Record<string, number>} */
  const X = { ...LEFT, cross: 880, added: 1092 };
  const move = (/** @type {string[]} */ names, /** @type {number} */ by) => {
    for (const name of names) X[name] += by;
    return by;
  };
  const outputs = placement === 'sandwich' || placement === 'output';
  const more =
    move(AFTER_CROSS, stages.includes('cross') ? ACROSS : 0) +
    move(['out', ...AFTER_CROSS], outputs ? OUTPUT_NORM : 0) +
    move(AFTER_FFN, stages.includes('ffn') ? 0 : LEFT.norm2 - LEFT.resid) +
    move(AFTER_FFN, outputs ? 2 * OUTPUT_NORM : 0);
  return { X, more };
}

/**
 * Left edge of each norm: before what reads it, after the sum, or before the output is added.
 * @param {Record<string, number>} X
 * @param {Parts} parts
 * @returns {Record<string, number>}
 */
export function placesOfNorms(X, { placement }) {
  const after = (/** @type {string} */ name) => X[name] + WIDTH[name] + 8;
  const [post1, post2] = [X.out - 16, X.resid - 22];
  if (placement === 'post') return { norm1: after('out'), norm2: after('resid') };
  return placement === 'output' ? { norm1: post1, norm2: post2 } : { norm1: X.norm1, norm2: X.norm2, post1, post2 };
}

/**
 * Captions stand above the lanes; those of norms and of the stream below, with a dotted line.
 * @param {string} id
 * @param {Record<string, number>} X
 * @param {Parts} parts
 * @returns {import('./anatomy.js').Caption}
 */
export function captionOf(id, X, parts) {
  const { placement, stages } = parts;
  const first = stages.includes('before'); // then the embedding is not drawn, the blocks before are
  const post = placement === 'post';
  const norms = placesOfNorms(X, parts);
  const middle = (/** @type {string} */ name) => X[name] + WIDTH[name] / 2;
  const x =
    {
      embed: first ? X.embed - 10 : middle('embed'),
      before: middle('embed'),
      norm1: norms.norm1 + (post ? 6 : 4),
      post1: norms.post1 + 4,
      post2: norms.post2 - 10,
      qkv: middle('qkv'),
      heads: middle('card') + 10,
      out: middle('out'),
      norm2: norms.norm2 + (post ? 34 : placement === 'output' ? -10 : 4),
      ffn: middle('ffn'),
      resid: middle('resid') + (post ? (stages.includes('ffn') ? -26 : 26) : placement === 'pre' ? 0 : 22),
      more: middle('more'),
      final: middle('final'),
      head: X.bars + 30,
      cross: X.cross + CROSS_W / 2 + 8,
      encoder: X.cross + CROSS_W / 2,
    }[id] ?? 0;
  const small = ['norm1', 'norm2', 'post1', 'post2', 'final', 'resid'].includes(id) || (id === 'embed' && first);
  const y = id === 'encoder' ? 394 : small ? BOTTOM + 34 : 24;
  return {
    id,
    x,
    y,
    anchor: 'middle',
    small,
    sub: { x, y: y + 17, anchor: 'middle' },
    back: { x: x - 32, y: y - 16, width: 64, height: 40 }, // as wide as the words, see Captions.svelte
    leader: small ? { x: id === 'embed' ? X.embed + 10 : x, y: y - 14 } : null,
  };
}
