// switch_adapter.js - adapters beside a loaded model: the sums of each are computed once and kept, as stored, so that
// switching copies bytes
import { fail, show } from '../../base/errors.js';
import { remembered } from '../../base/lazy_value.js';
import { bytesOfRegion, putBytes, putRow, regionsOf } from '../../engine/weights_memory.js';
import { tensorRow } from '../../engine/engine_captures.js';
import { outputLine, productsByWeight, valuesOf } from './merge_adapters.js';
import { baseOf } from './model_modules.js';

export { modules } from './model_modules.js';

/** @import { LoadedModel } from '../../run/loaded_model.js' */
/** @import { Product, StoredDelta } from './merge_adapters.js' */
/** Bytes by address. @typedef {Map<number, Uint8Array>} Bytes */
/**
 * base: the bytes without an adapter, of every matrix that one of them changes; on: the adapter in use.
 * @typedef {{base: Bytes, adapters: Bytes[], on: number | null}} State
 */

/** @type {WeakMap<LoadedModel, State>} */
const states = new WeakMap();

/** @param {LoadedModel} model @returns {State} */
const stateOf = (model) => remembered(states, model, () => ({ base: new Map(), adapters: [], on: null }));

/** @param {LoadedModel} model @param {Iterable<[number, Uint8Array]>} bytes */
function write({ engine }, bytes) {
  for (const [start, all] of bytes) putBytes(engine, start, all);
}

/**
 * Compute the sums of an adapter. The weights in use stay.
 * @param {LoadedModel} model
 * @param {StoredDelta[]} deltas
 * @returns {number} of the adapter, for setAdapter
 */
export function addAdapter(model, deltas) {
  const state = stateOf(model),
    { engine, table } = model;
  const entries = new Map(table.rows.map(({ name }, i) => [name, i]));
  const products = productsByWeight(baseOf(model), valuesOf(engine, deltas));
  const regions = regionsOf(
    engine,
    [...products.keys()].map((name) => Number(entries.get(name))),
  );
  write(model, state.base);
  for (const region of regions)
    if (!state.base.has(region.start)) state.base.set(region.start, bytesOfRegion(engine, region));
  try {
    for (const [name, list] of products) addProducts(model, Number(entries.get(name)), list);
    state.adapters.push(new Map(regions.map((region) => [region.start, bytesOfRegion(engine, region)])));
  } finally {
    write(model, state.base);
    if (state.on !== null) write(model, state.adapters[state.on]);
  }
  return state.adapters.length - 1;
}

/**
 * Add products to a weight.
 * @param {LoadedModel} model
 * @param {number} entry  of the roster
 * @param {Product[]} products
 */
function addProducts({ engine, table, config }, entry, products) {
  const {
    name,
    dtype,
    shape: [rows, width],
  } = table.rows[entry];
  const limit = dtype === 'f16' ? 65520 : Infinity; // rounded to f16, numbers from here on are infinite
  const add = outputLine([{ rows, products }], width, 'rows', config.d_head);
  for (let row = 0; row < rows; row++) {
    const values = tensorRow(engine, entry, row, width);
    add(row, values);
    if (!values.every((x) => Math.abs(x) < limit))
      fail('not-finite', `${name}: row ${row} with the adapter is not finite`);
    putRow(engine, entry, row, values);
  }
}

/**
 * Use an adapter, or none.
 * @param {LoadedModel} model
 * @param {number | null} adapter
 */
export function setAdapter(model, adapter) {
  const state = stateOf(model);
  if (adapter !== null && !(Number.isInteger(adapter) && state.adapters[adapter]))
    fail('bad-argument', `the adapter is ${show(adapter)}, expected what addAdapter returned, or null`);
  if (model.engine.sessions.size)
    fail(
      'bad-state',
      'cannot switch adapters while a session or call is open: dispose the session, or wait for the call to finish',
    );
  if (state.on !== null)
    for (const start of state.adapters[state.on].keys())
      putBytes(model.engine, start, /** @type {Uint8Array} */ (state.base.get(start)));
  if (adapter !== null) write(model, state.adapters[adapter]);
  model.engine.seal(); // which computes what depends on weights
  state.on = adapter;
  model.weights = {};
}
