// hook_points.js - names of the hook points in a model that the page reads, see the library's `points`

/** Attention weights of every layer, cross-attention's too. */
export const PATTERNS = '*attn.hook_pattern';

/**
 * Points of a decoder's block begin with this.
 * @param {any} config
 * @param {number} layer
 */
export const blockPoint = (config, layer) =>
  config.kind === 'encoder_decoder' ? `decoder.${layer}` : `blocks.${layer}`;

/** Attention weights of the attention that has this point. @param {string} at */
export const patternAt = (at) => at.replace(/hook_\w+$/, 'hook_pattern');

/**
 * Attention weights of one layer of a decoder.
 * @param {any} config
 * @param {number} layer
 */
export const patternOf = (config, layer) => `${blockPoint(config, layer)}.attn.hook_pattern`;
