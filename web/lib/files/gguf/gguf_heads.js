// gguf_heads.js - what llama.cpp computes of an encoder's states: heads of classification, and the Dense layers behind
// the pooling of EmbeddingGemma
//
// A head of classification takes the place of the head of the vocabulary, as in files of Hugging Face. BERT's pooler is
// a layer before it, with the tanh of RoBERTa's head. Source: build_pooling and build_dense_out in llama-graph.cpp.
import { fail, show } from '../../base/errors.js';
import { floatsOf } from '../bytes/float_values.js';
import { bytesAhead } from '../bytes/read_range.js';
import { namesOf } from './gguf_archs.js';
import { GELU_KEY } from './gguf_model.js';

/** @import { ByteReader } from '../bytes/chunks.js' */
/** @import { Bytes } from '../bytes/open_file.js' */
/** @import { OpenedFiles } from '../opened_files.js' */
/** @import { OwnPooling } from '../huggingface/sentence_transformers.js' */
/** @import { Config } from '../../engine/config/config.js' */
/** @import { Architecture } from './gguf_archs.js' */
/** @import { Gguf, Value } from './gguf.js' */
/** @import { Labels } from '../huggingface/classifiers.js' */
/** @import { DenseLayer } from '../huggingface/dense_layer.js' */
/** @import { Entry } from '../../engine/config/tensor_plan.js' */

/**
 * The state that a head reads, the activation of the layer before it, and the fewest labels that it tells apart.
 * @typedef {{pooling: 'first' | 'last' | 'mean', transform?: 'tanh' | 'gelu', least?: number}} Head
 */

/** The score that llama.cpp gives is a softmax, which is 1 for a single label. @type {Head} */
const ofDecoder = { pooling: 'last', least: 2 };
/** The heads that llama.cpp computes, by architecture. @type {Record<string, Head>} */
const HEADS = {
  bert: { pooling: 'first', transform: 'tanh' },
  'modern-bert': { pooling: 'mean', transform: 'gelu' },
  qwen3: ofDecoder,
  qwen3vl: ofDecoder,
};
/** Numbers of the state that a head reads, in a key that ModernBERT has. @type {Record<number, Head['pooling']>} */
const POOLINGS = { 1: 'mean', 2: 'first' };

/** A key of this package: what makes scores of logits, where it is not the usual function. */
export const ACTIVATION_KEY = 'glassformer.label_activation';
/** The token at the end of a text that a head does not read. */
export const PAD_KEY = 'tokenizer.ggml.padding_token_id';
/** @type {(labels: number) => Labels['activation']} */
export const usualActivation = (labels) => (labels === 1 ? 'sigmoid' : 'softmax');

/**
 * Whether files of an architecture can have the head of a model.
 * @param {string} architecture
 * @param {Config} config
 */
export const hasHeadOf = (architecture, { n_labels: n }) =>
  !n || (Object.hasOwn(HEADS, architecture) && n >= (HEADS[architecture].least ?? 1));

/**
 * An architecture with a head of classification.
 * @param {Architecture} own
 * @param {string} name
 * @param {Map<string, Value>} meta
 * @returns {Architecture}
 */
export function withHead(own, name, meta) {
  const { pooling, transform = 'none' } = HEADS[name];
  const act = transform === 'gelu' ? `gelu_${meta.get(GELU_KEY) === 'erf' ? 'erf' : 'tanh'}` : transform;
  return {
    ...own,
    keys: `${own.keys ?? ''} classifier.output_labels classifier.pooling_type`,
    names: (config) => ({
      ...namesOf(own, config, false),
      ...{ head: 'cls.output', head_transform: 'cls', head_norm: 'cls.norm' },
    }),
    derive: (m) => ({
      ...own.derive?.(m),
      n_labels: m.rows('cls.output.weight'),
      label_pooling: POOLINGS[m.number('classifier.pooling_type', 0)] ?? pooling,
      label_transform: m.has('cls.weight') ? act : 'none',
      label_norm: m.has('cls.norm.weight'),
      bias_head_transform: m.has('cls.bias'),
      bias_head: m.has('cls.output.bias'),
      tie_word_embeddings: false,
    }),
  };
}

