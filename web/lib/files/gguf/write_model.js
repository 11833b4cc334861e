// write_model.js - writes a model as a GGUF, in the architecture of llama.cpp that computes the same
//
// The reader decides which architecture that is: the metadata and names of each are written, read again by
// gguf_model.js, and the configuration compared with that of the model. What GGUF cannot say is refused.
import { isSparse, layerFlag, rotaryDim, rotaryKvHeads, scoreScale, windowOf } from '../../engine/config/config.js';
import { fail, show } from '../../base/errors.js';
import { namesOf } from './gguf_archs.js';
import { ALL_ARCHITECTURES } from './gguf_archs_more.js';
import { GELU_KEY, ggufModel } from './gguf_model.js';
import { placesByName } from '../../engine/config/tensor_plan.js';
import { ropeTableFields } from './rope_freqs.js';
import { rowsForOtherPairs } from '../../engine/config/rope_rows.js';
import { roster } from '../../engine/config/weight_roster.js';
import { FILE_TYPES, typesOf } from './quant_mix.js';
import { bool, bools, encodedPieces, f32, ggufHeader, text, u32 } from './write_gguf.js';
import { hasHeadOf, withHead } from './gguf_heads.js';
import { headMeta, labelMeta, poolingParts } from './write_heads.js';
import { ropeTables, same, scalingKeys } from './write_rope.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Type } from './quant_mix.js' */
/** @import { Value } from './write_gguf.js' */
/**
 * A tensor of the file: the weights that are its rows, or a table of rotary factors.
 * @typedef {{name: string, shape: number[], covers: string[], table?: Float32Array}} Out
 */
/**
 * @typedef {object} Layout
 * @property {string} architecture
 * @property {Record<string, Value>} meta  without a vocabulary
 * @property {Out[]} tensors
 * @property {boolean} permute  rows of q and k change their order: the other pairs are rotated
 * @property {number} scale  by which q is multiplied, where the architecture has another factor of the scores
 * @property {Config} target  the configuration in the file: with the order of pairs that the architecture has, and with
 *   parts that it needs and that change nothing: biases of 0, a copy of the embedding as the head
 * @property {number} added  how many of these parts the model lacks
 */

const noBias = { bias_qkv: false, bias_attn_out: false, bias_ffn: false, bias_head: false };
const allBias = { bias_qkv: true, bias_attn_out: true, bias_ffn: true, bias_head: false };
const untied = { tie_word_embeddings: false };
/**
 * What llama.cpp expects in files of an architecture, beyond what the reader of this project needs.
 * @type {Record<string, Partial<Config> | ((config: Config) => Partial<Config>)>}
 */
const NEEDS = {
  llama: { bias_head: false },
  qwen2: { ...noBias, bias_qkv: true },
  qwen2moe: { ...noBias, bias_qkv: true, ...untied },
  qwen3: { ...noBias, n_experts: 0 },
  qwen3moe: noBias,
  gpt2: allBias,
  gemma: { ...noBias, tie_word_embeddings: true },
  gemma2: { ...noBias, tie_word_embeddings: true },
  gemma3: noBias,
  phi2: { ...allBias, bias_head: true, ...untied },
  phi3: noBias,
  gptneox: { ...allBias, ...untied },
  gptj: { ...noBias, bias_ffn: true, bias_head: true, ...untied },
  starcoder2: allBias,
  stablelm: { bias_attn_out: false, bias_ffn: false, bias_head: false, ...untied },
  olmo: noBias,
  olmo2: { ...noBias, ...untied },
  granite: { bias_head: false },
  smollm3: { bias_head: false },
  bloom: allBias,
  // which reads norms of q and k in the large models of Command R only
  'command-r': ({ n_layers: layers }) => ({ ...noBias, qk_norm: layers >= 64 }),
  cohere2: { ...noBias, tie_word_embeddings: true },
  arcee: noBias,
  nemotron: { bias_head: false, ...untied },
  jais2: allBias,
  'hunyuan-dense': noBias,
  chatglm: { ...noBias, bias_qkv: undefined }, // or not
  glm4: { ...noBias, bias_qkv: undefined },
  exaone4: noBias,
  olmoe: { ...noBias, ...untied },
  granitemoe: noBias,
  falcon: noBias,
  mpt: { bias_head: false },
  bert: { label_norm: false },
  t5: noBias,
  'nomic-bert': { bias_ffn: false },
  eurobert: noBias,
  'llama-embed': noBias,
  'modern-bert': ({ n_labels: labels }) => ({
    ...{ ...noBias, bias_head: labels ? undefined : false, bias_head_transform: false },
  }),
  'gemma-embedding': noBias,
  t5encoder: noBias,
};

