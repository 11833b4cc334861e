// views.js - the views of the page, how an address names one, and their panels that an address can hide
import { say } from '../base/language.js';

/** @typedef {'write' | 'inside' | 'count' | 'experiment' | 'train' | 'learn' | 'labs' | 'features'} View */

/** @type {{ id: View, name: string }[]} in the order of their tabs */
export const VIEWS = [
  { id: 'write', name: say`Write` },
  { id: 'inside', name: say`Inside` },
  { id: 'count', name: say`Count` },
  { id: 'experiment', name: say`Experiment` },
  { id: 'train', name: say`Train` },
  { id: 'learn', name: say`Learn` },
  { id: 'labs', name: say`Labs` },
  { id: 'features', name: say`Features` },
];

/**
 * The view that an address names, or that shows the lab that it names.
 * @param {string} hash
 * @returns {View}
 */
export function viewOf(hash) {
  const q = new URLSearchParams(hash.slice(1));
  return VIEWS.find(({ id }) => id === q.get('view'))?.id ?? (q.has('lab') ? 'labs' : 'write');
}

/** What a link for a class can hide: wherever the page tells it, not in one panel only. */
export const CONCEALABLE = ['next', 'heads', 'attention', 'lens', 'parameters'];

/** The panels that show where the heads look: in small and in large. */
export const LOOKS = ['heads', 'attention'];

/**
 * Whether the address hides one of these.
 * @param {import('../store/state.js').State['view']} view
 * @param {...string} names
 */
export const hides = ({ assignment: { concealed } }, ...names) => names.some((name) => concealed.includes(name));

/** Whether what Write and Inside share shows less of itself, since text and parameters stand beside it. @param {import('../store/state.js').State['view']} view */
export const isBrief = ({ id, present }) => id === 'write' && !present;
