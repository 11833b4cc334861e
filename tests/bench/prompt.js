// prompt.js - a prompt of n tokens, of which the first is <s>; the others have no meaning as a text.

/** @param {number} n */
export const promptIds = (n) => Array.from({ length: n }, (_, i) => (i ? 260 + ((i * 37) % 2000) : 1));
