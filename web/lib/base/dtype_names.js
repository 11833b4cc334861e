// dtype_names.js - the names of the number formats that weights are stored in
import { BLOCKS } from './dtypes.js';

export { BLOCKS };

/** @typedef {import('./dtypes.js').Dtype} Dtype */
/** @typedef {import('./dtypes.js').KeptDtype} KeptDtype */

/**
 * Whether `name` is one of the types that the engine reads.
 * @param {unknown} name
 * @returns {name is Dtype}
 */
export const isDtype = (name) => typeof name === 'string' && Object.hasOwn(BLOCKS, name);

/**
 * Whether `name` is one of the types that weights have in memory.
 * @param {unknown} name
 * @returns {name is KeptDtype}
 */
export const isKept = (name) => isDtype(name) && BLOCKS[name][2] === name;

/** The names of all types, separated by commas, for error messages. */
export const DTYPES = Object.keys(BLOCKS).join(', ');
/** The names of the types that weights have in memory, separated by commas. */
export const KEPT = Object.keys(BLOCKS).filter(isKept).join(', ');
