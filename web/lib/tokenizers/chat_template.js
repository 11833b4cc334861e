// chat_template.js - the chat template among the metadata of a model's files

/**
 * The chat template of a model.
 * @param {any} value tokenizer.chat_template of a GGUF or chat_template of a tokenizer_config.json: a text, or a list
 *   of named templates
 * @returns {string | null} of several templates the one named "default", or the first; null when there is none
 */
export function chatTemplate(value) {
  const template = Array.isArray(value)
    ? (value.find((each) => each?.name === 'default') ?? value[0])?.template
    : value;
  return typeof template === 'string' && template ? template : null;
}
