// dtypes.js - makes web/lib/base/dtypes.js from the table of number formats in src/kernels/kernels.h
import { literal, rowsOf } from './c_tables.js';

export const TARGET = 'web/lib/base/dtypes.js';

/** @returns {string} the text that the header of this tree gives */
export function text() {
  const rows = rowsOf('src/kernels/kernels.h', 'GF_DTYPES').map(([id, , name, cols, bytes, , , , , kept, exact]) => ({
      id,
      name: literal(name),
      cols,
      bytes,
      kept,
      exact,
    })),
    names = new Map(rows.map(({ id, name }) => [id, name])),
    union = (/** @type {typeof rows} */ some) => some.map(({ name }) => `'${name}'`).join('|');
  return `// dtypes.js - the number formats that weights are stored in
//
// Made from src/kernels/kernels.h by scripts/generate.js. Do not edit it.

/** @typedef {${union(rows.filter(({ id, kept }) => id === kept))}} KeptDtype  types in memory */
/**
 * A type that the engine reads from a file.
 * @typedef {KeptDtype|${union(rows.filter(({ id, kept }) => id !== kept))}} Dtype
 */

/**
 * Columns and bytes of a block, the type that its weights have in memory, and whether that type holds all its values.
 * A quantised row is stored as blocks of 32 or 256 columns, each with its own scale (ggml's block_q8_0, block_q4_k and
 * so on). In an unquantised type each value is a block of one column.
 * @type {Record<Dtype, [cols: number, bytes: number, kept: KeptDtype, exact: boolean]>}
 */
export const BLOCKS = {
${rows.map(({ name, cols, bytes, kept, exact }) => `${name}: [${cols}, ${bytes}, '${names.get(kept)}', ${exact === '1'}],`).join('\n')}
};
`;
}
