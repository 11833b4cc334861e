// families_pictures.js - the text part of models that read pictures, whose other parts are skipped
import { nameIn, like } from './families_common.js';
import { LLAMA_LIKE } from './families_llama.js';

/** @import { Family } from './families_common.js' */

/** What stands before the names of the text part's weights. */
const PREFIXES = ['language_model.model.', 'model.language_model.', 'model.text_model.', 'model.'];

/** Names of the tensors that read pictures. */
const OF_PICTURES = new RegExp(
  '(^|\\.)(vision_tower|vision_model|visual|connector|multi_modal_projector|embed_vision|patch_embed|' +
    'image_newline|audio_tower)(\\.|$)',
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

const { gemma3_text: gemma3, qwen2, qwen3 } = LLAMA_LIKE;

/** The families of this file by model_type. @type {Record<string, Family>} */
export const WITH_PICTURES = {
  // the class that reads pictures has no soft cap of logits
  gemma3: { ...textOf(gemma3), derive: (...of) => ({ ...gemma3.derive(...of), logit_softcap: 0 }) },
  ...{ qwen2_vl: textOf(qwen2), qwen2_5_vl: textOf(qwen2), qwen2_vl_text: qwen2, qwen2_5_vl_text: qwen2 },
  ...{ qwen3_vl: textOf(qwen3), qwen3_vl_text: qwen3 },
};

/**
 * Models whose text part is of any family, which text_config names: they put pictures or sound between the embeddings.
 * The family where it does not.
 * @type {Record<string, string>}
 */
export const ANY_TEXT = {
  ...Object.fromEntries(
    'llava llava_next llava_onevision vipllava internvl aya_vision got_ocr2 voxtral smolvlm idefics3'
      .split(' ')
      .map((type) => [type, 'llama']),
  ),
  mistral3: 'mistral',
};

/**
 * The family of such a model; null where its text part is of none. Its class has a head of its own, without the factor
 * and the soft cap of logits that the class of the text part has.
 * @param {any} json  config.json
 * @param {Record<string, Family>} families
 * @returns {Family | null}
 */
export function familyOfText({ model_type: type, text_config: text }, families) {
  const name = text?.model_type ?? ANY_TEXT[type];
  if (!Object.hasOwn(ANY_TEXT, type) || !Object.hasOwn(families, name)) return null;
  const family = textOf(families[name]);
  const { logit_scale: scale, logit_softcap: cap, ...keys } = family.keys;
  return {
    ...family,
    keys,
    reads: [family.reads, scale, cap].filter(Boolean).join(' '),
    derive: (...of) => ({ ...family.derive(...of), logit_scale: 1, logit_softcap: 0 }),
  };
}
