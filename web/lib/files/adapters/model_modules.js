// model_modules.js - the matrices of a loaded model's blocks under the names that PEFT gives them, to train adapters
import { fail } from '../../base/errors.js';
import { placer, productsOf, shapesOf, valuesOf } from './merge_adapters.js';
import { modulesOf } from './module_places.js';

/** @import { LoadedModel } from '../../run/loaded_model.js' */
/** @import { Base, Delta, StoredDelta } from './merge_adapters.js' */
/**
 * A matrix that an adapter can change.
 * @typedef {object} Module
 * @property {string} name        as PEFT's keys have it, after base_model.model.
 * @property {string[]} weights   that it has, which follow each other in the roster, stacked by rows
 * @property {number} entry       of the first of them in the roster
 * @property {number[]} shape     [out, in]
 * @property {boolean} transposed the file has [in, out], as that of a Conv1D
 * @property {Int32Array} rows    for each row of the stack: its row in PEFT's B
 * @property {{a: Float32Array, b: Float32Array, r: number, factor: number} | null} start  what an adapter gives it: A
 *   [r, in], B [out, r] in the order of the stack
 */

/** Weights whose products with activations adapters change. */
const LINEAR = /\.(attn\.[qkvo]|ffn\.(experts\.\d+\.|shared_expert\.)?(gate|up|down))\.weight$/;

/**
 * What adapters are added to. A model without files has its weights under their own names.
 * @param {LoadedModel} model
 * @returns {Base}
 */
export const baseOf = ({ origin, config, table }) =>
  origin ?? {
    config,
    format: 'safetensors',
    tensors: table.rows.map(({ name }) => ({ name, covers: [name], layout: 'rows' })),
  };

/**
 * The modules of a model that adapters can be trained for.
 * @param {LoadedModel} model
 * @param {StoredDelta[]} deltas  of an adapter to begin with
 * @returns {Module[]}
 */
export function modules(model, deltas) {
  const base = baseOf(model);
  const { config } = base;
  const shapes = shapesOf(base);
  const entries = new Map(model.table.rows.map(({ name }, i) => [name, i]));
  const { places, pairs } =
    base.format === 'gguf'
      ? modulesOf(config, /** @type {string} */ (base.architecture), 'the model')
      : {
          places: new Map(base.tensors.map(({ name, covers, layout }) => [name, { covers, layout }])),
          pairs: config.rope_pairs,
        };
  // PEFT wraps the class with a head, in which GPT-2's own file has no place
  const prefix = [...places.keys()].some((name) => /^h\.0\.attn\.c_attn\./.test(name)) ? 'transformer.' : '';
  const starts = startsOf(base, valuesOf(model.engine, deltas), shapes);
  /** @type {Module[]} */
  const found = [];
  for (const [name, place] of places) {
    const { covers, layout } = place;
    const entry = Number(entries.get(covers[0]));
    const follows = covers.every((cover, i) => LINEAR.test(cover) && entries.get(cover) === entry + i);
    if (!covers.length || !follows || (covers.length > 1 && covers[0].includes('.experts.'))) continue;
    const out = covers.reduce((n, cover) => n + (shapes.get(cover)?.[0] ?? 0), 0);
    const [, width] = shapes.get(covers[0]) ?? [];
    const numbered = Float32Array.from({ length: out }, (_, row) => row);
    const asStored = {
      name,
      where: 'the model',
      a: { shape: [1, Number(width)], data: numbered },
      b: { shape: [out, 1], data: numbered },
      factor: 1,
    };
    found.push({
      name: prefix + name.replace(/\.weight$/, ''),
      weights: covers,
      entry,
      shape: [out, Number(width)],
      transposed: layout === 'cols',
      rows: Int32Array.from(stack(productsOf(asStored, { ...place, pairs }, config, shapes))),
      start: starts.get(covers.join()) ?? null,
    });
    starts.delete(covers.join());
  }
  for (const weights of starts.keys())
    fail('unsupported', `the adapter to begin with changes ${weights}: no module has these`);
  return found;
}

/** The rows of B of all weights of a module. @param {[string, {b: Float32Array}][]} products */
const stack = (products) => Float32Array.from(products.flatMap(([, { b }]) => Array.from(b)));

/**
 * The factors of an adapter by the weights that they change.
 * @param {Base} base
 * @param {Delta[]} deltas
 * @param {Map<string, number[]>} shapes
 * @returns {Map<string, NonNullable<Module['start']>>}
 */
function startsOf(base, deltas, shapes) {
  const placeOf = placer(base, deltas);
  return new Map(
    deltas.map((delta) => {
      const target = placeOf(delta);
      const products = productsOf(delta, target, base.config, shapes);
      const [[, { a, r, factor }]] = products;
      return [target.covers.join(), { a, b: stack(products), r, factor }];
    }),
  );
}