/**
 * What an architecture expects of a model.
 * @param {string} architecture
 * @param {Config} config
 * @returns {Partial<Config>}
 */
function neededBy(architecture, config) {
  const needs = NEEDS[architecture] ?? {};
  return typeof needs === 'function' ? needs(config) : needs;
}
/** Architectures whose files have one width, that of the experts where there are some. */
const ONE_WIDTH = ['llama', 'olmoe', 'granitemoe'];
/** Architectures of which another one computes the same. */
const ALIKE = ['ernie4_5', 'mistral3', 'seed_oss', 'qwen2vl', 'qwen3vl', 'starcoder'];
/** The architectures whose files have q, k and v in one tensor. */
const FUSED = ['gpt2', 'phi3', 'gptneox', 'bloom', 'falcon', 'mpt', 'modern-bert'];

/**
 * The chunks of a GGUF file: the header, then each tensor with its padding.
 * @param {Config} config
 * @param {(name: string) => Float32Array | Promise<Float32Array>} weight  a weight by its name in the roster, row after
 *   row
 * @param {{type?: Type, name?: string, meta?: Record<string, Value>,
 *   labels?: import('../huggingface/classifiers.js').Labels,
 *   pooling?: Partial<import('../huggingface/sentence_transformers.js').OwnPooling>}} [options]  type: of the matrices
 *   (norms, biases, positions and what follows the states are F32; quant_mix.js says which matrices keep more bits);
 *   name: of the model; meta: further metadata, the vocabulary; labels: of a classifier; pooling: of an encoder
 * @returns {AsyncGenerator<Uint8Array, void, void>}
 */
export async function* writeModel(config, weight, { type = 'F32', name = 'model', meta = {}, labels, pooling } = {}) {
  const layout = ggufLayout(config);
  const behind = poolingParts((!labels && pooling) || {}, layout.architecture, config);
  const all = [...layout.tensors, ...behind.tensors];
  const types = typesOf(all, type, layout.target);
  const tensors = all.map((t, i) => ({ ...t, type: types[i] }));
  const general = {
    'general.architecture': text(layout.architecture),
    'general.name': text(name),
    'general.file_type': u32(FILE_TYPES[type]),
    'general.quantization_version': u32(2),
    ...layout.meta,
    ...(labels && labelMeta(labels, layout.architecture)),
    ...behind.meta,
  };
  // llama.cpp refuses a file without a vocabulary unless the file says so.
  const vocabulary = meta['tokenizer.ggml.model'] ? {} : noVocabulary(layout, config);
  const { header, padding } = ggufHeader({ ...general, ...vocabulary, ...meta }, tensors);
  const values = valuesFor(config, layout, weight);
  yield header;
  for (const [i, t] of tensors.entries()) {
    if (t.table) yield* encodedPieces(t.type, t.table);
    for (const cover of t.covers) {
      const data = await values(cover);
      const cols = /\.[qk]\.weight$/.test(cover) ? config.d_model : 1;
      yield* encodedPieces(
        t.type,
        layout.permute ? rowsForOtherPairs(config, config.rope_pairs, cover, data, cols) : data,
      );
    }
    yield new Uint8Array(padding[i]);
  }
}

/**
 * The metadata of a file without a tokenizer.
 * @param {Layout} layout
 * @param {Config} config
 * @returns {Record<string, Value>}
 */
const noVocabulary = ({ architecture }, config) => ({
  [`${architecture}.vocab_size`]: u32(config.vocab_size),
  'tokenizer.ggml.model': text('no_vocab'),
});

