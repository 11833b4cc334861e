// context.js - gives every component of the page the state, a way to change it, and the calls: usePage()
import { getContext, setContext } from 'svelte';

const KEY = 'page';

/**
 * @typedef {object} PageContext
 * @property {Readonly<import('./state.js').State>} page  the state. A template, an effect or a $derived is updated with
 *   each key that it reads; what it reads under `untrack` does not update it
 * @property {import('./store.js').Store['set']} set       writes keys of the state and announces them
 * @property {(view: string) => void} go                   opens a view, or 'models', the dialog
 * @property {import('../calls/page_calls.js').Calls} calls  the only access to the engine
 * @property {import('./store.js').Store} store            only for View.svelte, which makes a `page` of its own from it
 */

/**
 * For the components below the caller.
 * @param {PageContext} context
 */
export const providePage = (context) => setContext(KEY, context);

/**
 * The context map for `mount`.
 * @param {PageContext} context
 */
export const contextOf = (context) => new Map([[KEY, context]]);

/**
 * Call while a component is created.
 * @returns {PageContext}
 */
export const usePage = () => getContext(KEY);
