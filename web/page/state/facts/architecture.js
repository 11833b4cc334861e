// architecture.js - facts that follow from the fields of a configuration, for the whole model or for one layer

/** @typedef {Record<string, any>} Config  of a loaded model, complete */

/** Whether the activation has a gate: its output multiplies that of a second matrix. @param {Config} c */
export const isGated = (c) => /glu/.test(c.ffn);

/** Whether blocks have a feed-forward layer. @param {Config} c */
export const hasFfn = (c) => c.ffn !== 'none';

/** Whether blocks have norms. @param {Config} c */
export const hasNorms = (c) => c.norm !== 'none';

/** A layer's flag in a list that repeats over the layers; an empty list is true everywhere. */
const flagOf = (/** @type {boolean[] | undefined} */ flags, /** @type {number} */ layer) =>
  !flags?.length || flags[layer % flags.length];

/** Whether the layer has experts in the place of one feed-forward layer. @param {Config} c @param {number} layer */
export const hasExperts = (c, layer) => c.nExperts > 0 && flagOf(c.expertLayers, layer);

/** Keys that a query of the layer sees at most, itself included; 0: all. @param {Config} c @param {number} layer */
export const windowOf = (c, layer) => (flagOf(c.windowLayers, layer) ? c.slidingWindow || 0 : 0);

/** Whether the layer rotates q and k. @param {Config} c @param {number} layer */
export const rotates = (c, layer) => c.position === 'rope' && c.usePosition !== false && flagOf(c.ropeLayers, layer);

/** Whether any layer does. @param {Config} c */
export const rotatesAnywhere = (c) =>
  rotates({ ...c, ropeLayers: c.ropeLayers?.includes(true) ? [] : c.ropeLayers }, 0);

/** Components of each head that are rotated. @param {Config} c */
export const rotaryDim = (c) => c.rotaryDim || c.dHead;

/** Heads whose queries are rotated, the first ones. @param {Config} c */
export const rotaryHeads = (c) => (c.rotaryKvHeads || c.nKvHeads) * (c.nHeads / c.nKvHeads);

/** Heads of a block of the encoder of two stacks, or of any other block. @param {Config} c @param {boolean} encoder */
export const headsOf = (c, encoder) => (encoder && c.nEncoderHeads) || c.nHeads;

/** Base of the rotary frequencies of the layer. @param {Config} c @param {number} layer */
export const ropeTheta = (c, layer) => (c.ropeLocalTheta > 0 && windowOf(c, layer) ? c.ropeLocalTheta : c.ropeTheta);

/** Whether it predicts tokens. @param {Config} c */
export const predicts = (c) => c.kind !== 'encoder' && !c.nLabels;

/** Whether it says which token belongs at a place, rather than which follows. @param {Config} [c] */
export const fillsBlanks = (c) => c?.kind === 'encoder' && c.mlmHead === true;

/** Whether it reads one text and writes another. @param {Config} c */
export const hasTwoStacks = (c) => c.kind === 'encoder_decoder';

/** Whether the scores fall with the distance of the key (ALiBi). @param {Config} c */
export const hasAlibi = (c) => c.position === 'alibi' && c.usePosition !== false;

/** Whether the scores have a learned bias for each distance (T5). @param {Config} c */
export const hasDistanceBias = (c) => c.relativeBuckets > 0 && c.usePosition !== false;

/** Whether positions are added to the embedding. @param {Config} c */
export const addsPositions = (c) =>
  (c.position === 'learned' || c.position === 'sinusoidal') && c.usePosition !== false;

/** The kind of positions of a model. @param {Config} c @returns {'learned' | 'sinusoidal' | 'rope' | 'alibi' | 'distance' | 'none'} */
export function positionKind(c) {
  if (hasDistanceBias(c) && !addsPositions(c)) return 'distance';
  return c.usePosition === false || (c.position === 'rope' && !rotatesAnywhere(c)) ? 'none' : c.position;
}

/** What q · k is multiplied by in a layer. @param {Config} c @param {number} [layer] */
export function scoreScale(c, layer = 0) {
  if (c.scaleScores === false) return 1;
  const scale = c.scoreScale > 0 ? c.scoreScale : 1 / Math.sqrt(c.dHead);
  return c.scoresByLayer ? scale / (layer + 1) : scale;
}

/** Width of a row of the embedding. @param {Config} c */
export const embedWidth = (c) => c.dEmbed || c.dModel;

/** Whether the embedding is projected after positions, types and its norm. @param {Config} c */
export const isNarrow = (c) => c.dEmbed > 0 && c.kind === 'encoder';

/** Whether a layer has a norm before attention. @param {Config} c @param {number} layer */
export const hasNorm1 = (c, layer) => hasNorms(c) && (c.firstNorm !== false || layer > 0);

/** Whether a sublayer reads a norm of the stream. @param {Config} c */
export const normsBefore = (c) => hasNorms(c) && ['pre', 'sandwich'].includes(c.normPlacement);
/** Whether the output of a sublayer passes a norm before it is added. @param {Config} c */
export const normsOutput = (c) => ['sandwich', 'output'].includes(c.normPlacement);
