// position_picture.js - positions as numbers for a picture: rows that are added to the embedding, pairs of a query that
// are turned, or a bias that is added to the scores
import {
  addsPositions,
  hasAlibi,
  hasDistanceBias,
  hasTwoStacks,
  rotaryDim,
  rotaryHeads,
  rotates,
} from '../../../state/facts/architecture.js';
import { blockPoint } from '../../../state/facts/hook_points.js';

/** @typedef {import('../../../../draw/strip_painter.js').Tensor} Tensor */
/**
 * @typedef {object} PositionPicture
 * @property {'table' | 'turns' | 'bias'} kind
 * @property {number[][]} curves   table: product of the chosen row with each row, as a share of that with itself; turns:
 *   product of a vector with itself, that many positions away, the same; bias: of each head, that many keys back
 * @property {{data: Float32Array, width: number}} [table]  [position, width]
 * @property {Dial[]} [dials]
 */
/** @typedef {{pair: number, speed: number, from: number, to: number}} Dial  radians: each position, before, after */

const [ROWS, COLUMNS, AWAY, DIALS] = [50, 64, 64, 8];

/**
 * What the stage shows of positions, or null.
 * @param {string} stage
 * @param {Record<string, any>} c  configuration
 * @param {number} layer
 * @returns {PositionPicture['kind'] | null}
 */
export function positionKindAt(stage, c, layer) {
  if (stage === 'embed' && addsPositions(c)) return 'table';
  if (stage === 'qkv' && rotates(c, layer) && !c.qkNorm) return 'turns';
  return stage === 'heads' && (hasAlibi(c) || hasDistanceBias(c)) && !c.scoreSoftcap ? 'bias' : null;
}

/** @param {Float32Array} data  [n, d] @param {number} d @param {number} row */
function products(data, d, row) {
  const product = (/** @type {number} */ other) => {
    let sum = 0;
    for (let j = 0; j < d; j++) sum += data[row * d + j] * data[other * d + j];
    return sum;
  };
  const own = product(row);
  return Array.from({ length: data.length / d }, (_, other) => product(other) / own);
}

/**
 * What the model adds at its positions, the first 50 or up to the chosen one.
 * @param {Reading} from
 * @param {number} position
 * @returns {Promise<PositionPicture>}
 */
async function tablePicture({ model: { config: c }, forward }, position) {
  const n = Math.min(c.contextLength, Math.max(ROWS, position + 1)),
    point = `${hasTwoStacks(c) ? 'decoder.' : ''}hook_pos_embed`;
  const { captured } = await forward(Array(n).fill(0), { capture: [point] });
  const {
    data: all,
    shape: [, d],
  } = captured[point];
  const width = Math.min(d, COLUMNS);
  const data = Float32Array.from({ length: n * width }, (_, at) => all[Math.floor(at / width) * d + (at % width)]);
  return { kind: 'table', curves: [products(all, d, position)], table: { data, width } };
}

/**
 * Angles of the pairs at a position, from queries before and after the rotation, all heads that rotate together.
 * @param {Tensor} q  [position, head, d_head]
 * @param {Tensor} rotated
 * @param {number} position
 * @param {{half: boolean, pairs: number, turning: number}} how  half: pair i is i and i + pairs, otherwise neighbours;
 *   turning: heads that rotate, the first ones
 */
export function anglesOf(q, rotated, position, { half, pairs, turning }) {
  const [, heads, d] = q.shape;
  return Array.from({ length: pairs }, (_, i) => {
    const [a, b] = half ? [i, i + pairs] : [2 * i, 2 * i + 1];
    let cosine = 0,
      sine = 0;
    for (let h = 0; h < turning; h++) {
      const at = (position * heads + h) * d;
      const [x, y, u, v] = [q.data[at + a], q.data[at + b], rotated.data[at + a], rotated.data[at + b]];
      cosine += x * u + y * v;
      sine += x * v - y * u;
    }
    return Math.atan2(sine, cosine);
  });
}

/**
 * Pairs of the head's query before and after the rotation. A pair turns by its speed, its angle at position 1.
 * @param {{q: Tensor, rotated: Tensor}} values
 * @param {Record<string, any>} c
 * @param {{position: number, head: number}} at
 * @returns {PositionPicture}
 */
function turnsPicture({ q, rotated }, c, { position, head }) {
  const pairs = rotaryDim(c) / 2,
    half = c.ropePairs === 'half',
    how = { half, pairs, turning: rotaryHeads(c) },
    [, heads, d] = q.shape;
  const speeds = q.shape[0] > 1 ? anglesOf(q, rotated, 1, how) : [];
  const angles = anglesOf(q, rotated, position, how);
  const count = Math.min(DIALS, pairs);
  const dials = Array.from({ length: count }, (_, k) => {
    const i = Math.floor((k * pairs) / count),
      at = (position * heads + head) * d,
      [a, b] = half ? [i, i + pairs] : [2 * i, 2 * i + 1];
    const from = Math.atan2(q.data[at + b], q.data[at + a]);
    return { pair: i, speed: speeds[i], from, to: from + angles[i] };
  });
  const alike = Array.from(
    { length: speeds.length ? AWAY : 0 },
    (_, k) => speeds.reduce((sum, speed) => sum + Math.cos(k * speed), 0) / pairs,
  );
  return { kind: 'turns', curves: [alike], dials };
}

/**
 * What is added to the scores of a query, for each head: from its own key back.
 * @param {Tensor} scores  [head, query, key]
 * @param {Tensor} scaled  before it is added
 * @param {number} query
 */
export function biasesOf(scores, scaled, query) {
  const [heads, queries, keys] = scores.shape;
  return Array.from({ length: heads }, (_, h) => {
    const at = (h * queries + query) * keys + query;
    return Array.from({ length: query + 1 }, (__, back) => scores.data[at - back] - scaled.data[at - back]);
  });
}

/**
 * @typedef {{ model: any } & Pick<import('../../../state/calls/page_calls.js').Calls, 'values' | 'forward'>} Reading  the loaded model,
 *   the present text's values, a pass
 * @param {Reading} from
 * @param {PositionPicture['kind']} kind
 * @param {{ layer: number, position: number, head: number }} at
 * @returns {Promise<PositionPicture | null>}  null: the values are not there, or the head does not rotate
 */
export async function positionPicture(from, kind, at) {
  const { config: c } = from.model;
  if (kind === 'turns' && at.head >= rotaryHeads(c)) return null;
  if (kind === 'table') return tablePicture(from, at.position);
  const block = `${blockPoint(c, at.layer)}.attn.hook_`;
  const names = (kind === 'turns' ? ['q', 'rot_q'] : ['attn_scores', 'attn_scores_scaled']).map((n) => block + n);
  const found = await from.values(names);
  const [one, other] = names.map((name) => found[name]);
  if (!one || !other || at.position >= one.shape[kind === 'turns' ? 0 : 1]) return null;
  if (kind === 'turns') return turnsPicture({ q: one, rotated: other }, c, at);
  return { kind, curves: biasesOf(one, other, at.position) };
}
