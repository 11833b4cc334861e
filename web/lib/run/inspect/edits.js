// edits.js - edits of a session: finds their points, positions and heads, and the values of those that need a pass
import { addEdit } from '../../engine/engine_captures.js';
import { addFeatureEdit } from '../../engine/dictionary_encoders.js';
import { fail, messageOf, show } from '../../base/errors.js';
import { LIMITS } from '../../base/checks.js';
import { numberInRange } from '../generation_options.js';

/** @import { Edited } from '../../engine/engine_captures.js' */
/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Point, Points } from './capture.js' */
/** @import { Pass } from './forward.js' */
/**
 * Values of an edit: one number for all, a list for the row of every position, or a tensor with the shape of the
 * captured one. A tensor for one head has no axis of heads, and one for all positions alike none of positions.
 * @typedef {number | ArrayLike<number> | {shape: readonly number[], data: ArrayLike<number>}} EditValues
 */
/**
 * A change of the values at a point during a pass.
 * @typedef {object} Edit
 * @property {string} at          a point's name; `*` matches anything, dots included
 * @property {number} [head]      one head; all when absent
 * @property {number | 'last' | readonly number[] | {from?: number, to?: number}} [position] absolute positions: one, a
 *   list, or those from `from` to before `to`; all when absent. Negative ones count from the end of the input (of a
 *   generation: of the prompt), 'last' is -1
 * @property {number} [index]     one index of the row (a neuron of the FFN, an expert, a component of the stream or of
 *   a head, a key of a pattern); all when absent
 * @property {number} [scale]     factor
 * @property {EditValues} [set]   new values
 * @property {EditValues} [add]   summands
 * @property {ArrayLike<number>} [project]  a direction, a row of numbers: the component along it is removed
 * @property {string | ArrayLike<number>} [mean]  a text: the values are set to the mean over its positions
 * @property {number} [dictionary]  for the engine alone, as are the next three: what the model calls a dictionary
 * @property {number} [feature]   feature of the dictionary
 * @property {Float32Array} [direction]  the feature's row of the decoder
 * @property {number} [features]         address of the dictionary's encoder
 * @property {(values: Tensor, name: string) => ArrayLike<number>} [apply] a function that gets what is captured at the
 *   point, after all other edits, and returns as many new values, of all heads and positions. Not with a worker, nor in
 *   generations and sessions
 */
/**
 * Positions that the passes of a session can have: of its sequence and of its source. end: those of its input, from
 * whose end negative positions count; absent where there is none.
 * @typedef {{own: number, source: number, end?: number}} Room
 */

/**
 * Sets the edits of later passes of a session.
 * @param {Edited} session
 * @param {Points} points
 * @param {Edit[]} edits  checked: see call_options.js; with values instead of `mean` and `apply`
 * @param {Room} room
 */
export function applyEdits(session, points, edits, room) {
  let left = LIMITS.editChanges;
  for (const [i, edit] of edits.entries()) {
    const { at, scale, set, add, project } = edit;
    if (edit.features !== undefined) {
      const changed = /** @type {Parameters<typeof addFeatureEdit>[3]} */ (/** @type {unknown} */ (edit));
      for (const p of points.matchOne(at))
        for (const position of positionsOf(`edits[${i}]`, p, edit, room) ?? [-1])
          named(`edits[${i}]: the dictionary at ${p.name}`, () => addFeatureEdit(session, p, position, changed));
      continue;
    }
    const operations = Object.entries({ scale, set, add, project }).filter(([, value]) => (value ?? null) !== null);
    for (const p of points.matchOne(at)) {
      const positions = positionsOf(`edits[${i}]`, p, edit, room);
      for (const [operation, value] of operations) {
        const where = `edits[${i}]: ${operation} at ${p.name}`;
        const changes =
          typeof value === 'object' && 'shape' in value
            ? ofTensor(where, points.shape(p), p, edit, positions, /** @type {Tensor} */ (value), room)
            : (positions ?? [-1]).map((position) => ({
                head: edit.head ?? -1,
                position,
                values: /** @type {number | ArrayLike<number>} */ (value),
              }));
        if ((left -= changes.length) < 0)
          fail('bad-option', `edits[${i}]: with it there are more changes than ${LIMITS.editChanges} at single points`);
        for (const { head, position, values } of changes)
          named(where, () =>
            addEdit(session, p, head, position, edit.index ?? -1, /** @type {'set'} */ (operation), values),
          );
      }
    }
  }
}

