// numbers.js - sums over lists that several labs need

/** @param {ArrayLike<number>} list */
export const mean = (list) => Array.from(list).reduce((sum, x) => sum + x, 0) / list.length;

/** The largest number of a list. @param {ArrayLike<number>} list */
export const largest = (list) => Array.from(list).reduce((most, x) => Math.max(most, x), -Infinity);
