// estimate.js - computes parameters, floating-point operations and bytes of a model from its configuration alone
import { completeConfig, windowOf, headWidth } from '../engine/config/config.js';
import { isGated } from '../engine/config/config_fields.js';
import { BLOCKS, KEPT, isKept } from '../base/dtype_names.js';
import { fail, show } from '../base/errors.js';
import { LIMITS, unchecked, checkedOptions, jsonCopy, checkedText } from '../base/checks.js';
import { readConfig } from '../files/huggingface/huggingface.js';
import { presetConfig } from '../engine/config/presets.js';
import { dtypeBytes, parameterTable } from '../engine/config/weight_roster.js';

/** Types of the key/value cache. */
const CACHED = ['f32', 'f16', 'q8_0'];

/**
 * @typedef {object} Estimate
 * @property {number} flopsPerToken2N   the rule of thumb: two operations per parameter that a token uses
 * @property {number} flopsPerToken     two operations per multiply-add of one new token at the end of contextLength
 * @property {number} weightBytes       all weights, stored in the given dtype
 * @property {number} kvBytes           keys and values of contextLength positions, for the whole batch
 * @property {number} activationBytes   f32 buffers of a forward pass over batch sequences of contextLength positions
 */

/**
 * A caller's configuration or preset name as a complete configuration.
 * @param {import('../engine/config/config_input.js').ConfigInput} config
 * @returns {import('../engine/config/config.js').Config}
 */
export function configOf(config) {
  return typeof config === 'string'
    ? completeConfig(presetConfig(checkedText(config, 'the preset', LIMITS.word)), `preset ${config}`)
    : readConfig(jsonCopy(config, 'the configuration', { code: 'bad-config', functions: true }));
}

/**
 * @typedef {object} EstimateOptions
 * @property {number} contextLength  positions in the key/value cache
 * @property {number} [batch]        sequences; default 1
 * @property {'f32'|'f16'|'bf16'|'q8_0'|'q4_0'|'q4_1'|'q4_k'|'q6_k'|'q5_0'|'q5_1'} [dtype]  weights; default f32
 * @property {'f32'|'f16'|'q8_0'} [kvDtype]  type of the key/value cache; default f16
 */
/**
 * Bytes of the keys and values of one position in one attention. The engine's int8 cache has a float scale for each key
 * and value of a head, and pads a key's columns to a multiple of 4.
 * @param {number} heads  number of key/value heads
 * @param {number} dHead
 * @param {string} dtype
 */
const keyValueBytes = (heads, dHead, dtype) =>
  dtype === 'q8_0'
    ? heads * (Math.ceil(dHead / 4) * 4 + dHead + 8)
    : 2 * dtypeBytes(heads * dHead, /** @type {any} */ (dtype));

/**
 * The public call of index.js.
 * @param {import('../engine/config/config_input.js').ConfigInput} config
 * @param {EstimateOptions} options
 * @returns {Estimate}
 */
export function estimate(config, options) {
  const c = configOf(config);
  const checks = { contextLength: unchecked, batch: unchecked, dtype: unchecked, kvDtype: unchecked };
  const { contextLength, batch = 1, dtype = 'f32', kvDtype = 'f16' } = checkedOptions('estimate', options, checks);
  for (const [name, v] of Object.entries({ contextLength, batch })) {
    if (!Number.isInteger(v) || v < 1) fail('bad-argument', `${name} is ${show(v)}, expected a whole number from 1`);
  }
  if (!isKept(dtype)) fail('bad-argument', `dtype is ${show(dtype)}, expected one of ${KEPT}`);
  if (!CACHED.includes(kvDtype)) fail('bad-argument', `kvDtype is ${show(kvDtype)}, expected one of ${CACHED}`);
  const [blockCols] = BLOCKS[dtype];
  const { rows, active } = parameterTable(c);
  const vectors = dtype.startsWith('q') ? 'f32' : dtype;
  const weightBytes = rows.reduce((sum, { shape, count }) => {
    const isStored = shape.length === 2 && shape[1] % blockCols === 0;
    return sum + dtypeBytes(count, isStored ? dtype : vectors);
  }, 0);
  // rounded: the means of experts may have fractions, their sum is a whole number
  const products = Math.round(rows.reduce((sum, { flops }) => sum + flops, 0));
  // a query sees the keys of its window, without the causal mask on both sides
  const inLayers = (/** @type {number} */ n, causal = c.causal) =>
    Array.from({ length: n }, (_, l) => {
      const window = windowOf(c, l) || contextLength;
      return Math.min(causal ? window : 2 * window - 1, contextLength);
    });
  const ofDecoder = inLayers(c.n_layers).reduce((sum, n) => sum + n, 0) * (c.kind === 'encoder_decoder' ? 2 : 1);
  const ofEncoder = inLayers(c.n_encoder_layers, false).reduce((sum, n) => sum + n, 0);
  const keys = inLayers(c.n_layers).reduce((most, n) => Math.max(most, n), 0);
  const scores = (ofDecoder + ofEncoder) * 4 * c.n_heads * c.d_head;
  const cached = c.kind === 'encoder' ? 0 : c.n_layers * (c.kind === 'encoder_decoder' ? 2 : 1);
  const kvBytes = batch * cached * contextLength * keyValueBytes(c.n_kv_heads, c.d_head, kvDtype);
  const width =
    4 * c.d_model +
    (c.n_heads + 2 * c.n_kv_heads) * c.d_head +
    (isGated(c) ? 2 : 1) * Math.max(c.d_ff, c.d_expert * c.n_experts_used + c.d_shared_expert) +
    Math.max(c.n_heads, c.n_encoder_heads) * keys;
  return {
    flopsPerToken2N: 2 * active,
    flopsPerToken: products + scores,
    weightBytes,
    kvBytes,
    activationBytes: 4 * batch * contextLength * (width + (c.kind === 'encoder' ? 0 : headWidth(c))),
  };
}
