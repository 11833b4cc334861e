// module_places.js - which weights the names in an adapter mean, where its base is a file of another kind: modules of
// Hugging Face over a GGUF, tensors of GGUF over a checkpoint of Hugging Face
import { fail, show } from '../../base/errors.js';
import { FAMILIES } from '../huggingface/families_all.js';
import { conventionsOf } from '../huggingface/families_common.js';
import { namesOf } from '../gguf/gguf_archs.js';
import { ALL_ARCHITECTURES } from '../gguf/gguf_archs_more.js';
import { placesByName } from '../../engine/config/tensor_plan.js';

/** @import { Config } from '../../engine/config/config.js' */
/** @import { Place } from '../../engine/config/tensor_plan.js' */
/**
 * Weights by name, and the pairs that RoPE rotates in the order of their rows.
 * @typedef {{places: Map<string, Place>, pairs: Config['rope_pairs']}} Scheme
 */

/**
 * The model family of Hugging Face by architecture of GGUF, where its name is another.
 * @type {Record<string, string>}
 */
const FAMILY = {
  qwen2moe: 'qwen2_moe',
  qwen3moe: 'qwen3_moe',
  gemma3: 'gemma3_text',
  phi2: 'phi',
  gptneox: 'gpt_neox',
  'hunyuan-dense': 'hunyuan_v1_dense',
  chatglm: 'glm',
  starcoder: 'gpt_bigcode',
  'nomic-bert': 'nomic_bert',
  'jina-bert-v3': 'jina_embeddings_v3',
  'modern-bert': 'modernbert',
  'gemma-embedding': 'gemma3_text',
  qwen2vl: 'qwen2_vl_text',
  qwen3vl: 'qwen3_vl_text',
};

/**
 * The modules of the Hugging Face family that a GGUF was converted from.
 * @param {Config} config
 * @param {string} architecture  of the GGUF
 * @param {string} where  the adapter, for messages
 * @returns {Scheme}
 */
export function modulesOf(config, architecture, where) {
  const type = architecture === 'llama' && config.n_experts ? 'mixtral' : (FAMILY[architecture] ?? architecture);
  if (!Object.hasOwn(FAMILIES, type))
    fail('unsupported', `${where}: names of PEFT are not known for a GGUF of the architecture ${show(architecture)}`);
  const { [type]: family } = FAMILIES;
  const none = new Set();
  return {
    places: placesByName(config, family.names(config, {}, none), conventionsOf(family, none)),
    pairs: family.base.rope_pairs ?? 'half',
  };
}

/**
 * The tensors of a GGUF into which a checkpoint of Hugging Face would be converted.
 * @param {Config} config
 * @param {string} architecture  of the GGUF
 * @param {boolean} fused  whether q, k and v are one tensor
 * @param {string} where  the adapter, for messages
 * @returns {Scheme}
 */
export function tensorsOf(config, architecture, fused, where) {
  const own = ALL_ARCHITECTURES[architecture];
  const { fields } = own;
  for (const field of ['kind', 'norm', 'position']) {
    const [theirs, ours] = [fields[field] ?? 'decoder', config[/** @type {keyof Config} */ (field)]];
    if (theirs !== ours)
      fail(
        'bad-argument',
        `${where}: made for the architecture ${show(architecture)}, with ${field} ${show(theirs)}; ` +
          `the model has ${show(ours)}`,
      );
  }
  return {
    places: placesByName(config, namesOf(own, config, fused)),
    pairs: fields.rope_pairs ?? config.rope_pairs,
  };
}
