// lesson_facts.js - the numbers of one token in one pass, for the sentences of the lesson
import { hasExperts } from '../../state/architecture.js';
import { blockPoint } from '../../state/points.js';

/** @typedef {{ data: Float32Array, shape: number[] }} Tensor */
/** @typedef {import('../../text/lesson.js').Facts} Facts */

/**
 * Points whose values the lesson tells, by name.
 * @param {any} config
 * @param {number} layer
 */
export function lessonPoints(config, layer) {
  const block = blockPoint(config, layer);
  const stack = config.kind === 'encoder_decoder' ? 'decoder.' : '';
  return {
    embed: `${stack}hook_embed`,
    pre: `${block}.hook_resid_pre`,
    normalized: `${block}.ln1.hook_normalized`,
    mid: `${block}.hook_resid_mid`,
    ...(hasExperts(config, layer) ? {} : { active: `${block}.mlp.hook_post` }),
    post: `${block}.hook_resid_post`,
    last: `${blockPoint(config, config.nLayers - 1)}.hook_resid_post`,
  };
}

/** @param {Tensor | undefined} tensor  [position, n] @param {number} position */
function rowOf(tensor, position) {
  if (!tensor) return null;
  const [n, size] = tensor.shape;
  return position < n ? tensor.data.subarray(position * size, (position + 1) * size) : null;
}

const norm = (/** @type {Float32Array | null} */ row) => row && Math.hypot(...row);

/**
 * @param {Record<string, Tensor>} captured  by point
 * @param {ReturnType<typeof lessonPoints>} points
 * @param {number} position
 * @returns {Pick<Facts, 'embedding' | 'norms' | 'active'>}
 */
export function valuesOf(captured, points, position) {
  const row = (/** @type {keyof typeof points} */ name) => rowOf(captured[points[name] ?? ''], position);
  const [embed, active] = [row('embed'), row('active')];
  return {
    embedding: embed && [Math.min(...embed), Math.max(...embed)],
    active: active && [active.reduce((n, x) => n + Number(x > 0), 0), active.length],
    norms: {
      pre: norm(row('pre')),
      normalized: norm(row('normalized')),
      mid: norm(row('mid')),
      post: norm(row('post')),
      last: norm(row('last')),
    },
  };
}

/**
 * The keys that get most of a row of attention weights.
 * @param {Float32Array | null} row
 * @param {{ id: number, text: string }[]} keys
 * @param {number} n  at most
 */
export function attendedMost(row, keys, n) {
  if (!row) return [];
  return [...row.keys()]
    .sort((a, b) => row[b] - row[a])
    .slice(0, n)
    .map((at) => ({ id: keys[at].id, text: keys[at].text, weight: row[at] }));
}
