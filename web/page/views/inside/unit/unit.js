// unit.js - one neuron or head of the model: where it responds most strongly, and which tokens its output makes likelier
import { patternAt } from '../../../state/points.js';

/** @typedef {import('../../../state/switches.js').Part} Part */
/** @typedef {import('glassformer').Tensor} Tensor */
/** A place where it responds. key: of a head, what it takes most from.
 * @typedef {{ value: number, passage: number, position: number, key?: number }} Response */

const RESPONSES = 8;
const TOKENS = 8;
const OFTEN = 2; // responses at the same token, at most

/** The point that shows how strongly it responds. @param {Part} part */
export const responsePoint = ({ edit }) => (edit.head === undefined ? edit.at : patternAt(edit.at));

/**
 * How strongly it responds at each position of a passage: a neuron's activation, or the largest weight of a head, the
 * first token's left out, where heads look that have nothing to do.
 * @param {Part} part
 * @param {Tensor} tensor  at responsePoint
 * @returns {Omit<Response, 'passage'>[]}
 */
export function responsesOf({ edit: { head, index = 0 } }, { data, shape }) {
  if (head === undefined)
    return Array.from({ length: shape[0] }, (_, position) => ({ position, value: data[position * shape[1] + index] }));
  const [, queries, keys] = shape;
  return Array.from({ length: queries }, (_, position) => {
    const row = data.subarray((head * queries + position) * keys, (head * queries + position + 1) * keys);
    let key = Math.min(1, keys - 1);
    for (let k = key + 1; k < keys; k++) if (row[k] > row[key]) key = k;
    return { position, value: row[key], key };
  });
}

/**
 * The strongest responses, few at the same token.
 * @param {Response[]} all
 * @param {(of: Response) => string | number} tokenOf
 */
export function strongest(all, tokenOf) {
  /** @type {Map<string | number, number>} */
  const seen = new Map();
  return [...all]
    .sort((a, b) => b.value - a.value)
    .filter((one) => {
      const times = seen.get(tokenOf(one)) ?? 0;
      seen.set(tokenOf(one), times + 1);
      return times < OFTEN;
    })
    .slice(0, RESPONSES);
}

/**
 * What a unit adds to the stream: of a neuron its column of the down projection, of a head what it writes at the selected
 * token.
 * @param {Part} part
 * @param {any} api  the library's Model
 * @param {() => Promise<Tensor | undefined>} result  [position, head, d_model], of a head
 * @param {number} position
 * @returns {Promise<Float32Array | null>}
 */
export async function directionOf({ edit: { at, head, index = 0 } }, api, result, position) {
  if (head === undefined) {
    const { data, shape } = await api.matrix(at.replace('mlp.hook_post', 'ffn.down.weight'));
    return Float32Array.from({ length: shape[0] }, (_, row) => data[row * shape[1] + index]);
  }
  const tensor = await result();
  if (!tensor || position >= tensor.shape[0]) return null;
  const [, heads, width] = tensor.shape;
  return tensor.data.slice((position * heads + head) * width, (position * heads + head + 1) * width);
}

/**
 * What a direction of the stream does to every logit: half the difference between the logits of the direction alone and
 * of its opposite, which leaves out biases.
 * @param {Float32Array} direction
 * @param {(vector: Float32Array) => Promise<Float32Array>} logitsOf  of a stream that is this vector
 */
export async function logitsAlong(direction, logitsOf) {
  const [plus, minus] = [await logitsOf(direction), await logitsOf(direction.map((x) => -x))];
  return plus.map((x, id) => (x - minus[id]) / 2);
}

/**
 * The ends of a list of logits.
 * @param {Float32Array} logits
 */
export function endsOf(logits) {
  const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a]);
  const most = Math.max(Math.abs(logits[order[0]]), Math.abs(logits[order[order.length - 1]]), 1e-9);
  const named = (/** @type {number[]} */ ids) =>
    ids.map((id) => ({ id, logit: logits[id], share: Math.abs(logits[id]) / most }));
  return { promoted: named(order.slice(0, TOKENS)), suppressed: named(order.slice(-TOKENS).reverse()) };
}