/**
 * The values of the weights of a layout, by name in the roster of its configuration. Those that the model lacks are 0,
 * the head a copy of the embedding. The factor of the scores is in q, or in its norm. The layer before a classifier may
 * be the pooler.
 * @param {Config} config  of the model
 * @param {Layout} layout
 * @param {(name: string) => Float32Array | Promise<Float32Array>} weight  of the model
 * @returns {(name: string) => Promise<Float32Array>}
 */
function valuesFor(config, { target, scale }, weight) {
  const own = new Set([...roster(config)].map(({ name }) => name));
  const lengths = new Map([...roster(target)].map(({ name, shape }) => [name, shape[0]]));
  const scaled = config.qk_norm ? /attn\.q_norm\./ : /attn\.q\.\w+$/;
  return async (wanted) => {
    const name = config.label_pooling === 'pooler' ? wanted.replace(/^head_transform\b/, 'pooler') : wanted;
    if (!own.has(name))
      return name === 'head.weight' ? weight('embed.weight') : new Float32Array(lengths.get(name) ?? 0);
    const data = await weight(name);
    if (name === 'position.weight')
      return data.subarray((config.position_offset - target.position_offset) * config.d_model);
    return scale !== 1 && scaled.test(name) ? data.map((x) => x * scale) : data;
  };
}

/**
 * The architecture, metadata and tensors of a model.
 * @param {Config} config
 * @returns {Layout}
 */
export function ggufLayout(config) {
  config = config.n_labels ? labelled(config) : withoutHeads(config);
  const ofKind = Object.keys(ALL_ARCHITECTURES).filter(
    (name) => (ALL_ARCHITECTURES[name].fields.kind ?? 'decoder') === config.kind && !ALIKE.includes(name),
  );
  const candidates = ofKind.filter((name) => hasHeadOf(name, config)).map((name) => attempt(config, name));
  if (!candidates.length)
    fail('unsupported', `GGUF has no classifiers of the kind ${config.kind} with so many labels: ${config.n_labels}`);
  // First those that need no further weights and no other order of rows. Phi-3 and ChatGLM have Llama's structure under
  // other names, MPT is GPT-2 without biases.
  candidates.sort((a, b) => rank(a) - rank(b));
  const [best] = candidates;
  if (!best.differences.length) return best.layout;
  const [nearest] = candidates.sort((a, b) => a.differences.length - b.differences.length);
  const [why] = nearest.differences;
  return fail(
    'unsupported',
    `no architecture of GGUF computes what this model does; the nearest, ${nearest.layout.architecture}, ${why}`,
  );
}

/** What GGUF cannot say and has no effect: rows of positions that no token reads. @param {Config} config */
const positions = ({ position, position_offset: offset }) => ({
  position_offset: position === 'learned' ? 0 : offset,
  position_pad_id: -1,
});

/**
 * A classifier as GGUF has it, where the pooler is a layer of the head.
 * @param {Config} config
 * @returns {Config}
 */
function labelled(config) {
  /** @type {Config} */
  const own = { ...config, ...positions(config), pooler: false, head_activation: 'none' };
  if (config.label_pooling !== 'pooler') return own;
  return { ...own, label_pooling: 'first', label_transform: 'tanh', bias_head_transform: true };
}

/**
 * A model without what GGUF has no place for and llama.cpp's converter leaves out: pooler and head of an encoder, rows
 * of positions that no token reads. A decoder without a head gets that of its embedding.
 * @param {Config} config
 * @returns {Config}
 */
function withoutHeads(config) {
  const rows = positions(config);
  if (config.kind !== 'encoder') return { ...config, ...rows };
  if (config.causal) return { ...config, ...rows, kind: 'decoder', tie_word_embeddings: true };
  return {
    ...{ ...config, ...rows, pooler: false, mlm_head: false, bias_head: false, bias_head_transform: false },
    ...{ head_activation: 'none', tie_word_embeddings: true },
  };
}

