// head_in_hand.js - keeps the chosen head within the stack that is shown: of two stacks one may have more layers

import { inView } from './patterns.js';

/** @param {import('./store.js').Store} store */
export function keepHeadInStack({ state, set, subscribe }) {
  const check = () => {
    const { layers } = inView(state);
    if (state.model && state.head.layer >= layers) set({ head: { ...state.head, layer: layers - 1 } });
  };
  for (const key of ['model', 'stack', 'head']) subscribe(key, check);
}
