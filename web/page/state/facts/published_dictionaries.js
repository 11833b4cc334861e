// published_dictionaries.js - the dictionaries that others have published for models of the hub

/**
 * source: a folder of the hub. page: of a feature on Neuronpedia
 * @typedef {{ name: string, source: string, bytes: number, licence: string, page: (feature: number) => string }} Published
 */

const [WIDTH, D_MODEL, LAYERS] = [16_384, 640, 18];
const FOLDER = 'resid_post/layer_12_width_16k_l0_medium';

/** The dictionary of Gemma 3 270M. @param {'pt' | 'it'} tuning @returns {Published} */
const gemmaScope = (tuning) => ({
  name: 'Gemma Scope 2',
  source: `hf:google/gemma-scope-2-270m-${tuning}/${FOLDER}`,
  bytes: 4 * (2 * WIDTH * D_MODEL + 2 * WIDTH + D_MODEL),
  licence: 'CC BY 4.0',
  page: (feature) =>
    `https://www.neuronpedia.org/gemma-3-270m${tuning === 'it' ? '-it' : ''}/12-gemmascope-2-res-16k/${feature}`,
});
const GEMMA_SCOPE = { pt: gemmaScope('pt'), it: gemmaScope('it') };

/**
 * The dictionary for a model, which its name and shapes tell.
 * @param {{ name: string, address: string, config: any } | null} model
 * @returns {Published | null}
 */
export function publishedFor(model) {
  const called = `${model?.name} ${model?.address}`.toLowerCase();
  const { dModel, nLayers, kind } = model?.config ?? {};
  if (kind !== 'decoder' || dModel !== D_MODEL || nLayers !== LAYERS || !/gemma-?_? ?3/.test(called)) return null;
  return /[-_ ](it|instruct)\b/.test(called) ? GEMMA_SCOPE.it : GEMMA_SCOPE.pt;
}

/** The published dictionary from this address. @param {string} source */
export const publishedAt = (source) => Object.values(GEMMA_SCOPE).find((each) => each.source === source) ?? null;