/**
 * What the engine gets in place of -Infinity, which a captured tensor has in cells that the mask hides, and a caller in
 * cells that are to be hidden: the pattern is 0 there, and cells that the mask hides stay hidden.
 */
const HIDDEN_SCORE = -1e30;

/**
 * The changes that give each position and head its own row of a tensor.
 * @param {string} where
 * @param {number[]} inner  the shape of a position at the point
 * @param {Point} p
 * @param {Edit} edit
 * @param {number[] | null} positions  null: from 0 on
 * @param {Tensor} values
 * @param {Room} room
 */
function ofTensor(where, inner, p, { at, head, index }, positions, { shape, data }, room) {
  const isPattern = p.axes === 'S';
  const isScores = isPattern && p.name.includes('scores');
  const own = head === undefined || head === null ? inner : inner.slice(1);
  const heads = own.length > 1 ? own[0] : 1;
  const keys = isPattern ? shape[shape.length - 1] : own[own.length - 1];
  const perPosition = isPattern || shape.length > own.length;
  const n = perPosition ? (positions?.length ?? shape[isPattern ? shape.length - 2 : 0]) : 1;
  const want = isPattern ? [...own.slice(0, -1), n, keys] : [...(perPosition ? [n] : []), ...own];
  if ((index ?? null) !== null) fail('bad-option', `${where}: a tensor sets whole rows, index names one place`);
  if (String(want) !== String(shape)) fail('bad-option', `${where}: the shape is [${shape}], expected [${want}]`);
  const from0 = () => (perPosition ? positionsOf(where, p, { at, position: { from: 0, to: n } }, room) : null);
  return (positions ?? from0() ?? [-1]).flatMap((position, t) =>
    Array.from({ length: heads }, (_, h) => {
      const row = isPattern ? h * n + t : (perPosition ? t * heads : 0) + h;
      const values = data
        .subarray(row * keys, (row + 1) * keys)
        .map((x) => (isScores && x === -Infinity ? HIDDEN_SCORE : x));
      return { head: heads > 1 ? h : (head ?? -1), position, values };
    }),
  );
}

/**
 * Run a call of the engine whose refusal is to begin with `where`.
 * @param {string} where
 * @param {() => void} run
 */
function named(where, run) {
  try {
    run();
  } catch (/** @type {any} */ error) {
    if (error?.code === 'bad-argument') fail(error.code, `${where}: ${error.message}`);
    throw error;
  }
}

/**
 * The positions of an edit, from 0 on; null for all. Refuses a position, or a key, that no pass can have; the engine
 * checks heads and other indices.
 * @param {string} where
 * @param {Point} p
 * @param {Edit} edit
 * @param {Room} room
 * @returns {number[] | null}
 */
function positionsOf(where, p, { position, index }, { own, source, end }) {
  const [rows, keys] = [p.source, p.source || p.name.includes('cross_attn')].map((of) => (of ? source : own));
  if (p.axes === 'S' && index !== undefined && index >= keys)
    fail('bad-option', `${where}.index is ${index}, ${p.name} has ${keys} keys here`);
  if (position === undefined || position === null) return null;
  const last = p.source ? source : end;
  const absolute = (/** @type {number} */ at) => {
    if (at >= 0) return at;
    if (last === undefined) fail('bad-option', `${where}.position is ${at}: a session has no end to count from`);
    return at + last;
  };
  if (typeof position === 'object' && !Array.isArray(position)) {
    const { from, to } = /** @type {{from: number, to: number | null}} */ (position);
    const [first, stop] = [absolute(from), to === null ? rows : absolute(to)];
    numberInRange(`${where}.position.to`, stop, first, rows, true);
    return Array.from({ length: stop - first }, (_, i) => first + i);
  }
  return [position].flat().map((/** @type {any} */ at) => {
    const found = absolute(at);
    return found >= 0 && found < rows
      ? found
      : fail('bad-option', `${where}.position is ${at}, ${p.name} has ${rows} positions here`);
  });
}

/**
 * Edits in which means are values, and dictionaries addresses. A function is refused: it needs the input.
 * @param {LoadedModel} model
 * @param {Record<string, any>} o  the options of the call: edits and source
 * @param {(ids: number[], o: Record<string, any>) => Promise<Pass>} pass  runs a text
 * @returns {Promise<Edit[]>}
 */
