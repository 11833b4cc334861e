// drawn_pass.svelte.js - what the picture of a forward pass is drawn of: the text and model that it shows, its stages, its
// layout, what its lanes show and the values in its strips
import { MediaQuery } from 'svelte/reactivity';
import { tallPicture } from '../../../../draw/anatomy_tall.js';
import { widePicture } from '../../../../draw/anatomy_wide.js';
import { LOOKS, hides } from '../../../state/views.js';
import { paced } from '../../../state/paced.svelte.js';
import { capturedValues, stripPoints } from './captured.svelte.js';
import { frameOf, layerOf } from './frame.js';
import { partsOf, stagesOf } from './stages.js';

const EVERY_MS = 90; // between two frames while text streams
const NARROWEST = 280; // px of the tall picture, at least
const FAINT = 0.16; // strength of ribbons that do not tell where a head looks
const NARROW = 'max-width: 62rem'; // as in style/anatomy.css; a picture with more columns needs more

/** @typedef {NonNullable<ReturnType<typeof drawnPass>['current']>} Drawn */

/**
 * Call while a component is created.
 * @param {import('../../../state/context.js').PageContext} context
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
      run: { model: page.run.model },
    };
  }
  /** Null while text streams out of sight. */
  const now = paced(() => ({ fresh: !place.seen && page.run.status === 'running' ? null : snapshot() }), EVERY_MS);
  /** @type {ReturnType<typeof snapshot> | null} */
  let last = null;
  const shown = $derived.by(() => {
    const { fresh } = now.current;
    if (fresh) last = fresh;
    return { ...(last ?? snapshot()) }; // arrays grow in place: a new object each time
  });

  const model = $derived(shown.attention.patterns && shown.text.tokens.length ? shown.run.model : null);
  const layer = $derived(layerOf(shown));
  const stages = $derived(
    model
      ? stagesOf(model.config, model.parameters.rows, layer, shown.text.tokens.length, shown.text.sourceTokens.length)
      : [],
  );
  /** What the layout depends on, as a text: it is computed anew only when this changes. */
  const shape = $derived(JSON.stringify(model && partsOf(model.config, stages)));
  const picture = $derived.by(() => {
    /** @type {import('../../../../draw/anatomy.js').Parts | null} */
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
    Object.fromEntries(Object.entries(points).map(([name, point]) => [name, captured.current[point]])),
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