/** @param {ReturnType<typeof attempt>} candidate */
const rank = ({ differences, layout }) =>
  (differences.length ? 100 : 0) +
  4 * (layout.added + Number(layout.scale !== 1)) +
  ({ phi3: 2, chatglm: 3, mpt: 20 }[layout.architecture] ?? 0) +
  Number(layout.permute);

/**
 * Write a model's header for one architecture and read it again.
 * @param {Config} config
 * @param {string} architecture
 * @returns {{layout: Layout, differences: string[]}} the second: in what the result differs from the model
 */
function attempt(config, architecture) {
  const usual = ALL_ARCHITECTURES[architecture];
  const { fields } = usual;
  const needs = Object.entries(neededBy(architecture, config)).filter(([, value]) => value !== undefined);
  /** @type {[string, any][]} */
  const further = Object.entries({
    ...(fields.bias_norm && config.norm === fields.norm && { bias_norm: true }),
    ...Object.fromEntries(needs),
  }).filter(
    ([field, value]) =>
      value === (field !== 'tie_word_embeddings') && value !== config[/** @type {keyof Config} */ (field)],
  );
  const added = further.filter(([field]) => /^(bias_|tie_)/.test(field));
  const target = { ...config, rope_pairs: fields.rope_pairs ?? config.rope_pairs, ...Object.fromEntries(added) };
  const meta = metadataOf(target, architecture);
  const values = new Map(Object.entries(meta).map(([key, v]) => [key, v.type === 6 ? Math.fround(v.value) : v.value]));
  values.set('general.architecture', architecture);
  const own = config.n_labels ? withHead(usual, architecture, values) : usual;
  const names = namesOf(own, target, FUSED.includes(architecture));
  const tensors = [...ropeTables(config), ...tensorsOf(target, names)];
  const permute = target.rope_pairs !== config.rope_pairs;
  const layout = { architecture, meta, tensors, permute, scale: 1, target, added: added.length };
  const entries = tensors.map(({ name, shape }) => ({ name, shape, dtype: 'f32', file: 0, offset: 0, bytes: 0 }));
  /** @type {string[]} */
  const differences = [];
  for (const [field, value] of needs)
    if (target[/** @type {keyof Config} */ (field)] !== value) differences.push(`has ${field} ${value}`);
  try {
    const tables = new Map(tensors.flatMap(({ name, table }) => (table ? [[name, table]] : [])));
    const gguf = { meta: values, entries, padding: 0 };
    const scaling = tables.size ? ropeTableFields('GGUF', tables, values) : null;
    const read = ggufModel('GGUF', gguf, [], scaling, { [architecture]: own });
    layout.scale = scoreScale(config, 0) / scoreScale(read.config, 0);
    if (same(layout.scale, 1)) layout.scale = 1;
    for (const { field, theirs, ours } of differencesOf(read.config, target))
      differences.push(`has ${field} ${theirs}, the model has ${ours}`);
  } catch (error) {
    const why = `cannot say it: ${/** @type {Error} */ (error).message}`;
    differences.push(fields.norm === config.norm ? why : `has norm ${show(fields.norm)}`, ...Object.keys(config));
  }
  return { layout, differences };
}

/**
 * The fields in which a configuration differs from another with an effect, and both values for a message. The order of
 * rotated pairs and a factor of the scores make no difference: they can be in q and k.
 * @param {Config} other
 * @param {Config} own
 */
export function differencesOf(other, own) {
  const [ours, theirs] = [effective(own), effective(other)];
  return Object.keys(ours)
    .filter((field) => !same(ours[field], theirs[field]))
    .map((field) => ({ field, theirs: show(theirs[field]), ours: show(ours[field]) }));
}

/** Fields that each kind of rotary scaling uses. @type {Record<string, string[]>} */
const SCALING = {
  none: [],
  linear: ['rope_factor'],
  llama3: ['rope_factor', 'rope_low_freq_factor', 'rope_high_freq_factor', 'rope_original_context'],
  yarn: [
    ...['rope_factor', 'rope_original_context', 'rope_beta_fast', 'rope_beta_slow', 'rope_truncate'],
    'rope_attention_factor',
  ],
  dynamic: ['rope_factor', 'rope_original_context'],
  longrope: ['rope_original_context', 'rope_attention_factor', 'rope_short_factors', 'rope_long_factors'],
};

