// dtypes.js - the number formats that weights are stored in
//
// Made from src/kernels/kernels.h by scripts/generate.js. Do not edit it.

/** @typedef {'f32'|'f16'|'bf16'|'q8_0'|'q4_0'|'q4_1'|'q4_k'|'q6_k'|'q5_0'|'q5_1'} KeptDtype  types in memory */
/**
 * A type that the engine reads from a file.
 * @typedef {KeptDtype|'q5_k'|'q3_k'|'q2_k'|'iq4_nl'|'iq4_xs'|'mxfp4'} Dtype
 */

/**
 * Columns and bytes of a block, the type that its weights have in memory, and whether that type holds all its values.
 * A quantised row is stored as blocks of 32 or 256 columns, each with its own scale (ggml's block_q8_0, block_q4_k and
 * so on). In an unquantised type each value is a block of one column.
 * @type {Record<Dtype, [cols: number, bytes: number, kept: KeptDtype, exact: boolean]>}
 */
export const BLOCKS = {
  f32: [1, 4, 'f32', true],
  f16: [1, 2, 'f16', true],
  bf16: [1, 2, 'bf16', true],
  q8_0: [32, 34, 'q8_0', true],
  q4_0: [32, 18, 'q4_0', true],
  q4_1: [32, 20, 'q4_1', true],
  q4_k: [256, 144, 'q4_k', true],
  q6_k: [256, 210, 'q6_k', true],
  q5_0: [32, 22, 'q5_0', true],
  q5_1: [32, 24, 'q5_1', true],
  q5_k: [256, 176, 'q5_1', true],
  q3_k: [256, 110, 'q6_k', true],
  q2_k: [256, 84, 'q8_0', false],
  iq4_nl: [32, 18, 'q8_0', true],
  iq4_xs: [256, 136, 'q8_0', true],
  mxfp4: [32, 17, 'q8_0', true],
};
