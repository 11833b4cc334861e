// tensor_shapes.js - the shape that a tensor of a file has for the weights that it fills, and what brings it into the
// order that the engine reads
import { fail } from '../../base/errors.js';

/** @import { Config } from './config.js' */
/** @import { Entry, Place } from './tensor_plan.js' */

/**
 * A shape in messages: [768, 2304].
 * @param {number[]} shape
 */
export const shapeText = (shape) => `[${shape.join(', ')}]`;

/**
 * Whether a tensor has the shape of a weight. It may have more dimensions of 1 before it, as a table of positions that
 * is added to a batch.
 * @param {number[]} shape
 * @param {number[]} expected
 */
const sameShape = (shape, expected) => {
  const more = shape.length - expected.length;
  return more >= 0 && shape.every((n, i) => n === (i < more ? 1 : expected[i - more]));
};

/**
 * The shape of a tensor in which weights are stacked by rows.
 * @param {number[][]} shapes  of the weights
 * @param {NonNullable<Place['layout']>} layout
 */
function stackedShape(shapes, layout) {
  const rows = shapes.reduce((n, s) => n + s[0], 0);
  const whole = [rows, ...shapes[0].slice(1)];
  return layout === 'cols' ? whole.reverse() : whole;
}

/** The norm of q or k of a single head: those of all heads may be the rows of one tensor. */
const GAIN_OF_HEAD = /_norm\.\d+\.(weight|bias)$/;
const ATTENTION = /(^|[._])attn\.[qkvo]\.(weight|bias)$/;

/**
 * The order of the axes of a weight of attention whose heads have an axis of their own, so that the weight becomes
 * [out, in]. Matrices [in, out] have the heads before it: [heads, in, d_head] and [heads, d_head, out], or behind their
 * input: [in, heads, d_head]. Matrices [out, in] have [heads, d_head, in] and [out, heads, d_head]. Biases have
 * [heads, d_head].
 * @param {number[]} shape  in the file
 * @param {number[]} weight  [out, in]
 * @param {Place} place
 * @param {number} width  of a head
 * @returns {number[] | null} null where it is no such weight
 */
function headAxes(shape, weight, { covers, layout }, width) {
  const [name] = covers;
  if (covers.length > 1 || !ATTENTION.test(name) || shape.length !== weight.length + 1) return null;
  const is = (/** @type {number[]} */ ...want) => shape.every((n, i) => n === want[i]);
  if (weight.length === 1) return is(weight[0] / width, width) ? [0, 1] : null;
  const [out, cols] = weight;
  if (name.includes('attn.o.')) {
    if (layout === 'cols') return is(cols / width, width, out) ? [2, 0, 1] : null;
    return is(out, cols / width, width) ? [0, 1, 2] : null;
  }
  const heads = out / width;
  if (layout !== 'cols') return is(heads, width, cols) ? [0, 1, 2] : null;
  return is(heads, cols, width) ? [0, 2, 1] : is(cols, heads, width) ? [1, 2, 0] : null;
}

/**
 * The rows of a fused q, k and v in the order that the engine reads, where the file has them group by group: the
 * queries of a kv head, its key, its value (lit-gpt, Falcon).
 * @param {number[]} rows  of q, k and v
 * @param {number} width  of a head
 */
function rowsOfGroups([q, k], width) {
  const groups = k / width;
  const queries = q / k;
  const row = (/** @type {number} */ group, /** @type {number} */ part, /** @type {number} */ i) =>
    (group * (queries + 2) + part) * width + i;
  /** @type {number[]} */
  const rows = [];
  for (let part = 0; part < 3; part++)
    for (let group = 0; group < groups; group++)
      for (let head = 0; head < (part ? 1 : queries); head++)
        for (let i = 0; i < width; i++) rows.push(row(group, part ? queries + part - 1 : head, i));
  return rows;
}

/**
 * A tensor with the shape that it has for the weights that it fills. Throws where it has another one.
 * @param {Entry} e
 * @param {Place} place
 * @param {number[][]} parts  shapes of the weights
 * @param {Config} config
 * @param {string} at  for messages
 * @returns {Entry & {layout: NonNullable<Place['layout']>}}
 */
export function shaped(e, place, parts, config, at) {
  const { covers, layout = 'rows', row, experts, rowsOf } = place;
  const perExpert = parts.length / (experts ?? 1);
  const byHead = e.shape.length === 2 && GAIN_OF_HEAD.test(covers[0]);
  const stacked = stackedShape(parts.slice(0, perExpert), layout);
  const expected = byHead || row ? [parts.length, ...parts[0]] : experts ? [experts, ...stacked] : stacked;
  const isVector = expected.length === 2 && expected[0] === 1 && e.shape.length === 1; // a matrix of one row
  const inGroups = layout === 'heads' && parts.length === 3 && parts[1][0] !== parts[0][0];
  if (sameShape(isVector ? [1, ...e.shape] : e.shape, expected)) {
    const sizes = parts.map(([n]) => n);
    const rows = inGroups ? rowsOfGroups(sizes, config.d_head) : rowsOf?.(covers, expected[0], config);
    return rows ? { ...e, layout: 'rows', arrangement: { parts: [e], rows } } : { ...e, layout };
  }
  const axes = headAxes(e.shape, parts[0], place, config.d_head);
  if (!axes) return fail('bad-shape', `${at}: shape ${shapeText(e.shape)}, expected ${shapeText(expected)}`);
  const { parts: joined = [e] } = e.arrangement ?? {};
  return { ...e, shape: parts[0], layout: 'rows', arrangement: { parts: joined, shape: e.shape, axes } };
}
