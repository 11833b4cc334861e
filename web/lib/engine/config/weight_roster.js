// weight_roster.js - every weight of a model, from its configuration alone
//
// The engine lists the same names in the same order; readers map the tensors of a file to them, and the parameter table
// counts them. A weight is [rows = out, cols = in].
import { BLOCKS, DTYPES, isDtype } from '../../base/dtype_names.js';
import { fail, show } from '../../base/errors.js';
import { ownerOf } from './config.js';
import { ROWS } from './roster_rows.js';

/** @import { Config } from './config.js' */
/** @typedef {import('./roster_rows.js').Component} Component */
/**
 * @typedef {object} Weight
 * @property {string} name
 * @property {Component} component
 * @property {'decoder'|'encoder'|null} stack
 * @property {number|null} layer
 * @property {number[]} shape
 * @property {string} formula       in the names of the configuration: 'n_heads × d_head × d_model'
 * @property {string} [tiedTo]      the weight whose numbers it shares; a head then has no shape of its own
 */
/**
 * @typedef {object} ParameterRow
 * @property {string} name
 * @property {Component} component
 * @property {'decoder'|'encoder'|null} stack
 * @property {number|null} layer
 * @property {number[]} shape
 * @property {number} count         0 where it shares the numbers of another weight
 * @property {string} formula
 * @property {string} dtype
 * @property {number} bytes
 * @property {number} flops         two operations per multiply-add of one token; of an expert the mean of all tokens
 * @property {string|null} tiedTo   the name of the weight it shares
 */
/**
 * @typedef {object} ParameterTable
 * @property {ParameterRow[]} rows
 * @property {number} total
 * @property {number} active        total without the experts that a token does not choose
 * @property {number} nonEmbedding  total - token embedding tables - learned position tables; an untied head stays in
 * @property {number} bytes
 */

/**
 * A row of roster_rows.js.
 * @typedef {object} Row
 * @property {string} [name]
 * @property {(c: Config, at: At) => boolean} [when]  false: there is no such weight or part
 * @property {string[]} [dims]     sizes of a weight, outermost first: products or sums of fields
 * @property {string} [heads]      how many heads a norm of q or k has, whose gains or biases this is
 * @property {string} [end]        their name: weight or bias
 * @property {string} [tiedTo]     the weight that is shared
 * @property {string} [part]       the table of a part
 * @property {string} [count]      field with the number of numbered parts
 * @property {Component} [component]
 * @property {'decoder'|'encoder'} [stack]  the parts are its blocks
 * @property {boolean} [cross]     the blocks have cross-attention
 * @property {string} [width]      field with the width of the feed-forward layers that follow
 */
/**
 * A place in the walk over the tables. layer: -1 where there is none; shared: the prefix of the weights whose numbers
 * those from here on share.
 * @typedef {{prefix: string, component: Component, stack: Weight['stack'], layer: number, cross: boolean,
 *   width: string, shared?: string}} At
 */

/**
 * The size of a dimension.
 * @param {Config} c
 * @param {string} dim  fields or numbers, joined by × or by +
 */
const sizeOf = (c, dim) =>
  dim
    .split(' + ')
    .map((term) =>
      term.split(' × ').reduce((n, field) => n * Number(c[/** @type {keyof Config} */ (field)] ?? field), 1),
    )
    .reduce((sum, n) => sum + n, 0);

/**
 * The gains or biases of the norm of q or k: of one head, which all share; of each head; or of all as one vector.
 * @param {Config} c
 * @param {Row} row
 * @returns {{name: string, dim: string}[]}
 */
function headRows(c, { name, end, heads = '' }) {
  if (c.qk_norm_span === 'projection') return [{ name: `${name}${end}`, dim: `${heads} × d_head` }];
  if (c.qk_norm_span === 'head') return [{ name: `${name}${end}`, dim: 'd_head' }];
  return Array.from({ length: sizeOf(c, heads) }, (_, h) => ({ name: `${name}${h}.${end}`, dim: 'd_head' }));
}

/**
 * @param {Config} c
 * @param {string} table
 * @param {At} at
 * @param {Map<string, Pick<Weight, 'shape' | 'formula'>>} [sizes]  of the weights so far, which repeat in each layer
 * @returns {Generator<Weight, void, void>}
 */
