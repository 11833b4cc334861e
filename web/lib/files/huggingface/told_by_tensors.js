// told_by_tensors.js - what the names and shapes of tensors tell about the configuration of a decoder
import { completeConfig } from '../../engine/config/config.js';
import { MAX_LAYERS } from '../../engine/config/layer_flags.js';
import { sharesMemory } from './tensor_aliases.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Entry, Place } from '../../engine/config/tensor_plan.js' */
/** @import { Json } from './families_common.js' */
/**
 * A weight of a checkpoint. shape: [out, in]; heads: how many it has, where they have an axis or tensors of their own.
 * @typedef {{shape: number[], covers: string[], entry: Entry, heads?: number}} Told
 */

/** Fields without which a roster lacks some weights. */
const EVERY_PART =
  'final_norm norm_gain embed_norm qk_norm bias_qkv bias_qk_norm bias_attn_out bias_ffn bias_norm bias_head';
/**
 * A configuration whose roster has every name that a decoder's weights can have. Its sizes mean nothing.
 * @param {number} layers
 * @returns {Config}
 */
export const largest = (layers) => ({
  ...completeConfig({ vocab_size: 1, d_model: 2, n_layers: 1, n_heads: 1 }),
  n_layers: layers,
  norm: 'layernorm',
  norm_placement: 'sandwich',
  position: 'learned',
  ffn: 'swiglu',
  ...Object.fromEntries(EVERY_PART.split(' ').map((field) => [field, true])),
  tie_word_embeddings: false,
});

/**
 * The number of layers: the largest number of one that has a weight of the first layer, plus 1.
 * @param {Entry[]} entries
 * @param {Map<string, unknown>} places  of the first layer
 * @param {string} prefix  of its number
 */
export function layersOf(entries, places, prefix) {
  let most = 0;
  for (const { name } of entries) {
    if (!name.startsWith(prefix)) continue;
    const [, layer, weight] = /^(\d+)(\..*)$/.exec(name.slice(prefix.length)) ?? [];
    if (Number(layer) >= most && places.has(`${prefix}0${weight}`)) most = Number(layer);
  }
  return most + 1;
}

/**
 * A number of layers that the caller's names do not exceed: the largest number in the names, plus 1. Each layer has a
 * tensor.
 * @param {Entry[]} entries
 */
export function layersAtMost(entries) {
  let most = -1;
  for (const { name } of entries) for (const [n] of name.matchAll(/\d+/g)) most = Math.max(most, Number(n));
  return Math.min(most + 1, entries.length, MAX_LAYERS);
}

/**
 * A shape of attention in which the heads have an axis, without it: [out, in] and the number of heads.
 * @param {number[]} shape
 * @param {string} name  of the weight
 * @param {Place['layout']} layout
 * @param {number} width  of the residual stream
 * @returns {{shape: number[], heads?: number}}
 */
function withoutHeadAxis([a, b, c], name, layout, width) {
  const isOut = name.includes('attn.o.');
  if (layout !== 'cols') return isOut ? { shape: [a, b * c] } : { shape: [a * b, c], heads: a };
  if (isOut) return { shape: [c, a * b] };
  return b === width ? { shape: [a * c, b], heads: a } : { shape: [b * c, a], heads: b };
}

/**
 * The weights under our names.
 * @param {Entry[]} entries
 * @param {Map<string, Place>} places
 * @returns {Map<string, Told>}
 */
export function shapesOf(entries, places) {
  /** @type {Map<string, Told>} */
  const shapes = new Map();
  const embed = entries.find(({ name }) => places.get(name)?.covers.includes('embed.weight'));
  const width = embed?.shape.at(-1) ?? 0;
  for (const entry of entries) {
    const place = places.get(entry.name);
    if (!place) continue;
    const [first] = place.covers;
    const whole =
      entry.shape.length === 3 && /\.attn\.[qkvo]\.weight$/.test(first)
        ? withoutHeadAxis(entry.shape, first, place.layout, width)
        : { shape: place.layout === 'cols' ? [...entry.shape].reverse() : entry.shape };
    const heads = whole.heads ?? entry.arrangement?.parts.length;
    for (const name of place.covers) shapes.set(name, { ...whole, heads, covers: place.covers, entry });
  }
  return shapes;
}

