// head_in_stack.js - keeps the selected head within the stack that is shown: of two stacks one may have more layers

import { inView } from './patterns.js';

/** @param {import('./store.js').Store} store */
export function keepHeadInStack({ state, set, subscribe }) {
  const check = () => {
    const { layers } = inView(state);
    if (state.run.model && state.attention.head.layer >= layers)
      set({ attention: { head: { ...state.attention.head, layer: layers - 1 } } });
  };
  for (const key of ['run.model', 'attention.stack', 'attention.head']) subscribe(key, check);
}
