// trained_gguf.js - a trained decoder as the bytes of a GGUF
import { concatenate } from '../files/bytes/chunks.js';
import { ggufLayout, writeModel } from '../files/gguf/write_model.js';
import { text, u32 } from '../files/gguf/write_gguf.js';
import { PROVENANCE_KEY } from '../files/read_provenance.js';
import { vocabularyMeta } from '../files/gguf/write_vocab.js';
import { completeConfig } from '../engine/config/config.js';
import { roster } from '../engine/config/weight_roster.js';

/** @import { Config } from '../engine/config/config.js' */
/** @import { Type } from '../files/gguf/quant_mix.js' */

/** The separator begins and ends a text. */
const SPECIAL = { bos: 0, eos: [0] };

/**
 * Whether an architecture of GGUF is a model's own: without biases of 0 or factors that the model lacks.
 * @param {Config} config
 */
function isArchitecture(config) {
  if (config.kind !== 'decoder') return false;
  try {
    const { added, scale } = ggufLayout(config);
    return !added && scale === 1;
  } catch {
    return false;
  }
}

/**
 * The metadata that say what a model comes from.
 * @param {import('./run_provenance.js').TrainingProvenance} found
 */
const originMeta = (found) => ({
  'general.type': text('model'),
  'general.description': text(
    `trained for ${found.step} steps by glassformer ${found.glassformer}, seed ${found.seed}`,
  ),
  'general.dataset.count': u32(1),
  'general.dataset.0.name': text('training text'),
  'general.dataset.0.version': text(`sha256:${found.data}`),
  [PROVENANCE_KEY]: text(JSON.stringify(found)),
});

/**
 * @param {object} given  the configuration of the run, in camelCase
 * @param {import('../text/tokenizer.js').Tokenizer} tokenizer
 * @param {() => Promise<Float32Array>} weights  the values of all weights in roster order, without those of a tied head
 * @param {string} dtype  of the matrices
 * @param {(() => Promise<import('./run_provenance.js').TrainingProvenance>) | null} provenance  called last
 * @returns {Promise<Uint8Array<ArrayBuffer> | null>} null where the model has no architecture of GGUF
 */
export async function ggufOf(given, tokenizer, weights, dtype, provenance) {
  const config = completeConfig(given);
  if (!isArchitecture(config)) return null;
  const values = await weights();
  /** @type {Map<string, Float32Array>} */
  const named = new Map();
  let at = 0;
  for (const { name, shape } of roster(config)) {
    const count = shape.reduce((n, d) => n * d, 1);
    named.set(name, values.subarray(at, (at += count)));
  }
  const weight = (/** @type {string} */ name) => /** @type {Float32Array} */ (named.get(name));
  const meta = {
    ...vocabularyMeta(JSON.parse(tokenizer.toText()), SPECIAL, config.vocab_size),
    ...(provenance && originMeta(await provenance())),
  };
  const parts = [];
  let length = 0;
  for await (const part of writeModel(config, weight, { type: /** @type {Type} */ (dtype.toUpperCase()), meta })) {
    parts.push(part);
    length += part.length;
  }
  return concatenate(parts, length);
}
