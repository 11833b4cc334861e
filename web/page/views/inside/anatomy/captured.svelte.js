// captured.svelte.js - the values of the selected layer for the strips of the anatomy, read from the engine when the text
// rests, and now and then while it is written
import { untrack } from 'svelte';
import { hasExperts } from '../../../state/architecture.js';
import { blockPoint } from '../../../state/points.js';
import { layerOf } from './frame.js';

/** @typedef {Record<string, { data: Float32Array, shape: number[] }>} Captured  by point */

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
 * @returns {{ readonly current: Captured }}
 */
export function capturedValues({ page, run }, wanted) {
  let current = $state.raw(/** @type {Captured} */ ({}));
  let asked = $state.raw(0); // questions answered: the text may have grown meanwhile
  let of = ''; // layer and text that was asked about last
  let busy = false;
  let askedAt = -Infinity;
  let gone = false;
  const keyNow = () => (page.run.model ? `${layerOf(page)} ${run.textKey()}` : '');
  /** Whether a text is the beginning of another, whose values at its positions are the same. @param {string} then @param {string} now */
  const begins = (then, now) => then !== '' && `${now},`.startsWith(`${then},`);

  /** @param {string} key @param {string[]} points */
  async function ask(key, points) {
    busy = true;
    askedAt = performance.now();
    /** @type {Captured} */
    const got = await run.values(points).catch(() => ({})); // the strips stay empty
    busy = false;
    if (gone) return;
    of = key;
    current = begins(key, keyNow()) ? got : {};
    asked++;
  }

  $effect(() => {
    void asked;
    const { model, status, pace, speed } = page.run,
      { tokens } = page.text;
    void page.text.sourceTokens;
    const key = keyNow();
    if (!wanted() || !model || !tokens.length || busy || key === of) return;
    if (!begins(of, key)) untrack(() => (current = {}));
    const written = status === 'running';
    if (written && (pace === 'fast' || speed.msPerToken > 5 || performance.now() - askedAt < EVERY_MS)) return;
    void ask(key, Object.values(stripPoints(model.config, layerOf(page))));
  });
  $effect(() => () => {
    gone = true;
  });
  return {
    get current() {
      return current;
    },
  };
}
