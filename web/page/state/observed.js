// observed.js - the state as Svelte components read it. A component that reads a key is updated when the store announces
// that key, at most once a frame. Values are those of the store, not copies: an array that grew in place is announced
// like a new one.
import { createSubscriber } from 'svelte/reactivity';

/** @typedef {import('./store.js').State} State */

/**
 * @param {import('./store.js').Store} store
 * @returns {Readonly<State>}
 */
export function observed(store) {
  const view = {};
  for (const key of /** @type {(keyof State)[]} */ (Object.keys(store.state))) {
    const subscribe = createSubscriber((update) => store.subscribe(key, update));
    Object.defineProperty(view, key, {
      enumerable: true,
      get() {
        subscribe();
        return store.state[key];
      },
    });
  }
  return /** @type {Readonly<State>} */ (view);
}
