// chat_template.js - the chat template among the metadata of a model's files

/**
 * The chat templates of a model: that of all conversations, and that of those with tools where it is another one.
 * @param {any} value tokenizer.chat_template of a GGUF or chat_template of a tokenizer_config.json: a text, or a list
 *   or a dictionary of named templates
 * @param {any} [withTools]  tokenizer.chat_template.tool_use of a GGUF
 * @returns {{chatTemplate: string | null, toolTemplate: string | null}} of several templates chatTemplate is the one
 *   named "default", or the first; null when there is none
 */
export function chatTemplates(value, withTools) {
  const isDictionary = value !== null && typeof value === 'object' && !Array.isArray(value);
  const list = isDictionary ? Object.entries(value).map(([name, text]) => ({ name, template: text })) : value;
  const named = (/** @type {string} */ name) => list.find((/** @type {any} */ each) => each?.name === name);
  const [own, tools] = Array.isArray(list)
    ? [(named('default') ?? list[0])?.template, named('tool_use')?.template]
    : [value, withTools];
  const template = (/** @type {any} */ text) => (typeof text === 'string' && text ? text : null);
  return { chatTemplate: template(own), toolTemplate: template(tools) };
}
