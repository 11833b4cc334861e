// part_facts.js - facts about the part of the anatomy that is pointed at: its token, its value, the number that is
// explained first
import { maxIndex, sum } from 'd3-array';
import { blockPoint } from '../../../state/facts/hook_points.js';
import { following } from '../../../state/facts/token_probabilities.js';
import { label, percent, quoted } from '../../../text/format.js';
import { CARD } from '../../../text/parts_text.js';
import { headOf, layerOf } from './shown_lanes.js';

/** @typedef {import('./pointing.svelte.js').Part} Part */
/** @typedef {import('./shown_lanes.js').Shown} Shown */
/** @typedef {import('./shown_lanes.js').Frame} Frame */
/** @typedef {import('../../../../draw/strip_painter.js').Tensor} Tensor */
/**
 * @typedef {object} Facts
 * @property {string} of      whose it is
 * @property {string} value   '' where it is not known
 * @property {import('../explanation_table.js').Cell | null} cell  what Explain begins with
 */

const FIRST = 4; // numbers of a vector that are written

/**
 * A vector, of a head the part of that head.
 * @param {Tensor} tensor  [position, d] or [position, head, d_head]
 * @param {number} position
 * @param {{ head: number, heads: number }} of
 */
function vectorOf({ data, shape }, position, { head, heads }) {
  const width = data.length / shape[0];
  const row = data.subarray(position * width, (position + 1) * width);
  if (shape.length < 3) return { row, head: undefined };
  const own = Math.floor((head * shape[1]) / heads); // groups of heads share keys and values
  return { row: row.subarray(own * shape[2], (own + 1) * shape[2]), head: own };
}

/**
 * @param {string} at  its point
 * @param {Tensor | undefined} tensor
 * @param {number} position
 * @param {Shown} s
 * @returns {Pick<Facts, 'value' | 'cell'>}
 */
export function vectorFacts(at, tensor, position, s) {
  if (!tensor || position >= tensor.shape[0]) return { value: '', cell: null };
  const heads = s.engine.model?.config.nHeads ?? 1;
  const { row, head } = vectorOf(tensor, position, { head: headOf(s), heads });
  const index = row.reduce((best, x, i) => (Math.abs(x) > Math.abs(row[best]) ? i : best), 0);
  const vector = { length: Math.hypot(...row), index, most: row[index], first: Array.from(row.subarray(0, FIRST)) };
  return {
    value: `${head === undefined ? '' : CARD.headOf(head)}${CARD.vector(vector)}`,
    cell: { at, position, ...(head !== undefined && { head }), index },
  };
}

/** Weights of the head that is shown. @param {Part} part @param {Shown} s @param {Frame} frame @returns {Facts} */
function weightFacts({ name, lane, index }, s, frame) {
  const layer = layerOf(s),
    head = headOf(s),
    across = name === 'source',
    query = name === 'heads' ? s.text.cursor : frame.first + lane,
    rows = across ? s.attention.otherPatterns?.cross : s.attention.patterns,
    row = rows?.row(layer, head, query),
    token = (/** @type {number} */ i) => quotedAt(across ? s.text.sourceTokens : s.text.tokens, i),
    of = quotedAt(s.text.tokens, query);
  if (name === 'masked') return { of: CARD.pair(of, token(frame.first + index)), value: CARD.masked, cell: null };
  if (!row) return { of, value: '', cell: null };
  const end = name === 'early' ? frame.first : row.length;
  const most = maxIndex(row.subarray(0, end));
  const one = name === 'weight' || across,
    key = one ? index + (across ? (frame.cross?.from ?? 0) : frame.first) : most,
    at = `${blockPoint(s.engine.model?.config, layer)}.${across ? 'cross_attn' : 'attn'}.hook_pattern`,
    cell = { at, position: query, head, index: key };
  if (one) return { of: CARD.pair(of, token(key)), value: percent(row[key]), cell };
  const strongest = CARD.most(row[key], token(key));
  return { of, value: name === 'early' ? `${percent(sum(row.subarray(0, end)))}; ${strongest}` : strongest, cell };
}

/** The head's scores: of one token that may follow, or of the likeliest. @param {Part} part @param {Shown} s @returns {Facts} */
function nextFacts({ index }, s) {
  const candidate = candidateAt(s, index);
  const of = CARD.after(quotedAt(s.text.tokens, s.text.cursor));
  if (!candidate) return { of, value: '', cell: null };
  return {
    of: `${quoted(candidate)} ${of}`,
    value: CARD.next(candidate.model, candidate.logit),
    cell: { at: 'logits', position: s.text.cursor, index: candidate.id },
  };
}

const quotedAt = (/** @type {import('../../../state/store/state.js').Token[]} */ tokens, /** @type {number} */ i) =>
  tokens[i] ? quoted(tokens[i]) : '';

/**
 * Whose the part is and what is known of it without asking the engine; a vector is what `tensor` has of it.
 * @param {Part} part
 * @param {Shown} s
 * @param {Frame} frame
 * @param {{ at: string, tensor: Tensor | undefined }} captured  of its stage
 * @returns {Facts}
 */
export function factsOf(part, s, frame, { at, tensor }) {
  const { name } = part;
  if (['weight', 'early', 'masked', 'heads', 'source'].includes(name)) return weightFacts(part, s, frame);
  if (name === 'next' || name === 'logits') return nextFacts(part, s);
  const position = name === 'encoder' ? s.text.sourceCursor : frame.first + part.lane;
  const tokens = name === 'encoder' ? s.text.sourceTokens : s.text.tokens;
  const of = tokens[position] ? CARD.of(quoted(tokens[position])) : '';
  if (name === 'token' && of)
    return { of: label(tokens[position]), value: CARD.token(tokens[position].id, position), cell: null };
  return { of, ...vectorFacts(at, tensor, position, s) };
}

/** The word that a press on a next token continues with. @param {Shown} s @param {number} index */
export function candidateAt(s, index) {
  const candidate = following(s, index + 1)?.candidates[index];
  return candidate && { ...candidate, text: candidate.text || s.text.words.get(candidate.id) || '' };
}
