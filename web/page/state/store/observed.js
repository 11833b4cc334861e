// observed.js - the state as Svelte components read it. A component that reads a key is updated when the store announces
// that key, at most once a frame. Values are those of the store, not copies: an array that grew in place is announced
// like a new one.
import { createSubscriber } from 'svelte/reactivity';

/** @typedef {import('./state.js').State} State */

/**
 * Holds updates back while it is closed, for components that are not seen.
 * @param {boolean} open
 */
export function createGate(open) {
  /** @type {Set<() => void>} */
  const waiting = new Set();
  return {
    /** @param {() => void} update */
    pass(update) {
      if (open) update();
      else waiting.add(update);
    },
    /** @param {boolean} opened */
    set(opened) {
      open = opened;
      if (!open) return;
      for (const update of waiting) update();
      waiting.clear();
    },
  };
}

/**
 * @param {import('./store.js').Store} store
 * @param {ReturnType<typeof createGate>} [gate]
 * @returns {Readonly<State>}
 */
export function observed(store, gate) {
  const watched = (/** @type {string} */ group) => {
    const values = store.state[group],
      view = {};
    for (const key of Object.keys(values)) {
      const subscribe = createSubscriber((update) =>
        store.subscribe(`${group}.${key}`, gate ? () => gate.pass(update) : update),
      );
      Object.defineProperty(view, key, {
        enumerable: true,
        get() {
          subscribe();
          return values[key];
        },
      });
    }
    return view;
  };
  return /** @type {any} */ (Object.fromEntries(Object.keys(store.state).map((group) => [group, watched(group)])));
}
