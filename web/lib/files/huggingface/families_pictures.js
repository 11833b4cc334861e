// families_pictures.js - the text part of models that read pictures, whose other parts are skipped
import { nameIn, like } from './families_common.js';
import { LLAMA_LIKE } from './families_llama.js';

/** @import { Family } from './families_common.js' */

/** What stands before the names of the text part's weights. */
const PREFIXES = ['language_model.model.', 'model.language_model.', 'model.text_model.', 'model.'];

/** Names of the tensors that read pictures. */
const OF_PICTURES = new RegExp(
  '(^|\\.)(vision_tower|vision_model|visual|connector|multi_modal_projector|embed_vision|patch_embed|' +
    'image_newline)(\\.|$)',
);

/**
 * The text part of a model: config.json has its keys under text_config, in older files among the others.
 * @param {Family} text
 */
const textOf = (text) =>
  like(text, {
    inside: 'text_config',
    prefixes: PREFIXES,
    names: (config, json, files) => ({ head: `/${nameIn(files, ['lm_head', 'language_model.lm_head'], '')}` }),
    others: OF_PICTURES,
  });

const { gemma3_text: gemma3, llama, mistral, qwen2, qwen3 } = LLAMA_LIKE;

/** The families of this file by model_type. @type {Record<string, Family>} */
export const WITH_PICTURES = {
  // the class that reads pictures has no soft cap of logits
  gemma3: { ...textOf(gemma3), derive: (...of) => ({ ...gemma3.derive(...of), logit_softcap: 0 }) },
  ...{ smolvlm: textOf(llama), idefics3: textOf(llama) },
  mistral3: textOf(mistral),
  ...{ qwen2_vl: textOf(qwen2), qwen2_5_vl: textOf(qwen2), qwen2_vl_text: qwen2, qwen2_5_vl_text: qwen2 },
  ...{ qwen3_vl: textOf(qwen3), qwen3_vl_text: qwen3 },
};
