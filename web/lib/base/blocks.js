// blocks.js - the number formats that weights are stored in
//
// A quantised row is stored as blocks of 32 columns, each with its own scale (ggml's block_q8_0, block_q4_0 and
// block_q4_1). In an unquantised type each value is a block of one column.

/** @typedef {'f32'|'f16'|'bf16'|'q8_0'|'q4_0'|'q4_1'} Dtype */

/**
 * Columns and bytes of a block.
 * @type {Record<Dtype, [cols: number, bytes: number]>}
 */
export const BLOCKS = { f32: [1, 4], f16: [1, 2], bf16: [1, 2], q8_0: [32, 34], q4_0: [32, 18], q4_1: [32, 20] };

/**
 * Whether `name` is one of the types above.
 * @param {unknown} name
 * @returns {name is Dtype}
 */
export const isDtype = (name) => typeof name === 'string' && Object.hasOwn(BLOCKS, name);

/** The names of all types, separated by commas, for error messages. */
export const DTYPES = Object.keys(BLOCKS).join(', ');