function* walk(c, table, at, sizes = new Map()) {
  /**
   * @param {string[]} dims
   * @returns {Pick<Weight, 'shape' | 'formula'>}
   */
  const sized = (dims) => {
    // a position_offset of 0 is no part of the formula
    const formulas = dims.map((dim) =>
      (dim === 'width' ? at.width : dim)
        .split(' + ')
        .filter((term) => sizeOf(c, term) > 0)
        .join(' + '),
    );
    return {
      shape: formulas.map((formula) => sizeOf(c, formula)),
      formula: formulas.map((f) => (dims.length > 1 && f.includes('+') ? `(${f})` : f)).join(' × '),
    };
  };
  /**
   * @param {string} name
   * @param {string[]} dims
   * @returns {Weight}
   */
  const weight = (name, dims) => {
    const key = `${at.width} ${dims}`;
    const { shape, formula } = sizes.get(key) ?? sized(dims);
    sizes.set(key, { shape, formula });
    const layer = at.layer < 0 ? null : at.layer;
    const shares = at.shared !== undefined && { tiedTo: `${at.shared}${name}` };
    const of = { component: at.component, stack: at.stack, layer, shape: [...shape], formula };
    return { name: `${at.prefix}${name}`, ...of, ...shares };
  };
  for (const row of ROWS[table]) {
    const { name = '', component = at.component, stack = at.stack, cross = at.cross, width = at.width } = row;
    if (row.when && !row.when(c, at)) continue;
    if (row.dims) yield weight(name, row.dims);
    else if (row.heads) for (const { name, dim } of headRows(c, row)) yield weight(name, [dim]);
    else if (row.tiedTo) yield { ...weight(name, []), tiedTo: row.tiedTo };
    else if (!row.part) at = { ...at, component, width };
    else
      for (let i = 0; i < (row.count ? sizeOf(c, row.count) : 1); i++) {
        const inner = (/** @type {string} */ before, /** @type {number} */ n) =>
          `${before}${name}${row.count ? `${n}.` : ''}`;
        const owner = row.stack ? ownerOf(c, i) : i;
        const of = { component, stack, cross, width, layer: row.stack ? i : at.layer };
        const shares = at.shared !== undefined || owner !== i;
        const shared = shares && { shared: inner(at.shared ?? at.prefix, owner) };
        yield* walk(c, row.part, { prefix: inner(at.prefix, i), ...of, ...shared }, sizes);
      }
  }
}

/**
 * All weights in the engine's order, with a tied head.
 * @param {Config} c
 */
const allWeights = (c) =>
  walk(c, 'model', { prefix: '', component: 'embedding', stack: null, layer: -1, cross: false, width: '' });

/**
 * All weights in the engine's order that have numbers of their own.
 * @param {Config} c
 * @returns {Generator<Weight, void, void>}
 */
export function* roster(c) {
  for (const weight of allWeights(c)) if (!weight.tiedTo) yield weight;
}

/**
 * Whether a weight belongs to an expert, which runs for the tokens that choose it.
 * @param {{name: string}} weight
 */
export const isExpert = ({ name }) => name.includes('.experts.');

/**
 * Whether a weight is a table of which a token reads one row.
 * @param {{name: string, component: Component}} weight
 */
const isTable = ({ name, component }) =>
  component === 'position' || (component === 'embedding' && !name.startsWith('embed_project.'));

/**
 * FLOPs of a weight for one token: those of a matrix, which an expert's is in the passes that choose it. An encoder's
 * blocks and the keys and values of cross-attention count too, although they run once per source.
 * @param {Config} c
 * @param {{name: string, component: Component, shape: number[]}} weight
 */
function flopsOf(c, weight) {
  const [rows, cols] = weight.shape;
  if (cols === undefined || isTable(weight)) return 0;
  return (2 * rows * cols * (isExpert(weight) ? c.n_experts_used : 1)) / (isExpert(weight) ? c.n_experts : 1);
}

/**
 * Bytes that n scalars take in a number format.
 * @param {number} n
 * @param {string} dtype
 */
export function dtypeBytes(n, dtype) {
  const [cols, bytes] = isDtype(dtype)
    ? BLOCKS[dtype]
    : fail('bad-argument', `there is no dtype ${show(dtype)}, expected one of ${DTYPES}`);
  return (n / cols) * bytes;
}

/**
 * The parameter table of a checked configuration.
 * @param {Config} config
 * @param {(weight: Weight) => string} [dtypeOf] number format of each weight; f32 when absent
 * @returns {ParameterTable}
 */
export function parameterTable(config, dtypeOf = () => 'f32') {
  /** @type {ParameterRow[]} */
  const rows = [];
  for (const weight of allWeights(config)) {
    const { name, component, stack, layer, shape, formula, tiedTo = null } = weight,
      shared = tiedTo && rows.find((row) => row.name === tiedTo);
    if (shared) {
      const what = component === 'head' ? 'the embedding' : tiedTo;
      const none = { count: 0, bytes: 0, formula: `0, shared with ${what}` };
      const flops = flopsOf(config, { name, component, shape: shared.shape });
      rows.push({ ...shared, name, component, layer, ...none, flops, tiedTo });
      continue;
    }
    const count = shape.reduce((a, b) => a * b, 1),
      dtype = dtypeOf(weight),
      [bytes, flops] = [dtypeBytes(count, dtype), flopsOf(config, weight)];
    rows.push({ name, component, stack, layer, shape, count, formula, dtype, bytes, flops, tiedTo });
  }
  let total = 0,
    experts = 0,
    tables = 0,
    bytes = 0;
  for (const r of rows) {
    total += r.count;
    bytes += r.bytes;
    if (isExpert(r)) experts += r.count;
    if (isTable(r)) tables += r.count;
  }
  if (!Number.isSafeInteger(total))
    fail('bad-config', `the configuration asks for about ${total.toExponential(2)} parameters`);
  const idle = experts && experts - (experts / config.n_experts) * config.n_experts_used;
  return { rows, total, active: total - idle, nonEmbedding: total - tables, bytes };
}
