// gguf_model.js - the supported architectures of GGUF: the configuration in its metadata, and its tensor names
//
// The `llama` architecture stores the rows of q and k permuted so that adjacent pairs are rotated. The rows are not
// reordered; rope_pairs of the configuration says which pairs are rotated.
import { completeConfig } from './config.js';
import { fail, show } from '../base/errors.js';
import { placesByName } from './plan.js';
import { Texts } from './texts.js';

/** @typedef {import('./config.js').Config} Config */
/** @typedef {import('./gguf.js').Gguf} Gguf */
/** @typedef {import('./gguf.js').Value} Value */
/** @typedef {import('./plan.js').Entry} Entry */
/** @typedef {import('./plan.js').Place} Place */

/**
 * Fields that an architecture fixes. All others are in the metadata, under keys that all architectures share.
 * @type {Record<string, Record<string, any>>}
 */
const ARCHITECTURES = {
  llama: { norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', rope_pairs: 'adjacent' },
  qwen2: { norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', rope_pairs: 'half' },
  qwen3: { norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', rope_pairs: 'half', qk_norm: true },
  gpt2: { norm: 'layernorm', ffn: 'gelu_tanh', position: 'learned', bias_norm: true },
};

/**
 * Tensor names, the same for all architectures.
 * @type {import('./plan.js').Names}
 */
const NAMES = {
  embed: 'token_embd',
  position: 'position_embd',
  blocks: 'blk',
  norm1: 'attn_norm',
  norm2: 'ffn_norm',
  'attn.o': 'attn_output',
  'ffn.*': 'ffn_*',
  final_norm: 'output_norm',
  head: 'output',
};

/** Keys of an architecture that are read below, or that have no effect on the logits. Any other key is refused. */
const KEYS = new RegExp(
  '^(vocab_size|context_length|embedding_length|block_count|feed_forward_length|expert_(used_)?count|' +
    'tensor_data_layout|' +
    'attention\\.(head_count(_kv)?|(key|value)_length|layer_norm_(rms_)?epsilon|sliding_window|causal)|' +
    'rope\\.(dimension_count|freq_base|scale_linear|scaling\\.(type|factor|original_context_length|finetuned)))$',
);

/**
 * The configuration in a header, and the places of its tensors.
 * @param {string} where  file name, for messages
 * @param {Gguf} gguf
 * @param {string[]} warnings  appended to
 * @param {Record<string, any> | null} [scaling]  rotary fields from rope_freqs.weight (rope_freqs.js)
 * @returns {{config: Config, places: Map<string, Place>, isBuffer: (e: Entry) => boolean}}
 */
export function ggufModel(where, { meta, entries }, warnings, scaling = null) {
  const arch = meta.get('general.architecture');
  if (typeof arch !== 'string') fail('bad-header', `${where}: general.architecture is missing`);
  if (!Object.hasOwn(ARCHITECTURES, arch)) {
    const supported = Object.keys(ARCHITECTURES).join(', ');
    fail('unsupported', `${where}: the architecture ${show(arch)} is not supported, expected one of ${supported}`);
  }
  const architecture = ARCHITECTURES[arch];
  /**
   * The number under a key of the architecture. A list with one value for each layer must have equal values.
   * @param {string} key
   * @param {number|null} [fallback]  without it the key must be present
   * @returns {any}
   */
  const num = (key, fallback) => {
    const value = meta.get(`${arch}.${key}`) ?? fallback;
    const equal = Array.isArray(value) && value.length > 0 && value.every((x) => x === value[0]); // one value per layer
    const v = equal ? value[0] : value;
    if (Array.isArray(v))
      fail('unsupported', `${where}: ${arch}.${key} differs from layer to layer, which is not supported`);
    if (v === undefined) fail('bad-config', `${where}: ${arch}.${key} is missing`);
    return v === null || typeof v === 'number'
      ? v
      : fail('bad-config', `${where}: ${arch}.${key} is ${show(v)}, expected a number`);
  };
  /**
   * @param {string} key
   * @param {unknown} value
   * @returns {never}
   */
  const unsupported = (key, value) => fail('unsupported', `${where}: ${arch}.${key} ${show(value)} is not supported`);

  const byName = new Map(entries.map((e) => [e.name, e]));
  const embed = byName.get('token_embd.weight') ?? fail('missing-tensor', `${where}: token_embd.weight is missing`);
  const tokens = meta.get('tokenizer.ggml.tokens');
  if ((Array.isArray(tokens) || tokens instanceof Texts) && tokens.length !== embed.shape[0]) {
    fail(
      'bad-tokenizer',
      `${where}: the vocabulary has ${tokens.length} tokens, token_embd.weight ${embed.shape[0]} rows`,
    );
  }
  if (num('vocab_size', embed.shape[0]) !== embed.shape[0]) {
    fail(
      'bad-shape',
      `${where}: token_embd.weight has ${embed.shape[0]} rows, ${arch}.vocab_size is ${num('vocab_size')}`,
    );
  }
  const nHeads = num('attention.head_count');
  const dModel = num('embedding_length');
  const dHead = num('attention.key_length', Math.floor(dModel / nHeads));
  if (num('attention.value_length', dHead) !== dHead)
    unsupported('attention.value_length', num('attention.value_length'));
  if (architecture.position === 'rope' && num('rope.dimension_count', dHead) !== dHead)
    unsupported('rope.dimension_count', num('rope.dimension_count'));
  if (num('expert_count', 0)) unsupported('expert_count', num('expert_count'));
  if (meta.get(`${arch}.attention.causal`) === false) unsupported('attention.causal', false);
  for (const [key, value] of meta) {
    const [of, ...rest] = key.split('.');
    if (of === arch && !KEYS.test(rest.join('.'))) unsupported(rest.join('.'), value);
  }
  // Converters of GPT-2 write a tied embedding twice. The copy is skipped; in another dtype it is a head of its own.
  const head = byName.get('output.weight');
  const tied = !head || (arch === 'gpt2' && head.dtype === embed.dtype);
  const config = completeConfig(
    {
      ...architecture,
      ...(scaling ?? ropeScaling(meta, arch, unsupported)),
      kind: 'decoder',
      vocab_size: embed.shape[0],
      d_model: dModel,
      n_layers: num('block_count'),
      n_heads: nHeads,
      n_kv_heads: num('attention.head_count_kv', nHeads),
      d_head: dHead,
      d_ff: num('feed_forward_length'),
      context_length: num('context_length'),
      norm_eps: shortestDecimal(num(`attention.layer_norm_${architecture.norm === 'rmsnorm' ? 'rms_' : ''}epsilon`)),
      norm_placement: 'pre',
      final_norm: true,
      ...(architecture.position === 'rope' ? { rope_theta: num('rope.freq_base', 10000) } : {}),
      bias_qkv: byName.has('blk.0.attn_q.bias') || byName.has('blk.0.attn_qkv.bias'),
      bias_attn_out: byName.has('blk.0.attn_output.bias'),
      bias_ffn: byName.has('blk.0.ffn_up.bias'),
      sliding_window: num('attention.sliding_window', 0),
      tie_word_embeddings: tied,
    },
    where,
  );
  if (head && tied) warnings.push(`${where}: output.weight is a copy of the embedding, skipped`);
  return {
    config,
    places: placesByName(config, { ...NAMES, 'attn.*': byName.has('blk.0.attn_qkv.weight') ? 'attn_qkv' : 'attn_*' }),
    isBuffer: ({ name, shape }) =>
      name === 'rope_freqs.weight' ||
      (tied && name === 'output.weight' && shape.length === 2 && shape[0] === config.vocab_size && shape[1] === dModel),
  };
}

/**
 * The shortest decimal with the same f32 value. An epsilon is stored as f32, and 1e-5 is read as 0.000009999999747;
 * other formats give the decimal.
 * @param {number} eps
 */
const shortestDecimal = (eps) => {
  for (let digits = 1; digits < 17; digits++) {
    const short = Number(eps.toPrecision(digits));
    if (Math.fround(short) === Math.fround(eps)) return short;
  }
  return eps;
};

/**
 * The fields of rotary scaling.
 * @param {Map<string, Value>} meta
 * @param {string} arch
 * @param {(key: string, value: unknown) => never} unsupported  throws the error for a key that the engine lacks
 */
function ropeScaling(meta, arch, unsupported) {
  const type = meta.get(`${arch}.rope.scaling.type`);
  const factor = meta.get(`${arch}.rope.scaling.factor`) ?? meta.get(`${arch}.rope.scale_linear`);
  if (type === 'none' || (type === undefined && (factor === undefined || factor === 1))) return {};
  if (type !== undefined && type !== 'linear') return unsupported('rope.scaling.type', type);
  return { rope_scaling: 'linear', rope_factor: factor };
}
