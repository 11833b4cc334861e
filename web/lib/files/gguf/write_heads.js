// write_heads.js - the labels of a classifier and the pooling of an encoder in a GGUF, for write_model.js
import { fail, show } from '../../base/errors.js';
import { ACTIVATION_KEY, PAD_KEY, usualActivation } from './gguf_heads.js';
import { text, texts, u32 } from './write_gguf.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Labels } from '../huggingface/classifiers.js' */
/** @import { OwnPooling } from '../huggingface/sentence_transformers.js' */
/** @import { Value } from './write_gguf.js' */
/** @import { Out } from './write_model.js' */

/** llama.cpp's numbers of the kinds of pooling; that of heads of classification. @type {Record<string, number>} */
const POOLINGS = { mean: 1, cls: 2, last: 3 };
const RANK = 4;

/**
 * The metadata of a head of classification, without the labels of the model.
 * @param {Config} config
 * @param {string} architecture
 * @returns {Record<string, Value>} keys without the architecture's name
 */
export function headMeta({ n_labels: n, label_pooling: pooling }, architecture) {
  if (!n) return {};
  return {
    pooling_type: u32(RANK),
    'classifier.output_labels': texts(Array.from({ length: n }, (_, i) => `LABEL_${i}`)),
    ...(architecture === 'modern-bert' && { 'classifier.pooling_type': u32(POOLINGS[pooling] ?? POOLINGS.cls) }),
  };
}

/**
 * The metadata of the labels.
 * @param {Labels} labels
 * @param {string} architecture
 * @returns {Record<string, Value>}
 */
export const labelMeta = ({ names, activation, pad }, architecture) => ({
  [`${architecture}.classifier.output_labels`]: texts(names),
  ...(pad !== null && { [PAD_KEY]: u32(pad) }),
  ...(activation !== usualActivation(names.length) && { [ACTIVATION_KEY]: text(activation) }),
});

/**
 * What makes one vector of an encoder's states: metadata, and the Dense layers of EmbeddingGemma.
 * @param {Partial<OwnPooling>} pooling
 * @param {string} architecture
 * @param {Config} config
 * @returns {{meta: Record<string, Value>, tensors: Out[]}}
 */
export function poolingParts({ pooling: kind, lacks, steps = [] }, architecture, { d_model: width }) {
  if (kind === undefined) return { meta: {}, tensors: [] };
  const type = typeof kind === 'string' ? POOLINGS[kind] : undefined;
  if (!type) {
    const own = lacks ?? (Array.isArray(kind) ? kind.join(' and ') : String(kind));
    return fail('unsupported', `the files make vectors by ${own}, and GGUF knows the poolings mean, cls and last`);
  }
  const layers = steps.flatMap((step) => (step === 'normalize' ? [] : [step]));
  const isPlain = layers.every(({ activation, bias, residual }) => activation === 'identity' && !bias && !residual);
  const fits = layers[0]?.inputs === width && layers.at(-1)?.outputs === width && layers.length <= 2;
  const shapes = show(layers.map((layer) => [layer.outputs, layer.inputs]));
  if (layers.length && !(isPlain && fits && architecture === 'gemma-embedding'))
    fail(
      'unsupported',
      `GGUF has Dense layers of EmbeddingGemma alone: up to two matrices, the first one reads ${width} numbers and ` +
        `the last one gives as many; the files have ${shapes} after ${architecture}`,
    );
  /** @type {Record<string, Value>} */
  const meta = { [`${architecture}.pooling_type`]: u32(type) };
  const tensors = layers.map(({ inputs, outputs, weight }, i) => {
    const name = `dense_${i + 2}`;
    meta[`${architecture}.${name}_feat_in`] = u32(inputs);
    meta[`${architecture}.${name}_feat_out`] = u32(outputs);
    return { name: `${name}.weight`, shape: [outputs, inputs], covers: [], table: weight };
  });
  return { meta, tensors };
}
