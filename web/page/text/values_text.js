// values_text.js - sentences about a tensor that is drawn as a picture

export const VALUES = 'Values of this stage';
export const BOX = 'Values. Arrow keys move over the cells, Enter explains one.';
export const HINT = 'Choose a value to see the terms that made it.';
export const AS_TABLE = 'As a table';
export const TABLE = 'Table of values';
export const BEFORE = 'Previous numbers';
export const AFTER = 'Next numbers';
export const NONE = 'This stage has no values to show.';

/** @param {string} point */
export const captionOf = (point) => `${point}, a row for each token`;
/** @param {number} from @param {number} to @param {number} width */
export const rangeOf = (from, to, width) => `${from} to ${to} of ${width}`;