export async function withMeans(model, { edits, source, sourceMask }, pass) {
  /** @type {Edit[]} */
  const out = [];
  for (const [i, { mean, apply, ...edit }] of /** @type {Edit[]} */ (edits).entries()) {
    if (apply) fail('bad-option', `edits[${i}].apply: a function changes the values of forward and loss only`);
    if (edit.direction) out.push({ ...edit, features: (await model.dictionary(edit.dictionary ?? 0)).address });
    else if (mean === undefined) out.push(edit);
    else {
      const ids = model.ids(mean, `text of edits[${i}].mean`);
      const options = { source, sourceMask, capture: [edit.at], logits: 'none' };
      const { captured } = await pass(ids, options);
      for (const [at, values] of Object.entries(captured)) out.push(...meanEdits({ ...edit, at }, meanOf(at, values)));
    }
  }
  return out;
}

/**
 * The mean over the positions of a captured point.
 * @param {string} name
 * @param {Tensor} values  [n, ...]
 * @returns {Tensor} without the axis of positions
 */
function meanOf(name, { shape: [n, ...inner], data }) {
  if (/hook_(attn_scores|pattern)/.test(name)) fail('bad-option', `${name}: the keys of each position are others`);
  const width = data.length / n;
  const mean = Float32Array.from({ length: width }, (_, j) => {
    let sum = 0;
    for (let t = 0; t < n; t++) sum += data[t * width + j];
    return sum / n;
  });
  return { shape: inner, data: mean };
}

/**
 * Edits that set a mean: that of the head and of the index that an edit names, at every position that it names.
 * @param {Edit} edit
 * @param {Tensor} mean  of a position: [heads, width] or [width]
 * @returns {Edit[]}
 */
function meanEdits({ head: ofHead, index: ofIndex, ...edit }, { shape, data }) {
  const [head, index] = [ofHead ?? null, ofIndex ?? null];
  const width = shape[shape.length - 1];
  // A head or an index that the point does not have: the engine refuses it.
  const at = (/** @type {number} */ h) =>
    index === null ? data.subarray(h * width, (h + 1) * width) : (data[h * width + index] ?? 0);
  const one = (/** @type {number} */ h) => ({ ...edit, ...(index !== null && { index }), set: at(h) });
  if (head !== null) return [{ ...one(head < data.length / width ? head : 0), head }];
  if (shape.length < 2) return [one(0)];
  if (index === null) return [{ ...edit, set: { shape, data } }];
  return Array.from({ length: shape[0] }, (_, h) => ({ ...one(h), head: h }));
}

/**
 * What the caller's function of an edit returns.
 * @param {NonNullable<Edit['apply']>} apply
 * @param {Tensor} values
 * @param {string} name  of the point
 */
function applied(apply, values, name) {
  try {
    return apply(values, name);
  } catch (error) {
    return fail('callback', `apply at ${name} threw: ${messageOf(error)}`, error);
  }
}

/**
 * The options of a pass in which functions are values: for each point that a function changes, in the order of the
 * pass, a pass with the other edits gives what the function gets.
 * @param {LoadedModel} model
 * @param {Record<string, any>} o
 * @param {(o: Record<string, any>) => Promise<Pass>} pass  runs the ids
 * @returns {Promise<Record<string, any>>}
 */
export async function withFunctions(model, o, pass) {
  if (!o.edits?.some((/** @type {Edit} */ edit) => edit.apply)) return o;
  /** @type {Edit[]} */
  const edits = o.edits;
  const points = await model.points();
  const found = edits.flatMap((edit) => (edit.apply ? points.matchOne(edit.at).map((p) => ({ p, edit })) : []));
  const done = edits.filter((edit) => !edit.apply);
  const order = points.inOrder;
  found.sort((a, b) => order.indexOf(a.p) - order.indexOf(b.p));
  for (const { p, edit } of found) {
    const options = { ...o, edits: done, capture: [p.name], logits: 'none' };
    const values = (await pass(options)).captured[p.name];
    const shape = values.shape;
    const given = applied(
      /** @type {NonNullable<Edit['apply']>} */ (edit.apply),
      { data: values.data.slice(), shape },
      p.name,
    );
    const data = Float32Array.from(given ?? []);
    if (data.length !== values.data.length)
      fail('bad-option', `apply at ${p.name} returned ${show(given)}, expected ${values.data.length} numbers`);
    done.push({ at: p.name, set: { shape, data } });
  }
  return { ...o, edits: done };
}
