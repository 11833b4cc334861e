// selected_scores.svelte.js - the scores of the selected head, from one forward pass over the text once it rests

import { textQuestion, answerTo, stillValid } from '../../state/store/answers.svelte.js';
import { scoreScale } from '../../state/facts/architecture.js';
import { shownAttention } from '../../state/calls/shown_attention.js';
import { headScores } from './query_key_scores.js';
import { messageOf } from '../../state/base/error_message.js';

/** @typedef {'raw' | 'scaled' | 'masked' | 'pattern'} Form */

/** @type {Record<Form, string>} */
export const POINTS = {
  raw: 'hook_attn_scores_raw',
  scaled: 'hook_attn_scores_scaled',
  masked: 'hook_attn_scores',
  pattern: 'hook_pattern',
};

/**
 * Scores of all heads of an attention in this form, from one pass over the text.
 * @param {string} point  of the attention
 * @param {keyof typeof POINTS} form
 * @param {(points: string[]) => Promise<Record<string, any>>} values  of a pass
 * @param {any} config
 */
async function layerScores(point, form, values, config) {
  const at = `${point}.${POINTS[form]}`;
  if (form === 'masked') return { scores: tensorAt(await values([at]), at), q: null, k: null };
  // the mask is added after these
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

/**
 * Call while a component is created.
 * @param {import('../../state/store/context.js').PageContext} context
 * @returns {{ readonly current: import('./query_key_scores.js').HeadScores | null }}  null: not of what is shown, or not there yet
 */
export function scoresOfHead(context) {
  const { page, set, calls } = context;
  const keyNow = () => `${shownAttention(page).point}.${POINTS[page.attention.form]} ${calls.textKey()}`;
  const layer = answerTo(
    () => (page.attention.form === 'pattern' ? '' : textQuestion(context) && keyNow()),
    async () => {
      const key = keyNow();
      const { form } = page.attention;
      try {
        return {
          key,
          scale: form === 'raw' ? 1 : scoreScale(page.engine.model?.config ?? {}, page.attention.head.layer),
          ...(await layerScores(shownAttention(page).point, form, calls.values, page.engine.model?.config)),
        };
      } catch (error) {
        if (keyNow() === key) set({ attention: { form: 'pattern' }, view: { error: messageOf(error) } });
        return null;
      }
    },
  );
  const head = answerTo(
    () => (layer.current ? `${layer.to} ${page.attention.head.head}` : ''),
    async () => {
      const of = /** @type {NonNullable<typeof layer.current>} */ (layer.current);
      return headScores(of, Math.min(page.attention.head.head, of.scores.shape[0] - 1), of.scale);
    },
  );
  return {
    get current() {
      void [page.text.tokens, page.text.sourceTokens, page.engine.model];
      const found = head.current;
      if (!found || found.of !== layer.current || found.head !== page.attention.head.head) return null;
      return stillValid(found.of.key, keyNow(), !!page.attention.patterns?.causal) ? found : null;
    },
  };
}