/** The weights that every decoder has. */
const NEEDED = ['embed.weight', 'blocks.0.attn.q.weight', 'blocks.0.attn.o.weight', 'blocks.0.ffn.down.weight'];

/**
 * The weights that every decoder has and that the names lack.
 * @param {Map<string, Told>} shapes
 * @param {Json} given  the caller's configuration
 */
export function missingWeights(shapes, { ffn }) {
  const isMatrix = (/** @type {string} */ name) => shapes.get(name)?.shape.length === 2;
  const names = ffn === 'none' ? NEEDED.slice(0, 3) : NEEDED;
  return names.filter((name) => !isMatrix(name) && !(name === 'embed.weight' && isMatrix('head.weight')));
}

/**
 * The fields that names and shapes tell. None of missingWeights is missing.
 * @param {Map<string, Told>} shapes
 * @param {{n_heads?: number, d_head?: number}} given
 * @param {number} offset  rows of a table of positions before that of position 0
 * @returns {Json}
 */
export function fieldsOf(shapes, given, offset) {
  const of = (/** @type {string} */ name) => shapes.get(name)?.shape;
  const has = (/** @type {string} */ name) => shapes.has(name);
  const inBlock = (/** @type {string} */ names, end = 'bias') =>
    names.split(' ').some((name) => has(`blocks.0.${name}.${end}`));
  const told = (/** @type {string} */ name) => /** @type {Told} */ (shapes.get(name));
  const embed = told('embed.weight') ?? told('head.weight');
  const q = told('blocks.0.attn.q.weight');
  const down = of('blocks.0.ffn.down.weight');
  const [, width] = told('blocks.0.attn.o.weight').shape;
  const fused = q.covers.filter((name) => /\.attn\.[qkv]\.weight$/.test(name)).length === 3;
  const kv = fused ? (q.shape[0] - width) / 2 : (of('blocks.0.attn.k.weight')?.[0] ?? 0);
  const perHead = of('blocks.0.attn.q_norm.weight')?.[0];
  const own = perHead !== undefined && perHead < width ? perHead : undefined;
  const n = given.n_heads ?? q.heads ?? (given.d_head || own ? width / (given.d_head ?? own ?? 1) : undefined);
  const head = shapes.get('head.weight');
  const layers = [...shapes.keys()].reduce(
    (l, name) => Math.max(l, Number(/^blocks\.(\d+)\./.exec(name)?.[1] ?? -1)),
    -1,
  );
  const position = of('position.weight');
  const isLayerNorm = inBlock('norm1') || has('final_norm.bias');
  return {
    vocab_size: embed.shape[0],
    d_model: embed.shape[1],
    n_layers: layers + 1,
    ...(down && { d_ff: down[1] }),
    ...(n && { n_heads: n, d_head: width / n, n_kv_heads: (kv * n) / width }),
    ...(position && { position: 'learned', context_length: /** @type {number} */ (position.at(-2)) - offset }),
    ...(isLayerNorm && { norm: 'layernorm' }),
    ...(inBlock('ffn.gate', 'weight') && { ffn: 'swiglu' }),
    final_norm: has('final_norm.weight') || has('final_norm.bias'),
    ...(inBlock('norm1_post', 'weight') && { norm_placement: 'sandwich' }),
    qk_norm: perHead !== undefined,
    bias_qkv: inBlock('attn.q attn.k attn.v'),
    bias_attn_out: inBlock('attn.o'),
    bias_ffn: inBlock('ffn.gate ffn.up ffn.down'),
    bias_norm: isLayerNorm,
    bias_head: has('head.bias'),
    norm_gain: inBlock('norm1', 'weight'),
    tie_word_embeddings: !head || (embed.entry !== head.entry && sharesMemory(embed.entry, head.entry)),
    width,
    kv,
  };
}

/**
 * Heads with which shapes can be compared where their number is not known.
 * @param {number} width  of all query heads
 * @param {number} kv  of all key heads
 */
export function trialHeads(width, kv) {
  let [a, b] = [width, kv];
  while (b) [a, b] = [b, a % b];
  return { n_heads: width / a, d_head: a, n_kv_heads: kv / a };
}
