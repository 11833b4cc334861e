// prompt.js - a prompt of n tokens, the first of them <s>; no text is meant.

/** @param {number} n */
export const promptIds = (n) => Array.from({ length: n }, (_, i) => (i ? 260 + ((i * 37) % 2000) : 1));