/**
 * The fields of a configuration that have an effect.
 * @param {Config} c
 */
function effective(c) {
  /** @type {Record<string, any>} */
  const out = {};
  for (const [field, value] of Object.entries(c))
    if (!/^(rope_|rotary_|qk_norm_|window_|n_experts_|norm_expert_|expert_|d_expert|d_ff)/.test(field))
      out[field] = value;
  delete out.score_scale; // it can be a factor of q
  delete out.scale_scores;
  if (c.kind === 'encoder') delete out.tie_word_embeddings; // which has no head
  if (c.qk_norm)
    for (const field of ['qk_norm_kind', 'qk_norm_span', 'qk_norm_rotated'])
      out[field] = c[/** @type {keyof Config} */ (field)];
  const layers = Array.from({ length: c.n_layers }, (_, l) => l);
  out.window_layers = layers.map((l) => windowOf(c, l) > 0);
  if (c.n_experts) {
    for (const field of ['n_experts_used', 'norm_expert_weights', 'd_expert'])
      out[field] = c[/** @type {keyof Config} */ (field)];
    out.expert_layers = layers.map((l) => isSparse(c, l));
  }
  if (!everySparse(c)) out.d_ff = c.d_ff;
  if (c.position !== 'rope') return out;
  Object.assign(out, { rope_theta: c.rope_theta, rope_scaling: c.rope_scaling, rotary_dim: rotaryDim(c) });
  out.rotary_kv_heads = rotaryKvHeads(c);
  for (const field of SCALING[c.rope_scaling]) out[field] = c[/** @type {keyof Config} */ (field)];
  out.rope_layers = layers.map((l) => layerFlag(c.rope_layers, l));
  const isLocal =
    out.window_layers.includes(true) && (c.rope_scaling !== 'none' || c.rope_local_theta !== c.rope_theta);
  if (isLocal) out.rope_local_theta = c.rope_local_theta || (c.rope_scaling === 'none' ? c.rope_theta : 0);
  return out;
}

/**
 * Whether every layer has experts.
 * @param {Config} c
 */
const everySparse = (c) => c.n_experts > 0 && c.expert_layers.every(Boolean);

/**
 * The tensors of a model, those outside its layers first.
 * @param {Config} config
 * @param {import('../../engine/config/tensor_plan.js').Names} names
 * @returns {Out[]}
 */
function tensorsOf(config, names) {
  const shapes = new Map([...roster(config)].map(({ name, shape }) => [name, shape]));
  const places = [...placesByName(config, names)];
  places.sort(([a], [b]) => Number(/blk\./.test(a)) - Number(/blk\./.test(b)));
  return places.map(([name, { covers, experts }]) => {
    const parts = covers.map((cover) => /** @type {number[]} */ (shapes.get(cover)));
    const byHead = parts[0].length === 1 && /_norm\.\d+\./.test(covers[0]);
    const rows = parts.reduce((n, s) => n + s[0], 0);
    const [cols] = parts[0].slice(1);
    if (experts) return { name, covers, shape: [experts, rows / experts, cols] };
    return { name, covers, shape: byHead ? [parts.length, ...parts[0]] : [rows, ...parts[0].slice(1)] };
  });
}

/**
 * The metadata of a model.
 * @param {Config} c
 * @param {string} architecture
 * @returns {Record<string, Value>}
 */
