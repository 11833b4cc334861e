// explanation.svelte.js - mounts Explanation.svelte for panels that are not components yet
import { mount } from 'svelte';
import { contextOf } from './state/context.js';
import Explanation from './views/inside/Explanation.svelte';

/**
 * @param {import('./state/store.js').State} page
 * @param {import('./state/run.js').Run} run
 * @param {string} of  what is explained here, for labels
 */
export function createExplanation(page, run, of) {
  const root = document.createElement('div');
  /** @type {{ start: import('./views/inside/explanation.js').Cell | null, of: string, empty: string }} */
  const props = $state({ start: null, of, empty: '' });
  const context = contextOf(/** @type {any} */ ({ page, run }));
  mount(Explanation, { target: root, props, context });
  return {
    root,
    /** @param {import('./views/inside/explanation.js').Cell} cell */
    show(cell) {
      props.start = cell;
    },
    /** Nothing is chosen. @param {string} words */
    clear(words) {
      props.start = null;
      props.empty = words;
    },
  };
}
