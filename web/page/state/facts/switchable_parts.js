// switchable_parts.js - the parts of a model that can be switched off, by the keys that state and address carry. '3.1'
// is head 1 of layer 3, '3.ffn' its FFN, '3.n17' a neuron of that FFN; in an encoder-decoder 'x3.1' is a head of
// cross-attention, and 'e3.1', 'e3.ffn', 'e3.n17' are parts of the encoder.

import { say } from '../base/language.js';
import { hasExperts, hasFfn, headsOf } from './architecture.js';
import { blockPoint } from './hook_points.js';

const KEY = /^(?:(e?)(\d+)\.(?:(\d+)|(ffn)|n(\d+))|(x)(\d+)\.(\d+))$/;

/** @typedef {{ key: string, name: string, edit: { at: string, scale: 0, head?: number, index?: number } }} Part */

/** @param {string} key */
export const isPart = (key) => KEY.test(key);

/**
 * The key of a head in one of the attentions.
 * @param {import('../calls/shown_attention.js').Stack} stack
 * @param {number} layer
 * @param {number} head
 */
export const headKey = (stack, layer, head) => `${{ self: '', encoder: 'e', cross: 'x' }[stack]}${layer}.${head}`;

/**
 * What this model has under a key, and how the library is told to leave it out.
 * @param {any} config
 * @param {string} key
 * @returns {Part | undefined}
 */
export function partOf(config, key) {
  const match = KEY.exec(key);
  if (!match) return undefined;
  const [, e, l, h, ffn, n, x, lx, hx] = match;
  const two = config.kind === 'encoder_decoder';
  const layer = Number(x ? lx : l);
  if (((e || x) && !two) || layer >= (e ? config.nEncoderLayers : config.nLayers)) return undefined;
  const block = e ? `encoder.${layer}` : blockPoint(config, layer);
  const name = e ? say`encoder layer ${layer + 1}` : say`layer ${layer + 1}`;
  if (ffn)
    return hasFfn(config)
      ? { key, name: say`${name}, FFN`, edit: { at: `${block}.hook_mlp_out`, scale: 0 } }
      : undefined;
  if (n)
    return Number(n) < config.dFf && !hasExperts(config, layer)
      ? { key, name: say`${name}, neuron ${n}`, edit: { at: `${block}.mlp.hook_post`, index: Number(n), scale: 0 } }
      : undefined;
  const head = Number(x ? hx : h);
  if (head >= headsOf(config, !!e)) return undefined;
  return {
    key,
    name: x ? say`${name}, head ${head + 1}, across` : say`${name}, head ${head + 1}`,
    edit: { at: `${block}.${x ? 'cross_attn' : 'attn'}.hook_z`, head, scale: 0 },
  };
}

/** A list with this item, or without it where it was there. @template T @param {T[]} list @param {T} item */
export const toggled = (list, item) => (list.includes(item) ? list.filter((each) => each !== item) : [...list, item]);

/**
 * @param {any} config
 * @param {string[]} keys
 */
export const editsOf = (config, keys) =>
  keys
    .map((key) => partOf(config, key))
    .filter((p) => p !== undefined)
    .map((p) => p.edit);
