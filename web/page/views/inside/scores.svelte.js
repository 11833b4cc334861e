// scores.svelte.js - the scores of the head in hand, from one forward pass over the text once it rests

import { scoreScale } from '../../state/architecture.js';
import { inView } from '../../state/patterns.js';
import { headScores } from './scores.js';

/** @typedef {'raw' | 'scaled' | 'masked' | 'pattern'} Stage */

/** @type {Record<Stage, string>} */
export const POINTS = {
  raw: 'hook_attn_scores_raw',
  scaled: 'hook_attn_scores_scaled',
  masked: 'hook_attn_scores',
  pattern: 'hook_pattern',
};

/**
 * Call while a component is created.
 * @param {import('../../state/context.js').PageContext} context
 * @returns {{ readonly current: import('./scores.js').HeadScores | null }}  null: not of what is shown, or not there yet
 */
export function scoresInHand({ page, set, run }) {
  let layer = $state.raw(/** @type {import('./scores.js').LayerScores | null} */ (null));
  let head = $state.raw(/** @type {import('./scores.js').HeadScores | null} */ (null));
  let wanted = '';

  const keyNow = () => `${inView(page).point}.${POINTS[page.attention.stage]} ${run.textKey()}`;
  /** Whether these are of what is shown. The text may have grown, where no position sees what comes later. */
  const holds = (/** @type {string} */ key) => {
    void [page.text.tokens, page.text.sourceTokens, page.run.model];
    const now = keyNow();
    return now === key || (!!page.attention.patterns?.causal && now.startsWith(`${key},`));
  };

  $effect(() => {
    const { stage } = page.attention,
      { status, model } = page.run,
      { tokens } = page.text;
    if (stage === 'pattern' || status === 'running' || !tokens.length || !model) return;
    void page.text.sourceTokens;
    const key = keyNow();
    if (layer?.key === key || wanted === key) return;
    wanted = key;
    void ask(key);
  });
  $effect(() => () => {
    wanted = ''; // answers that come later are dropped
  });

  $effect(() => {
    const of = layer;
    const index = page.attention.head.head;
    if (!of || !page.run.model || index >= of.scores.shape[0]) return;
    const scale = of.key.includes(`${POINTS.raw} `) ? 1 : scoreScale(page.run.model.config);
    let live = true;
    void headScores(of, index, scale).then((scores) => {
      if (live) head = scores;
    });
    return () => {
      live = false;
    };
  });

  /** @param {string} key */
  async function ask(key) {
    const { point } = inView(page);
    const { stage } = page.attention;
    const at = `${point}.${POINTS[stage]}`;
    // the mask is added in the stage after these
    const factors =
      stage === 'masked' ? [] : ['hook_rot_q', 'hook_rot_k', 'hook_q', 'hook_k'].map((p) => `${point}.${p}`);
    try {
      const found = await run.values([at, ...factors]);
      if (wanted !== key) return;
      if (!found[at]) throw new Error(`The engine has no values at ${at}`);
      // q and k are not captured behind their norms, unless they are rotated afterwards
      const plain = (/** @type {string} */ of) =>
        page.run.model?.config.qkNorm && !point.endsWith('cross_attn') ? undefined : found[`${point}.hook_${of}`];
      const factor = (/** @type {'q' | 'k'} */ of) =>
        stage === 'masked' ? null : (found[`${point}.hook_rot_${of}`] ?? plain(of) ?? null);
      layer = { key, scores: found[at], q: factor('q'), k: factor('k') };
      wanted = '';
    } catch (error) {
      if (wanted !== key) return;
      wanted = '';
      if (keyNow() === key)
        set({
          attention: { stage: 'pattern' },
          view: { error: error instanceof Error ? error.message : String(error) },
        });
    }
  }

  return {
    get current() {
      return head && head.of === layer && head.head === page.attention.head.head && holds(head.of.key) ? head : null;
    },
  };
}
