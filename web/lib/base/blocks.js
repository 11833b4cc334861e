// blocks.js - the number formats that weights are stored in
//
// Rows are cut into blocks that have a scale of their own; of plain numbers each is a block. See ggml's block_q8_0 and
// its kin.

/** @typedef {'f32'|'f16'|'bf16'|'q8_0'|'q4_0'|'q4_1'} Dtype */

/** Columns and bytes of a block. @type {Record<Dtype, [cols: number, bytes: number]>} */
export const BLOCKS = { f32: [1, 4], f16: [1, 2], bf16: [1, 2], q8_0: [32, 34], q4_0: [32, 18], q4_1: [32, 20] };

/**
 * @param {unknown} name
 * @returns {name is Dtype}
 */
export const isDtype = (name) => typeof name === 'string' && Object.hasOwn(BLOCKS, name);

/** For sentences. */
export const DTYPES = Object.keys(BLOCKS).join(', ');
