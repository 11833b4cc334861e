// head_in_stack.js - keeps the selected head within the stack that is shown: of two stacks one may have more layers or heads

import { shownAttention } from './shown_attention.js';

/** @param {import('./store.js').Store} store */
export function keepHeadInStack({ state, set, subscribe }) {
  const check = () => {
    const { layers, heads } = shownAttention(state);
    const { layer, head } = state.attention.head;
    if (state.run.model && (layer >= layers || head >= heads))
      set({ attention: { head: { layer: Math.min(layer, layers - 1), head: Math.min(head, heads - 1) } } });
  };
  for (const key of ['run.model', 'attention.stack', 'attention.head']) subscribe(key, check);
}
