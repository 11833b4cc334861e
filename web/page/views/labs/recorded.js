// recorded.js - the last full run of each lab on the command line: what it found, and its figures, which are fetched when
// the lab is opened

/** @typedef {import('glassformer/labs').Figure} Figure */

/** @type {Record<string, import('glassformer/labs').LabResult>} */
const RESULTS = import.meta.glob('../../../lib/apps/labs/results/*.json', { eager: true, import: 'default' });
/** @type {Record<string, () => Promise<any>>} */
const FIGURES = import.meta.glob('./recorded/*.json', { import: 'default' });

/** @param {string} lab  its name */
export const resultOf = (lab) => RESULTS[`../../../lib/apps/labs/results/${lab}.json`];

/** Drawings first, then texts. @param {Figure[]} figures */
export const drawingsFirst = (figures) =>
  [...figures].sort((a, b) => Number(a.kind === 'texts') - Number(b.kind === 'texts'));

/** None where they cannot be fetched. @param {string} lab @returns {Promise<Figure[]>} */
export const figuresOf = async (lab) =>
  drawingsFirst((await FIGURES[`./recorded/${lab}_figures.json`]?.().catch(() => [])) ?? []);
