// explain.js - explains one value of a pass, at a capture point or among the logits: its formula and its terms
//
// Each term names its weight and the cell that its input comes from (`from`). Explaining that cell in turn leads from
// any value back to the embedding.
import { forwardOne } from '../inspect/forward.js';
import { formula } from './point_formula.js';
import { ACTIVATIONS } from './formulas_ffn.js';
import { PassValues } from './pass_values.js';
import { Yielder } from '../../base/event_loop.js';
import { numberInRange } from '../generation_options.js';
import { fail, show } from '../../base/errors.js';
import { positionIn } from '../inspect/position_in.js';
import { typedIds } from '../inspect/typed_ids.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Tensor } from '../../engine/engine.js' */
/**
 * One value inside a pass.
 * @typedef {object} Cell
 * @property {string} at          a point's name, or 'logits'
 * @property {number} position    row
 * @property {number} [head]      the head, if the point has heads
 * @property {number} [index]     within the row; for a score or pattern the key's position, for 'logits' a token id
 */
/**
 * One term of a value.
 * @typedef {object} Term
 * @property {string} name
 * @property {number} value          the summand; in a product the factor
 * @property {Cell} [from]           the cell that its input comes from
 * @property {number} [input]        the value of that cell
 * @property {number} [rounded]      the number that the engine multiplies in its place: int8 with a scale in products
 *   with quantised weights and in an int8 cache, f16 in an f16 cache
 * @property {{name: string, row: number, column?: number, value: number}} [weight] the weight that the input was
 *   multiplied by
 * @property {{from: Cell, input: number, rounded?: number}} [times] the cell that the input was multiplied by, where
 *   this is a key or a value instead of a weight
 */
/**
 * @typedef {Cell & {
 *   value: number,
 *   how: 'sum' | 'product' | 'share' | 'root' | 'activation' | 'tanh' | 'given' | 'masked',
 *   formula: string,
 *   terms: Term[],
 *   divisor: number,
 *   cap?: number,
 *   computed: number,
 *   edited?: true,
 * }} Explanation
 *   edited: an edit of the call names this point: the terms give the value before it. value: the engine's; computed:
 *   from the terms, in double precision; how: the way in which the terms are combined.
 *   sum: (t1 + t2 + ...) / divisor. tanh: cap tanh((t1 + ...) / divisor / cap), a soft cap or with cap 1 a tanh.
 *   product: t1 t2. share: the cell's own term / divisor, the sum of all terms. root: sqrt((t1 + ...) / divisor), one
 *   term is the epsilon. activation: a function of the only term. given: read from a table. masked: -inf or 0, because
 *   the position does not attend to the key.
 *   Terms are products of what the engine multiplies: of rounded activations, keys and values where it rounds them.
 */

/**
 * Explains one value of a pass.
 * @param {LoadedModel} model
 * @param {any} input  text or ids
 * @param {Omit<Cell, 'position'> & {position?: number, source?: any, sourceMask?: any, addSpecialTokens?: boolean,
 *   allowNonFinite?: boolean, edits?: import('../inspect/edits.js').Edit[]}} options at: a point's name, or
 *   'logits' (index: a token id)
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<Explanation>}
 */
export async function explain(model, input, options, { signal } = {}) {
  const { at, source, sourceMask, edits, allowNonFinite } = options;
  if (typeof at !== 'string')
    fail('bad-option', `at is ${show(at)}, expected what explain explains: the name of a point, or 'logits'`);
  const points = await model.points();
  const { names } = points;
  if (at === 'logits') model.requireLogits('explain');
  else if (!names.includes(at)) points.refuse(at, 'at: ');
  const { ids, types } = typedIds(model, input, 'input', options);
  const sourceIds = source === undefined ? [] : model.ids(source, 'source');
  const pass = new PassValues(model, names, at, { ids, types }, sourceIds);
  const observed = { source, sourceMask, edits, types, allowNonFinite, capture: pass.captureNames() };
  const { captured, logits } = await forwardOne(model, ids, observed, new Yielder(signal));
  pass.captured = captured;
  const explained = explainCell(pass, at === 'logits' ? /** @type {Tensor} */ (logits) : captured[at], options);
  const isEdited = at !== 'logits' && edits?.some((edit) => points.matchOne(edit.at).some(({ name }) => name === at));
  return { ...explained, ...(isEdited && { edited: true }) };
}

/**
 * Checks the coordinates of a cell and explains its value.
 * @param {PassValues} pass  of the point
 * @param {Tensor} tensor  the values of the point: [position, ...], or [head, query, key] for scores and patterns
 * @param {Omit<Cell, 'position'> & {position?: number}} cell
 * @returns {Explanation}
 */
function explainCell(pass, { data, shape }, cell) {
  const isScores = /scores|pattern/.test(pass.point);
  const hasHeads = shape.length === 3;
  const [positions, heads, width] = isScores
    ? [shape[1], shape[0], shape[2]]
    : hasHeads
      ? shape
      : [shape[0], 1, shape[1]];
  const position = positionIn(cell.position ?? -1, positions);
  if (!hasHeads && cell.head !== undefined) fail('bad-option', `${pass.at} has no heads`);
  const head = numberInRange('head', cell.head ?? 0, 0, heads - 1, true);
  const index = numberInRange('index', cell.index ?? 0, 0, width - 1, true);
  const value = data[(isScores ? head * positions + position : position * heads + head) * width + index];
  Object.assign(pass, { position, head, index });
  const derivation = formula(pass);
  return {
    at: pass.at,
    position,
    ...(hasHeads && { head }),
    index,
    value,
    divisor: 1,
    ...derivation,
    computed: derivation.how === 'masked' ? value : combine(derivation, index, pass.config.ffn),
  };
}

/**
 * The value that the terms give.
 * @param {Pick<Explanation, 'how' | 'terms' | 'cap'> & {divisor?: number}} derivation
 * @param {number} index  of the cell in its row
 * @param {string} ffn  of the configuration
 * @returns {number}
 */
function combine({ how, terms, divisor = 1, cap = 1 }, index, ffn) {
  const sum = () => terms.reduce((a, t) => a + t.value, 0);
  switch (how) {
    case 'sum':
      return sum() / divisor;
    case 'tanh':
      return cap * Math.tanh(sum() / divisor / cap);
    case 'product':
      return terms.reduce((a, t) => a * t.value, 1);
    case 'share':
      return terms[index].value / divisor;
    case 'root':
      return Math.sqrt(sum() / divisor);
    case 'activation':
      return ACTIVATIONS[ffn](terms[0].value);
    case 'given':
      return terms[0].value;
    default:
      return NaN;
  }
}
