// captured.svelte.js - the values of the selected layer for the strips of the anatomy, read from the engine when the text
// rests, and now and then while it is written
import { answerTo } from '../../../state/answers.svelte.js';
import { hasExperts } from '../../../state/architecture.js';
import { blockPoint } from '../../../state/points.js';
import { layerOf } from './frame.js';

const EVERY_MS = 500; // between two readings while the text is written

/** Point that each strip shows. @param {any} c config @param {number} layer @returns {Record<string, string>} */
export function stripPoints(c, layer) {
  const block = blockPoint(c, layer);
  return {
    embed: `${block}.hook_resid_pre`,
    q: `${block}.attn.hook_q`,
    k: `${block}.attn.hook_k`,
    v: `${block}.attn.hook_v`,
    out: `${block}.hook_attn_out`,
    added: `${block}.hook_cross_attn_out`,
    ffn: `${block}.${hasExperts(c, layer) ? 'hook_mlp_out' : 'mlp.hook_post'}`,
    resid: `${block}.hook_resid_post`,
    more: `${blockPoint(c, c.nLayers - 1)}.hook_resid_post`,
  };
}

/**
 * Call while a component is created.
 * @param {import('../../../state/context.js').PageContext} context
 * @param {() => boolean} wanted  whether somebody sees the strips
 * @returns {{ readonly current: Record<string, import('../../../../draw/strips.js').Tensor> }}  by point
 */
export function capturedValues(context, wanted) {
  const { page, run } = context;
  const keyNow = () => (page.run.model ? `${layerOf(page)} ${run.textKey()}` : '');
  const asked = answerTo(
    () => {
      const { model, status, pace, speed } = page.run;
      void [page.text.tokens, page.text.sourceTokens];
      const slow = pace === 'fast' || speed.msPerToken > 5;
      return wanted() && model && page.text.tokens.length && !(status === 'running' && slow) ? keyNow() : '';
    },
    () => run.values(Object.values(stripPoints(page.run.model?.config, layerOf(page)))),
    { everyMs: EVERY_MS },
  );
  return {
    /** Of a text that has grown the values are the same at its positions. */
    get current() {
      void [page.text.tokens, page.text.sourceTokens];
      return asked.to && `${keyNow()},`.startsWith(`${asked.to},`) ? (asked.current ?? {}) : {};
    },
  };
}
