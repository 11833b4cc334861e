// shown_attention.js - the attention rows that the panels show, and the head they belong to
import { headsOf } from '../facts/architecture.js';
import { blockPoint } from '../facts/hook_points.js';

/** @typedef {import('../../../draw/pattern_store.js').Stack} Stack */

/** What the panels of attention show: the rows of the chosen stack, whose queries and keys they are, and which query is
 * selected. @param {import('../store/state.js').State} s */
export function shownAttention(s) {
  const { config } = s.engine.model ?? {};
  const encoder = s.attention.stack === 'encoder';
  const { layer } = s.attention.head;
  const block = encoder ? `encoder.${layer}` : blockPoint(config ?? {}, layer);
  return {
    rows:
      s.attention.stack === 'self' ? s.attention.patterns : (s.attention.otherPatterns?.[s.attention.stack] ?? null),
    queries: encoder ? s.text.sourceTokens : s.text.tokens,
    keys: s.attention.stack === 'self' ? s.text.tokens : s.text.sourceTokens,
    query: encoder ? s.text.sourceCursor : s.text.cursor,
    point: `${block}.${s.attention.stack === 'cross' ? 'cross_attn' : 'attn'}`,
    causal: !!s.attention.patterns?.causal && s.attention.stack === 'self',
    heads: config ? headsOf(config, encoder) : 0,
    layers: encoder ? (config?.nEncoderLayers ?? 0) : (config?.nLayers ?? 0),
  };
}

/**
 * Keep the selected head within the stack that is shown: of two stacks one may have more layers or heads.
 * @param {import('../store/store.js').Store} store
 */
export function keepHeadInStack({ state, set, subscribe }) {
  const check = () => {
    const { layers, heads } = shownAttention(state);
    const { layer, head } = state.attention.head;
    if (state.engine.model && (layer >= layers || head >= heads))
      set({ attention: { head: { layer: Math.min(layer, layers - 1), head: Math.min(head, heads - 1) } } });
  };
  for (const key of ['engine.model', 'attention.stack', 'attention.head']) subscribe(key, check);
}
