// chat_prompt.js - formats a conversation as one prompt, by the model's chat template
import { jsonCopy } from '../base/checks.js';
import { fail, messageOf, show } from '../base/errors.js';
import { repr } from './template/python_text.js';
import { fromJson } from './template/python_values.js';
import { renderTemplate } from './template/render_template.js';
import { callable, checkedTools, contentOf, messagesFor, partsOf, textOfParts } from './tool_calls.js';

/** @import { ToolCall, Tools } from './tool_calls.js' */
/**
 * How a conversation is written. template: further variables of it; continue: the last message has no end.
 * @typedef {{template?: Record<string, any>, tools?: any, toolChoice?: any, parallelToolCalls?: boolean,
 *   continue?: boolean}} Writing
 */
/**
 * text: ends where the model's answer begins; answer: null where no calls are read from it; warning: why, where tools
 * were given.
 * @typedef {{text: string, answer: Answer | null, warning: string | null}} Prompt
 */

/**
 * The prompt of a conversation. The template gets the messages as the caller gave them.
 * @param {{chatTemplate: string | null, toolTemplate: string | null,
 *   special: import('../files/source.js').Special}} model
 * @param {unknown} given  the messages
 * @param {Writing} writing
 * @param {(ids: number[]) => Promise<string>} decode
 * @param {{reads?: boolean, json?: boolean}} [how]  reads: calls are read from the answer; json: it is JSON otherwise
 * @returns {Promise<Prompt>}
 */
export async function chatPrompt(
  { chatTemplate, toolTemplate, special },
  given,
  writing,
  decode,
  { reads = true, json = false } = {},
) {
  const messages = withReasoning(checkedMessages(given));
  const { tools, choice } = checkedTools(writing.tools, writing.toolChoice);
  const template = (tools && toolTemplate) || chatTemplate;
  if (!template)
    return fail(
      'no-chat-template',
      toolTemplate
        ? 'this model has a chat template for conversations with tools only: pass tools, or give load another template'
        : 'this model has no chat template: pass one to load as chatTemplate, or call generate instead of chat',
    );
  const { bos, eos, texts } = special;
  const textOf = async (/** @type {number | null | undefined} */ id) =>
    id === null || id === undefined ? '' : decode([id]);
  const continued = writing.continue ? marked(messages) : null;
  const variables = {
    messages: messagesFor(template, messages, choice === 'none' ? null : tools),
    tools,
    documents: null,
    add_generation_prompt: !writing.continue,
    ...texts,
    bos_token: texts?.bos_token ?? (await textOf(bos)),
    eos_token: texts?.eos_token ?? (await textOf(eos[0])),
    ...writing.template,
  };
  const text = rendered(template, variables);
  const read = reads ? { choice, parallel: writing.parallelToolCalls ?? true, json } : null;
  const { able, warning } = read ? callable(template, tools, read) : { able: null, warning: null };
  return {
    text: continued === null ? text : upTo(text, continued),
    answer: able && new Answer(able, messages),
    warning,
  };
}

/**
 * The text of the template. Where it cannot take contents that are lists of parts, it gets the texts of the parts, one
 * a line: where it refuses them, or prints a part as Python prints a dictionary.
 * @param {string} template
 * @param {Record<string, any>} variables
 * @returns {string}
 */
function rendered(template, variables) {
  const parts = variables.messages.flatMap((/** @type {any} */ { content }) => (Array.isArray(content) ? content : []));
  try {
    const text = renderTemplate(template, variables);
    if (!parts.some((/** @type {any} */ part) => text.includes(repr(fromJson(part))))) return text;
  } catch (error) {
    if (!parts.length) fail('bad-option', `the chat template refuses these messages: ${messageOf(error)}`, error);
  }
  const messages = variables.messages.map((/** @type {any} */ message) => ({
    ...message,
    ...(Array.isArray(message.content) && { content: textOfParts(message.content) }),
  }));
  return rendered(template, { ...variables, messages });
}

/** Names of what a model thought before a message, of which a template reads one. */
const REASONING = ['reasoning_content', 'thinking', 'reasoning'];

/**
 * Messages whose reasoning stands under every name that templates read, as in transformers 5.
 * @param {Record<string, any>[]} messages
 * @returns {Record<string, any>[]}
 */
