// drawn_pass.svelte.js - everything that the picture of a forward pass is drawn from: text and model, stages, layout,
// lanes, the values in its strips
import { MediaQuery } from 'svelte/reactivity';
import { tallPicture } from '../../../../draw/anatomy_tall.js';
import { widePicture } from '../../../../draw/anatomy_wide.js';
import { READING_MS } from '../../../state/base/speed.js';
import { valuesOfText } from '../../../state/store/answers.svelte.js';
import { hasExperts } from '../../../state/facts/architecture.js';
import { paced } from '../../../state/store/paced.svelte.js';
import { blockPoint } from '../../../state/facts/hook_points.js';
import { LOOKS, hides } from '../../../state/facts/views.js';
import { frameOf, layerOf } from './shown_lanes.js';
import { partsOf, stagesOf } from './stages.js';

const EVERY_MS = 90; // between two frames while text streams
const READ_MS = READING_MS; // between two readings of values meanwhile: the newest lane has its own before the next
const NARROWEST = 280; // px of the tall picture, at least
const FAINT = 0.16; // strength of ribbons that do not tell where a head looks
const NARROW = 'screen and (max-width: 62rem)'; // style/anatomy.css has the same limit; a picture with more columns needs more

/** Point that each strip shows. @param {any} c config @param {number} layer @returns {Record<string, string>} */
function stripPoints(c, layer) {
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
 * The values of the selected layer, read from the engine when the text rests, and now and then while it is written.
 * @param {import('../../../state/store/context.js').PageContext} context
 * @param {() => boolean} wanted  whether somebody sees the strips
 * @returns {{ readonly current: Record<string, import('../../../../draw/strip_painter.js').Tensor> | null }}  by point
 */
function capturedValues(context, wanted) {
  const { page, calls } = context;
  const asked = valuesOfText(
    context,
    () => {
      const { model, status, pace, speed } = page.engine;
      void [page.text.tokens, page.text.sourceTokens];
      const slow = pace === 'fast' || speed.msPerToken > 5;
      return wanted() && model && page.text.tokens.length && !(status === 'running' && slow)
        ? `${calls.textKey()}|${layerOf(page)}`
        : '';
    },
    () => calls.values(Object.values(stripPoints(page.engine.model?.config, layerOf(page)))),
    { everyMs: READ_MS, late: true },
  );
  return asked;
}

/** @typedef {NonNullable<ReturnType<typeof drawnPass>['current']>} Drawn */

/**
 * Call while a component is created.
 * @param {import('../../../state/store/context.js').PageContext} context
 * @param {{ seen: boolean, width: number, roomy: number }} place  reactive. seen: it is in view. width: px at the usual
 *   size of type. roomy: for the wide picture, whose type grows less in a presentation, so that it is seen whole
 */
export function drawnPass(context, place) {
  const { page } = context;
  const narrow = new MediaQuery(NARROW);
  const captured = capturedValues(context, () => place.seen);
  function snapshot() {
    return {
      text: { ...page.text },
      sampler: { ...page.sampler },
      attention: { ...page.attention },
      engine: { model: page.engine.model },
    };
  }
  /** Null while text streams out of sight. */
  const now = paced(() => ({ fresh: !place.seen && page.engine.status === 'running' ? null : snapshot() }), EVERY_MS);
  /** @type {ReturnType<typeof snapshot> | null} */
  let last = null;
  const shown = $derived.by(() => {
    const { fresh } = now.current;
    if (fresh) last = fresh;
    return { ...(last ?? snapshot()) }; // arrays grow in place: a new object each time
  });

  const model = $derived(shown.attention.patterns && shown.text.tokens.length ? shown.engine.model : null);
  const layer = $derived(layerOf(shown));
  const stages = $derived(
    model
      ? stagesOf(model.config, model.parameters.rows, layer, shown.text.tokens.length, shown.text.sourceTokens.length)
      : [],
  );
  /** What the layout depends on, as a text: it is computed anew only when this changes. */
  const shape = $derived(JSON.stringify(model && partsOf(model.config, stages)));
  const picture = $derived.by(() => {
    /** @type {import('../../../../draw/anatomy_geometry.js').Parts | null} */
    const parts = JSON.parse(shape);
    if (!parts || !place.width) return null;
    return (
      (narrow.current ? null : widePicture(parts, place.roomy)) ??
      tallPicture(parts, Math.max(NARROWEST, Math.round(place.width)))
    );
  });
  const frame = $derived.by(() => {
    if (!picture || !model) return null;
    const whole = frameOf(shown, picture.lanes.length, picture);
    if (!hides(page.view, ...LOOKS)) return whole;
    return { ...whole, lanes: whole.lanes.map((lane) => ({ ...lane, strength: FAINT, mix: null })) };
  });
  const points = $derived(model ? stripPoints(model.config, layer) : {});
  const values = $derived(
    Object.fromEntries(Object.entries(points).map(([name, point]) => [name, captured.current?.[point]])),
  );
  const drawn = $derived(
    picture && frame && model ? { shown, config: model.config, picture, frame, stages, layer, points, values } : null,
  );
  return {
    get current() {
      return drawn;
    },
  };
}
