// adapters.js - reads LoRA adapters in the form of PEFT or of llama.cpp; the caller's side, which posts them to
// merge_adapters.js
import { DTYPES, isDtype } from '../../base/dtype_names.js';
import { fail, show } from '../../base/errors.js';
import { isBytes } from '../../base/checks.js';
import { remembered } from '../../base/lazy_value.js';
import { readGguf } from '../gguf/gguf.js';
import { ALL_ARCHITECTURES } from '../gguf/gguf_archs_more.js';
import { shapeText } from '../../engine/config/tensor_plan.js';
import { readSafetensors } from '../huggingface/safetensors.js';
import { fileFolder } from '../opened_files.js';
import { Opener } from '../source.js';

/** source: an address, folder, GGUF or { weights, config }. @typedef {{source: any, scale: number}} AdapterInput */
/** @import { Stored, StoredDelta } from './merge_adapters.js' */

/** Keys of PEFT's LoraConfig that change no number here. The tensors of the adapter say which modules it changes. */
const NEUTRAL = (
  'auto_mapping base_model_name_or_path revision inference_mode peft_type peft_version task_type r target_modules ' +
  'exclude_modules lora_alpha lora_dropout fan_in_fan_out use_rslora init_lora_weights layers_to_transform ' +
  'layers_pattern loftq_config eva_config corda_config lora_ga_config megatron_core qalora_group_size runtime_config ' +
  'ensure_weight_tying rank_pattern alpha_pattern'
).split(' ');
/** What init_lora_weights may be: ways to begin that leave the weights of the model as they are. */
const BEGINNINGS = [true, false, null, 'gaussian', 'orthogonal', 'eva', 'mica'];

/**
 * Reads adapters.
 * @param {AdapterInput[]} adapters
 * @param {import('../opened_files.js').OpenOptions} options
 * @returns {Promise<StoredDelta[]>}
 */
export async function readAdapters(adapters, options) {
  const deltas = [];
  for (const [i, { source, scale }] of adapters.entries())
    deltas.push(await readAdapter(source, scale, `adapter ${i}`, options));
  return deltas.flat();
}

/**
 * The products of one adapter.
 * @param {any} source
 * @param {number} scale
 * @param {string} what  for messages
 * @param {import('../opened_files.js').OpenOptions} options
 * @returns {Promise<StoredDelta[]>}
 */
async function readAdapter(source, scale, what, options) {
  const opener = new Opener(options);
  try {
    const file = await singleFile(opener, source);
    const first = file === null ? null : await opener.reader(opener.resolve(file));
    if (first && new TextDecoder('latin1').decode(await first.peek(4)) === 'GGUF')
      return await readGgufAdapter(first, scale, what);
    const { config, weights } = await filesOf(opener, source, what);
    const sizesOf = readSizes(config, what);
    const r = first ?? (await opener.reader(opener.resolve(weights)));
    const pairs = await readPairs(r, await readSafetensors(r, 0), what, peftName);
    return pairs.map(([name, a, b]) => {
      const { rank, factor } = sizesOf(name);
      if (a.shape[0] !== rank)
        fail('bad-shape', `${what}: ${name}: lora_A has ${a.shape[0]} rows, r is ${rank} in adapter_config.json`);
      return { name, where: what, a, b, factor: scale * factor };
    });
  } finally {
    opener.close();
  }
}

/**
 * The one file that a source is, or that its weights are; null for a folder.
 * @param {Opener} opener
 * @param {any} source
 * @returns {Promise<import('../source.js').Bytes | null>}
 */
async function singleFile(opener, source) {
  const [file, ...others] = Array.isArray(source) ? source : [isBytes(source) ? source : source.weights];
  return !others.length && isBytes(file) && !(await opener.folderOf(file)) ? file : null;
}

/**
 * Module and side of a tensor in a file of PEFT.
 * @param {string} name
 * @param {string} at  for messages
 * @returns {[string, 'A' | 'B']}
 */
function peftName(name, at) {
  const parts = /^base_model\.model\.(.+)\.lora_([AB])(?:\.default)?\.weight$/.exec(name);
  if (!parts)
    return fail('unsupported', `${at}: expected names such as base_model.model...lora_A.weight and lora_B.weight`);
  return [parts[1], /** @type {'A' | 'B'} */ (parts[2])];
}