const withReasoning = (messages) =>
  messages.map((message) => {
    const name = REASONING.find((one) => (message[one] ?? null) !== null);
    return name ? { thinking: message[name], ...message, reasoning_content: message[name] } : message;
  });

/**
 * Appended to the content of the message to be continued, to find its end in the rendered prompt: a character of
 * Unicode's private use, and a space that a template removes when it trims the content.
 */
const MARK = '\uf8ff ';

/**
 * Mark the end of the last message.
 * @param {Record<string, any>[]} messages
 * @returns {string} its text
 */
function marked(messages) {
  const last = messages[messages.length - 1];
  const part = Array.isArray(last.content) ? last.content[last.content.length - 1] : null;
  const text = part ? part.text : last.content;
  if (typeof text !== 'string') return fail('bad-option', 'continue: the last message has no content');
  if (part) part.text = text + MARK;
  else last.content = text + MARK;
  return text;
}

/**
 * The text up to the end of its last message.
 * @param {string} text  with MARK behind the content of that message
 * @param {string} content
 * @returns {string}
 */
function upTo(text, content) {
  const at = text.lastIndexOf(MARK[0]);
  if (at < 0 || !text.includes(content.trim()))
    return fail('bad-option', 'continue: the chat template leaves out the last message, so it cannot be continued');
  const own = text.slice(0, at);
  return text.startsWith(MARK, at) ? own : own.trimEnd();
}

/** An answer that may call tools, while it is written. */
class Answer {
  #first;
  #text = '';
  #delivered = 0;

  /**
   * @param {Tools} tools
   * @param {Record<string, any>[]} messages  before it
   */
  constructor(tools, messages) {
    this.tools = tools;
    this.#first = messages.reduce((n, { tool_calls: calls = [] }) => n + calls.length, 1);
  }

  /**
   * Add the text of a step.
   * @param {string} text
   * @returns {string} what is now known to be no part of a call
   */
  push(text) {
    this.#text += text;
    const content = contentOf(this.tools.form, this.#text);
    const fresh = content.slice(this.#delivered);
    this.#delivered = Math.max(this.#delivered, content.length);
    return fresh;
  }

  /**
   * @param {string} text  the whole answer
   * @returns {{content: string, toolCalls: ToolCall[], message: {role: string, [key: string]: any}}}
   */
  end(text) {
    const { content, toolCalls, thinking } = partsOf(this.tools, text, this.#first);
    const calls = toolCalls.map(({ id, ...call }) => ({ id, type: 'function', function: call }));
    return {
      content,
      toolCalls,
      message: {
        role: 'assistant',
        content,
        ...(thinking && { thinking }),
        ...(calls.length && { tool_calls: calls }),
      },
    };
  }
}

/**
 * The messages of a chat, copied and checked.
 * @param {any} value
 * @returns {Record<string, any>[]}
 */
function checkedMessages(value) {
  const list = Array.isArray(value) ? jsonCopy(value, 'messages') : null;
  if (!list?.length || list.some((/** @type {any} */ message) => typeof message?.role !== 'string'))
    fail('bad-argument', `messages is ${show(value)}, expected a list of { role, content }`);
  list.forEach((/** @type {any} */ message, /** @type {number} */ i) => {
    checkContent(message.content, i);
    const calls = message.tool_calls ?? [];
    if (!Array.isArray(calls)) fail('bad-argument', `messages[${i}].tool_calls is ${show(calls)}, expected a list`);
    for (const call of calls)
      if (typeof (call?.function ?? call)?.name !== 'string')
        fail('bad-argument', `tool_calls has ${show(call)}, expected { function: { name, arguments } }`);
  });
  return list;
}

/**
 * @param {any} content
 * @param {number} i  of the message
 */
function checkContent(content, i) {
  if (typeof content === 'string' || content === null || content === undefined) return;
  const parts = Array.isArray(content) && content.length ? content : null;
  const other = parts?.find((part) => part?.type !== 'text' || typeof part.text !== 'string');
  if (!parts || (other && typeof other?.type !== 'string'))
    fail('bad-argument', `messages[${i}].content is ${show(content)}, expected a text or a list of parts`);
  if (other)
    fail('unsupported', `messages[${i}].content has a part of the type ${show(other.type)}, only text is read`);
}
