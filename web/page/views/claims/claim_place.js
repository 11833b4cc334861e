// claim_place.js - opens what shows a claim: a model, and a page of the textbook or the panel that counts
import { PRESETS } from 'glassformer';
import { shippedModelAt } from '../../state/facts/shipped_models.js';

/** @typedef {import('./tutorial_sections.js').Place} Place */

/** Token ids for models with random weights. */
const IDS = '3 14 15 9 26 5';

/** A configuration: the fields of a preset, some of them changed. @param {any} model @returns {any} */
export const configOf = ({ preset, ...changes }) => ({
  ...PRESETS[/** @type {import('glassformer').Preset} */ (preset)],
  ...changes,
});

/** Its address. @param {Place} place */
export function addressOfPlace({ page, model }) {
  if (page === 'compare') return `#view=experiment&preset=${model}`;
  const of = shippedModelAt(model)
    ? { model }
    : { made: JSON.stringify({ ...configOf(model), seed: 1 }), prompt: IDS, source: IDS };
  return `#${new URLSearchParams({ learn: page, .../** @type {any} */ (of) })}`;
}

/**
 * Open it here, without loading the page again.
 * @param {Place} place
 * @param {import('../../state/store/context.js').PageContext} context
 */
export async function openPlace({ page: place, model }, { page, set, calls, go }) {
  if (place === 'compare') {
    set({ view: { preset: model, learn: '' } });
    return go('experiment');
  }
  const shipped = shippedModelAt(model);
  if (shipped) {
    const { file, name, opens } = shipped;
    await calls.loadModel(new URL(file, document.baseURI), { name, address: file, opens });
    if (page.engine.model?.address !== file) return; // it did not come: the notice says why
    await calls.answerSource();
  } else if (!(await calls.make(configOf(model), 1, { prompt: IDS, source: IDS }))) return;
  set({ view: { learn: place } });
}
