// adapters.js - reads LoRA adapters in the form of PEFT; the caller's side, which posts them to merge_adapters.js
import { fail, show } from '../base/errors.js';
import { isBytes } from '../base/values.js';
import { decodeFloats } from './half.js';
import { shapeText } from './plan.js';
import { readSafetensors } from './safetensors.js';
import { Opener } from './source.js';

/** @typedef {{source: any, scale: number}} AdapterInput  source: an address, a folder, or { weights, config } */
/** @typedef {import('./merge_adapters.js').Delta} Delta */
/** @typedef {import('./merge_adapters.js').Matrix} Matrix */

/** Fields of adapter_config.json whose effect is not computed here, and their values without effect. */
const UNSUPPORTED = /** @type {[string, any[]][]} */ ([
  ['use_dora', [false, null]],
  ['bias', ['none', null]],
  ['lora_bias', [false, null]],
  ['rank_pattern', [null]],
  ['alpha_pattern', [null]],
  ['modules_to_save', [null]],
  ['target_parameters', [null]],
  ['trainable_token_indices', [null]],
  ['megatron_config', [null]],
  ['layer_replication', [null]],
  ['alora_invocation_tokens', [null]],
]);

/**
 * Reads adapters.
 * @param {AdapterInput[]} adapters
 * @param {import('./source.js').OpenOptions} options
 * @returns {Promise<Delta[]>}
 */
export async function readAdapters(adapters, options) {
  /** @type {Delta[]} */
  const deltas = [];
  for (const [i, { source, scale }] of adapters.entries())
    deltas.push(...(await readAdapter(source, scale, `adapter ${i}`, options)));
  return deltas;
}

/**
 * The products of one adapter.
 * @param {any} source
 * @param {number} scale
 * @param {string} what  for messages
 * @param {import('./source.js').OpenOptions} options
 * @returns {Promise<Delta[]>}
 */
async function readAdapter(source, scale, what, options) {
  const opener = new Opener(options);
  try {
    const { config, weights } = await filesOf(opener, source, what);
    const factor = scale * factorOf(config, what);
    const r = await opener.reader(opener.resolve(weights));
    const entries = (await readSafetensors(r, 0)).sort((a, b) => a.offset - b.offset);
    /** @type {Map<string, {A?: Matrix, B?: Matrix}>} */
    const pairs = new Map();
    for (const { name, dtype, shape, offset, bytes } of entries) {
      const at = `${what}: ${r.name}: ${name}`;
      const parts = /^base_model\.model\.(.+)\.lora_([AB])(?:\.default)?\.weight$/.exec(name);
      if (!parts)
        return fail('unsupported', `${at}: expected names such as base_model.model...lora_A.weight and lora_B.weight`);
      if (shape.length !== 2) fail('bad-shape', `${at}: shape ${shapeText(shape)}, expected a matrix`);
      if (!['f32', 'f16', 'bf16'].includes(dtype))
        fail('unknown-dtype', `${at}: stored as ${dtype}, expected f32, f16 or bf16`);
      const [, module, side] = parts;
      const pair = pairs.get(module) ?? {};
      pairs.set(module, pair);
      const key = /** @type {'A' | 'B'} */ (side);
      if (pair[key]) fail('duplicate-tensor', `${at}: there are two tensors lora_${side} of ${module}`);
      await r.skip(offset - r.pos);
      const data = new Float32Array(shape[0] * shape[1]);
      decodeFloats(await r.take(bytes, name), dtype, data, 0);
      pair[key] = { shape, data };
    }
    if (!pairs.size) fail('missing-tensor', `${what}: ${r.name}: there are no tensors`);
    return [...pairs].map(([name, { A: a, B: b }]) => {
      if (!a || !b) return fail('missing-tensor', `${what}: ${r.name}: ${name} has no lora_${a ? 'B' : 'A'}`);
      if (a.shape[0] !== b.shape[1])
        fail(
          'bad-shape',
          `${what}: ${name}: lora_A is ${shapeText(a.shape)} and lora_B ${shapeText(b.shape)}, their ranks differ`,
        );
      if (a.shape[0] !== config.r)
        fail('bad-shape', `${what}: ${name}: lora_A has ${a.shape[0]} rows, r is ${config.r} in adapter_config.json`);
      return { name, where: what, a, b, factor };
    });
  } finally {
    opener.close();
  }
}

/**
 * Configuration and weights of an adapter.
 * @param {Opener} opener
 * @param {any} source
 * @param {string} what
 * @returns {Promise<{config: Record<string, any>, weights: any}>}
 */
async function filesOf(opener, source, what) {
  const NAMES = ['adapter_config.json', 'adapter_model.safetensors'];
  const json = async (/** @type {any} */ file) => {
    const config = isBytes(file) ? await opener.json(file) : file;
    if (config === null || typeof config !== 'object' || Array.isArray(config))
      fail('bad-config', `${what}: adapter_config.json is ${show(config)}, expected an object`);
    return config;
  };
  if (!isBytes(source)) {
    const files = 'length' in source ? new Map(Array.from(source, (f) => [f.name, f])) : null;
    const config = files ? files.get(NAMES[0]) : source.config;
    const weights = files ? files.get(NAMES[1]) : source.weights;
    if (config === undefined || !isBytes(weights))
      return fail('bad-argument', `${what}: expected a folder, or { weights, config } with one safetensors file`);
    return { config: await json(config), weights };
  }
  const folder = await opener.folderOf(source);
  if (folder) {
    const [config, weights] = NAMES.map((name) => folder.get(name));
    if (config === null || weights === null)
      return fail('not-found', `${what}: ${folder.name}: there is no ${config === null ? NAMES[0] : NAMES[1]}`);
    return { config: await json(config), weights };
  }
  if (typeof source !== 'string' && !(source instanceof URL))
    return fail('bad-argument', `${what}: a safetensors file needs { weights, config }, or a folder`);
  return { config: await json(String(source).replace(/[^/\\]*$/, NAMES[0])), weights: source };
}

/**
 * lora_alpha / r of a configuration, checked.
 * @param {Record<string, any>} config
 * @param {string} what
 * @returns {number}
 */
function factorOf(config, what) {
  const { peft_type: type, r, lora_alpha: alpha = r, use_rslora: rooted = false } = config;
  const at = `${what}: adapter_config.json`;
  if (type !== 'LORA') fail('unsupported', `${at}: peft_type is ${show(type)}, expected "LORA"`);
  for (const [name, harmless] of UNSUPPORTED) {
    const value = config[name] ?? null;
    const isEmpty = typeof value === 'object' && value !== null && !Object.keys(value).length;
    if (!isEmpty && !harmless.includes(value)) fail('unsupported', `${at}: ${name} ${show(value)} is not supported`);
  }
  if (!Number.isInteger(r) || r < 1) fail('bad-config', `${at}: r is ${show(r)}, expected a whole number from 1 up`);
  if (!Number.isFinite(alpha)) fail('bad-config', `${at}: lora_alpha is ${show(alpha)}, expected a number`);
  return alpha / (rooted === true ? Math.sqrt(r) : r);
}
