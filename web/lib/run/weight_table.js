// weight_table.js - the table of a loaded model's weights, with their addresses in linear memory
import { fail } from '../base/errors.js';
import { parameterTable } from '../engine/config/weight_roster.js';

/**
 * Where a weight lies in memory.
 * @typedef {object} Placement
 * @property {number} address      address of its first byte in linear memory
 * @property {number} memoryBytes  reserved bytes, with rows padded to 16 and the scales of quantised types in f32
 */
/** @typedef {import('../engine/config/weight_roster.js').ParameterTable} ParameterTable */
/** @typedef {import('../engine/config/weight_roster.js').ParameterRow & Placement} LoadedRow */
/** @typedef {Omit<ParameterTable, 'rows'> & {rows: LoadedRow[]}} LoadedTable */

/**
 * The parameter table of the loaded model, compared with the engine's own list.
 * @param {import('../engine/engine.js').Engine} engine
 * @returns {LoadedTable}
 */
export function tableOf(engine) {
  const tensors = engine.tensors();
  const dtype = new Map(tensors.map((t) => [t.name, t.dtype]));
  const table = parameterTable(
    /** @type {import('../engine/config/config.js').Config} */ (engine.config),
    ({ name }) => dtype.get(name) ?? 'f32',
  );
  const differs =
    tensors.length !== table.rows.length ||
    tensors.some((t, i) => t.name !== table.rows[i].name || t.count !== table.rows[i].count);
  if (differs || engine.countParameters(engine.config) !== table.total)
    fail(
      'bad-state',
      'the .wasm file and the JavaScript come from different versions of the package: deploy both from the same dist/',
    );
  return {
    ...table,
    rows: table.rows.map((row, i) => ({
      ...row,
      address: tensors[i].address,
      memoryBytes: row.count && tensors[i].bytes,
    })),
  };
}