/**
 * The matrices of an adapter.
 * @param {import('../bytes/chunks.js').ByteReader} r
 * @param {import('../../engine/config/tensor_plan.js').Entry[]} entries
 * @param {string} what  for messages
 * @param {(name: string, at: string) => [string, 'A' | 'B']} split  module and side of a tensor
 * @returns {Promise<[name: string, a: Stored, b: Stored][]>}
 */
async function readPairs(r, entries, what, split) {
  /** @type {Map<string, {A?: Stored, B?: Stored}>} */
  const pairs = new Map();
  for (const { name, dtype, shape, offset, bytes } of entries.sort((a, b) => a.offset - b.offset)) {
    const at = `${what}: ${r.name}: ${name}`;
    const [module, side] = split(name, at);
    if (shape.length !== 2) fail('bad-shape', `${at}: shape ${shapeText(shape)}, expected a matrix`);
    if (!isDtype(dtype)) return fail('unknown-dtype', `${at}: stored as ${dtype}, expected one of ${DTYPES}`);
    const pair = remembered(pairs, module, () => ({}));
    if (pair[side]) fail('duplicate-tensor', `${at}: there are two tensors lora_${side} of ${module}`);
    await r.skip(offset - r.pos);
    pair[side] = { shape, dtype, bytes: (await r.take(bytes, name)).slice() };
  }
  if (!pairs.size) fail('missing-tensor', `${what}: ${r.name}: there are no tensors`);
  return [...pairs].map(([name, { A: a, B: b }]) => {
    if (!a || !b) return fail('missing-tensor', `${what}: ${r.name}: ${name} has no lora_${a ? 'B' : 'A'}`);
    if (a.shape[0] !== b.shape[1])
      fail(
        'bad-shape',
        `${what}: ${name}: lora_A is ${shapeText(a.shape)} and lora_B ${shapeText(b.shape)}, their ranks differ`,
      );
    return [name, a, b];
  });
}

/**
 * The products of an adapter of llama.cpp: a GGUF with tensors such as blk.0.attn_q.weight.lora_a.
 * @param {import('../bytes/chunks.js').ByteReader} r
 * @param {number} scale
 * @param {string} what  for messages
 * @returns {Promise<StoredDelta[]>}
 */
async function readGgufAdapter(r, scale, what) {
  const { meta, entries } = await readGguf(r, 0);
  const at = `${what}: ${r.name}`;
  for (const [key, expected] of [
    ['general.type', 'adapter'],
    ['adapter.type', 'lora'],
  ])
    if (meta.get(key) !== expected)
      fail('unsupported', `${at}: ${key} is ${show(meta.get(key))}, expected ${show(expected)}`);
  for (const key of meta.keys())
    if (key.startsWith('adapter.alora.'))
      fail('unsupported', `${at}: found ${key}, expected an adapter without invocation tokens (aLoRA)`);
  const architecture = meta.get('general.architecture');
  if (typeof architecture !== 'string' || !Object.hasOwn(ALL_ARCHITECTURES, architecture))
    return fail('unsupported', `${at}: the architecture ${show(architecture)} is not supported`);
  const alpha = meta.get('adapter.lora.alpha') ?? 0;
  if (typeof alpha !== 'number' || !Number.isFinite(alpha))
    return fail('bad-config', `${at}: adapter.lora.alpha is ${show(alpha)}, expected a number`);
  const packed = entries.find((entry) => entry.packed);
  if (packed) fail('unknown-dtype', `${at}: ${packed.name} is stored as ${packed.packed?.type}, expected f32 or f16`);
  const pairs = await readPairs(r, entries, what, ggufName);
  return pairs.map(([name, a, b]) => {
    const factor = alpha ? (scale * alpha) / a.shape[0] : scale; // llama.cpp has the same rule
    return { name, where: what, a, b, factor, architecture };
  });
}

/**
 * Tensor and side of a tensor in an adapter of llama.cpp.
 * @param {string} name
 * @param {string} at  for messages
 * @returns {[string, 'A' | 'B']}
 */
