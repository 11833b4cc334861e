// summary.js - the sentences of the parameters in short

export const SUMMARY = {
  title: 'Parameters',
  total: (/** @type {string} */ n) => `${n} numbers, all of them learned`,
  more: 'Every tensor, with formulas and bytes',
};
