// weight.js - reads the values of a weight from the engine
import { tensorRow } from '../../engine/engine_captures.js';
import { numberInRange } from '../generation_options.js';
import { fail, show } from '../../base/errors.js';

/** @import { LoadedModel } from '../loaded_model.js' */

/**
 * The place of a weight in the parameter table.
 * @param {LoadedModel} model
 * @param {string} name
 */
export function rowOf(model, name) {
  const i = model.table.rows.findIndex((r) => r.name === name);
  return i < 0
    ? fail(
        'bad-argument',
        `there is no weight ${show(name)}; model.parameters lists the names, such as ${model.table.rows[0].name}`,
      )
    : i;
}

/**
 * The values of a vector, or of one row of a matrix, as f32.
 * @param {LoadedModel} model
 * @param {string} name  as in the parameter table
 * @param {number} [row]
 * @returns {Float32Array} [cols]
 */
export function weight(model, name, row = 0) {
  const i = rowOf(model, name);
  const { shape } = model.table.rows[i];
  numberInRange(`the row of ${name}`, row, 0, shape.length === 1 ? 0 : shape[0] - 1, true);
  return tensorRow(model.engine, i, row, shape[shape.length - 1]);
}