function ggufName(name, at) {
  const parts = /^(.+\.weight)\.lora_([ab])$/.exec(name);
  if (!parts) return fail('unsupported', `${at}: expected names such as blk.0.attn_q.weight.lora_a and .lora_b`);
  if (parts[1] === 'token_embd.weight') fail('unsupported', `${at}: adapters of the embedding are not supported`);
  return [parts[1], parts[2] === 'a' ? 'A' : 'B'];
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
  let { config, weights } = source;
  const folder = Array.isArray(source) ? fileFolder(source) : isBytes(source) ? await opener.folderOf(source) : null;
  if (folder) [config, weights] = NAMES.map((name) => folder.get(name) ?? undefined);
  else if (typeof source === 'string' || source instanceof URL)
    [config, weights] = [String(source).replace(/[^/\\]*$/, NAMES[0]), source];
  if (config === undefined || !isBytes(weights))
    return fail(
      'bad-argument',
      isBytes(source)
        ? `${what}: these bytes are not GGUF, and a safetensors file needs { weights, config }, or a folder`
        : `${what}: expected a folder, a GGUF, or { weights, config } with one safetensors file`,
    );
  return { config: await json(config), weights };
}

/**
 * A flag as Python reads it.
 * @param {unknown} value
 * @param {string} at  for messages
 */
function flagOf(value, at) {
  if (value === null || value === false || value === 0) return false;
  return value === true || value === 1 ? true : fail('bad-config', `${at} is ${show(value)}, expected true or false`);
}

/**
 * The numbers that `rank_pattern` or `alpha_pattern` gives to modules: the first key that the end of a name matches
 * counts, as in PEFT. A key is a regular expression there, of which names are read.
 * @param {unknown} pattern
 * @param {string} at  for messages
 * @returns {(module: string) => unknown}
 */
function patternOf(pattern, at) {
  const keys = Object.entries(pattern ?? {}).map(([key, value]) => {
    if (!/^\^?[\w.]+$/.test(key)) fail('unsupported', `${at}: the key ${show(key)} is not supported, expected a name`);
    return { end: new RegExp(`^(.*\\.)?(${key})$`), value };
  });
  return (module) => keys.find(({ end }) => end.test(module))?.value;
}

/**
 * The rank of each module of an adapter, and its lora_alpha / r. Each key of the configuration is read, has no effect,
 * or is refused by name. Both numbers are 8 where they are absent, as in PEFT.
 * @param {Record<string, any>} config
 * @param {string} what
 * @returns {(module: string) => {rank: number, factor: number}}
 */
function readSizes(config, what) {
  const { peft_type: type, r = 8, lora_alpha = 8, use_rslora: rooted = false } = config;
  const at = `${what}: adapter_config.json`;
  if (type !== 'LORA') fail('unsupported', `${at}: peft_type is ${show(type)}, expected "LORA"`);
  const { init_lora_weights: beginning = true } = config;
  if (!BEGINNINGS.includes(beginning))
    fail(
      'unsupported',
      `${at}: init_lora_weights ${show(beginning)} is not supported: it changed the weights that the adapter is ` +
        'added to; save it with path_initial_model_for_weight_conversion',
    );
  for (const [name, value] of Object.entries(config)) {
    const isEmpty = !value || (typeof value === 'object' && !Object.keys(value).length);
    if (!NEUTRAL.includes(name) && value !== 'none' && !isEmpty)
      fail('unsupported', `${at}: ${name} ${show(value)} is not supported`);
  }
  const isRooted = flagOf(rooted, `${at}: use_rslora`);
  const [ranks, alphas] = ['rank_pattern', 'alpha_pattern'].map((key) => patternOf(config[key], `${at}: ${key}`));
  return (module) => {
    const rank = ranks(module) ?? r;
    const alpha = alphas(module) ?? lora_alpha;
    if (!Number.isInteger(rank) || rank < 1)
      fail('bad-config', `${at}: r is ${show(rank)}, expected a whole number from 1 up`);
    if (!Number.isFinite(alpha)) fail('bad-config', `${at}: lora_alpha is ${show(alpha)}, expected a number`);
    return { rank, factor: alpha / (isRooted ? Math.sqrt(rank) : rank) };
  };
}