/** The tensors of which readHeads makes something. */
const DENSE = /^dense_[23]\.weight$/;
/** Types of Dense layers that are read. */
const READ = /^(f32|f16|bf16|q8_0)$/;

/**
 * The labels that the metadata names.
 * @param {string} where  file name, for messages
 * @param {string} architecture
 * @param {Gguf} gguf
 * @returns {Labels}
 */
function labelsOf(where, architecture, { meta, entries }) {
  const n = entries.find(({ name }) => name === 'cls.output.weight')?.shape[0] ?? 0;
  const key = `${architecture}.classifier.output_labels`;
  const names = meta.get(key) ?? Array.from({ length: n }, (_, i) => `LABEL_${i}`);
  if (!Array.isArray(names) || names.length !== n || names.some((name) => typeof name !== 'string'))
    fail(
      'bad-header',
      `${where}: ${key} is ${show(names)}, expected ${n} texts, as many as cls.output.weight has rows`,
    );
  const [activation, pad] = [meta.get(ACTIVATION_KEY), meta.get(PAD_KEY)];
  const isKnown = activation === 'none' || activation === 'sigmoid' || activation === 'softmax';
  return {
    names: names.map(String),
    activation: isKnown ? activation : usualActivation(n),
    pad: typeof pad === 'number' ? pad : null,
    ...{ eos: null, start: null },
  };
}

/**
 * The Dense layers behind the pooling, which is then normalised.
 * @param {OpenedFiles} opener
 * @param {(() => Promise<ByteReader>)[]} readers
 * @param {(Bytes | ByteReader)[]} files
 * @param {Entry[]} entries  theirs
 * @returns {Promise<Partial<OwnPooling>>}
 */
async function denseSteps(opener, readers, files, entries) {
  const typeOf = (/** @type {Entry} */ { packed, dtype }) => packed?.type ?? dtype;
  const strange = entries.find((e) => !READ.test(typeOf(e)) || e.shape.length !== 2);
  if (strange) return { pooling: null, lacks: `${strange.name} of the type ${typeOf(strange).toUpperCase()}` };
  /** @type {DenseLayer[]} */
  const layers = [];
  for (const e of [...entries].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const r = await readers[e.file]();
    const bytes = (await bytesAhead(opener, r, files[e.file], e)).slice();
    const [outputs, inputs] = e.shape;
    const weight = floatsOf(bytes, e.dtype, `${r.name}: ${e.name}`);
    layers.push({ inputs, outputs, weight, bias: null, activation: 'identity', residual: false });
  }
  return { steps: [...layers, 'normalize'] };
}

/**
 * The architectures with that of a file as its heads make it, and what the heads are.
 * @param {OpenedFiles} opener
 * @param {(() => Promise<ByteReader>)[]} readers  of the files, at the end of their headers
 * @param {(Bytes | ByteReader)[]} files
 * @param {Gguf} gguf
 * @param {Record<string, Architecture>} known
 * @returns {Promise<{known: Record<string, Architecture>, labels?: Labels,
 *   pooling?: Partial<OwnPooling>}>}
 */
export async function readHeads(opener, readers, files, gguf, known) {
  const { meta, entries } = gguf;
  const name = String(meta.get('general.architecture'));
  const dense = entries.filter((e) => DENSE.test(e.name));
  if (dense.length && known[name]?.skips?.test(dense[0].name))
    return { known, pooling: await denseSteps(opener, readers, files, dense) };
  if (!Object.hasOwn(known, name) || !Object.hasOwn(HEADS, name)) return { known };
  const labels = labelsOf((await readers[0]()).name, name, gguf);
  return { known: { ...known, [name]: withHead(known[name], name, meta) }, labels };
}