function metadataOf(c, architecture) {
  const { keys = '' } = ALL_ARCHITECTURES[architecture];
  const rotates = c.position === 'rope';
  const isUsual = architecture === 'gpt2'; // whose files say no more than the widths
  /** @type {Record<string, Value | false | 0>} */
  const values = {
    context_length: u32(c.context_length),
    embedding_length: u32(c.d_model),
    block_count: u32(c.kind === 'encoder_decoder' ? c.n_encoder_layers : c.n_layers),
    feed_forward_length: u32(everySparse(c) && ONE_WIDTH.includes(architecture) ? c.d_expert : c.d_ff),
    'attention.head_count': u32(c.n_heads),
    vocab_size: !isUsual && u32(c.vocab_size),
    'attention.head_count_kv': (!isUsual || c.n_kv_heads !== c.n_heads) && u32(c.n_kv_heads),
    ...((rotates || c.d_head * c.n_heads !== c.d_model) && {
      'attention.key_length': u32(c.d_head),
      'attention.value_length': u32(c.d_head),
    }),
    ...(rotates && {
      'rope.dimension_count': u32(rotaryDim(c)),
      'rope.freq_base': f32(c.rope_theta),
      ...scalingKeys(c),
    }),
    [`attention.layer_norm_${c.norm === 'rmsnorm' ? 'rms_' : ''}epsilon`]: f32(c.norm_eps),
    'attention.causal': c.kind === 'encoder' && bool(false),
    'attention.sliding_window': (c.sliding_window || architecture === 'phi3') && u32(windowIn(c)),
    expert_count: c.n_experts && u32(c.n_experts),
    expert_used_count: c.n_experts && u32(c.n_experts_used),
    expert_feed_forward_length: c.n_experts && !ONE_WIDTH.includes(architecture) && u32(c.d_expert),
    ...headMeta(c, architecture),
  };
  /** @type {Record<string, Value | false | 0 | undefined>} */
  const own = {
    expert_shared_feed_forward_length: u32(c.d_shared_expert),
    attn_logit_softcapping: f32(c.score_softcap),
    final_logit_softcapping: f32(c.logit_softcap),
    'attention.sliding_window_pattern': c.sliding_window > 0 && pattern(c, architecture),
    'rope.freq_base_swa': c.rope_local_theta && f32(c.rope_local_theta),
    'attention.clamp_kqv': c.clip_qkv && f32(c.clip_qkv),
    use_parallel_residual: bool(c.parallel_residual),
    embedding_scale: f32(c.embedding_scale),
    residual_scale: f32(c.residual_scale),
    'attention.scale': c.score_scale && f32(c.score_scale),
    'attention.max_alibi_bias': architecture === 'mpt' && c.position === 'alibi' && f32(c.alibi_max),
    hidden_activation: c.ffn === 'swiglu' && text('silu'),
    decoder_block_count: u32(c.n_layers),
    'attention.relative_buckets_count': u32(c.relative_buckets),
    logit_scale: f32(architecture.startsWith('granite') ? 1 / c.logit_scale : c.logit_scale),
  };
  for (const key of keys.split(' ')) values[key] = own[key] ?? false;
  /** @type {Record<string, Value>} */
  const meta = {};
  // which llama.cpp requires of every relative of BERT, and counts as part of the vocabulary
  if (/bert/.test(architecture)) meta['tokenizer.ggml.token_type_count'] = u32(Math.max(1, c.n_token_types));
  if (c.ffn.endsWith('_erf')) meta[GELU_KEY] = text('erf');
  for (const [key, value] of Object.entries(values)) if (value) meta[`${architecture}.${key}`] = value;
  return meta;
}

/** A window as files count it: one to both sides whole. @param {Config} c */
const windowIn = ({ kind, sliding_window: window }) => (kind === 'encoder' && window ? 2 * (window - 1) : window);

/**
 * The layers with a window: a number where every n-th has none, else a flag for each.
 * @param {Config} c
 * @param {string} architecture
 */
function pattern(c, architecture) {
  const n = windowPattern(c);
  if (architecture !== 'modern-bert') return n !== null && u32(n);
  return bools(Array.from({ length: c.n_layers }, (_, l) => windowOf(c, l) > 0));
}

/**
 * The n for which every n-th layer has no window (0: all have one); null where there is none.
 * @param {Config} c
 */
function windowPattern(c) {
  const flags = Array.from({ length: c.n_layers }, (_, l) => windowOf(c, l) > 0);
  const n = flags.indexOf(false) + 1;
  return flags.every((flag, l) => flag === (n === 0 || l % n < n - 1)) ? n : null;
}
