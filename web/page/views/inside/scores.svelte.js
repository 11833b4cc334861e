// scores.svelte.js - the scores of the selected head, from one forward pass over the text once it rests

import { scoreScale } from '../../state/architecture.js';
import { inView } from '../../state/patterns.js';
import { headScores } from './scores.js';
import { messageOf } from '../../state/error_message.js';

/** @typedef {'raw' | 'scaled' | 'masked' | 'pattern'} Stage */

/** @type {Record<Stage, string>} */
export const POINTS = {
  raw: 'hook_attn_scores_raw',
  scaled: 'hook_attn_scores_scaled',
  masked: 'hook_attn_scores',
  pattern: 'hook_pattern',
};

/**
 * Scores of all heads of an attention in this stage, from one pass over the text.
 * @param {string} point  of the attention
 * @param {keyof typeof POINTS} stage
 * @param {(points: string[]) => Promise<Record<string, any>>} values  of a pass
 * @param {any} config
 */
async function layerScores(point, stage, values, config) {
  const at = `${point}.${POINTS[stage]}`;
  if (stage === 'masked') return { scores: tensorAt(await values([at]), at), q: null, k: null };
  // the mask is added in the stage after these
  const factors = ['hook_rot_q', 'hook_rot_k', 'hook_q', 'hook_k'].map((name) => `${point}.${name}`);
  const found = await values([at, ...factors]);
  // q and k are not captured behind their norms, unless they are rotated afterwards
  const normed = config?.qkNorm && !point.endsWith('cross_attn');
  const factor = (/** @type {'q' | 'k'} */ name) =>
    found[`${point}.hook_rot_${name}`] ?? (normed ? null : (found[`${point}.hook_${name}`] ?? null));
  return { scores: tensorAt(found, at), q: factor('q'), k: factor('k') };
}

/** @param {Record<string, any>} found @param {string} point */
function tensorAt(found, point) {
  if (!found[point]) throw new Error(`The engine has no values at ${point}`);
  return found[point];
}

/** Whether scores are of what is shown now. The text may have grown, where no position sees what comes later.
 * @param {string} key @param {string} now @param {boolean} causal */
const holds = (key, now, causal) => now === key || (causal && now.startsWith(`${key},`));

/**
 * Call while a component is created.
 * @param {import('../../state/context.js').PageContext} context
 * @returns {{ readonly current: import('./scores.js').HeadScores | null }}  null: not of what is shown, or not there yet
 */
export function scoresOfHead({ page, set, run }) {
  let layer = $state.raw(/** @type {import('./scores.js').LayerScores | null} */ (null));
  let head = $state.raw(/** @type {import('./scores.js').HeadScores | null} */ (null));
  let wanted = '';

  const keyNow = () => `${inView(page).point}.${POINTS[page.attention.stage]} ${run.textKey()}`;

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
    try {
      const found = await layerScores(inView(page).point, page.attention.stage, run.values, page.run.model?.config);
      if (wanted !== key) return;
      layer = { key, ...found };
      wanted = '';
    } catch (error) {
      if (wanted !== key) return;
      wanted = '';
      if (keyNow() === key) set({ attention: { stage: 'pattern' }, view: { error: messageOf(error) } });
    }
  }

  return {
    get current() {
      void [page.text.tokens, page.text.sourceTokens, page.run.model];
      if (!head || head.of !== layer || head.head !== page.attention.head.head) return null;
      return holds(head.of.key, keyNow(), !!page.attention.patterns?.causal) ? head : null;
    },
  };
}
