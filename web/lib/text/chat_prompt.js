// chat_prompt.js - formats a conversation as one prompt, by the model's chat template
import { jsonCopy } from '../base/checks.js';
import { fail, messageOf, show } from '../base/errors.js';
import { renderTemplate } from './template/render_template.js';
import { callable, checkedTools, contentLength, messagesFor, partsOf, valueOf } from './tool_calls.js';

/** @import { ToolCall, Tools } from './tool_calls.js' */
/**
 * How a conversation is written. template: further variables of it; continue: the last message has no end.
 * @typedef {{template?: Record<string, any>, tools?: any, toolChoice?: any, continue?: boolean}} Writing
 */

/**
 * The prompt of a conversation.
 * @param {{chatTemplate: string | null, toolTemplate: string | null,
 *   special: import('../files/source.js').Special}} model
 * @param {unknown} given  the messages
 * @param {Writing} writing
 * @param {(ids: number[]) => Promise<string>} decode
 * @returns {Promise<{text: string, answer: Answer | null}>} text: ends where the model's answer begins; answer: null
 *   where it can call no tools
 */
export async function chatPrompt({ chatTemplate, toolTemplate, special }, given, writing, decode) {
  const messages = checkedMessages(given);
  const { tools, choice } = checkedTools(writing.tools, writing.toolChoice);
  const template = (tools && toolTemplate) || chatTemplate;
  if (!template)
    return fail('no-chat-template', 'this model came without a chat template: give load one, or use generate');
  const { bos, eos, texts } = special;
  const textOf = async (/** @type {number | null | undefined} */ id) =>
    id === null || id === undefined ? '' : decode([id]);
  const last = messages[messages.length - 1];
  if (writing.continue && last.content.trim()) last.content += MARK + SPACE;
  const variables = {
    messages: messagesFor(template, messages, choice === 'none' ? null : tools),
    tools,
    documents: null,
    add_generation_prompt: !writing.continue,
    bos_token: texts?.bos_token ?? (await textOf(bos)),
    eos_token: texts?.eos_token ?? (await textOf(eos[0])),
    ...writing.template,
  };
  let text = '';
  try {
    text = renderTemplate(template, variables);
  } catch (error) {
    return fail('bad-option', `the chat template refuses these messages: ${messageOf(error)}`, error);
  }
  const able = callable(template, choice === 'none' ? null : tools, choice);
  return { text: writing.continue ? upTo(text) : text, answer: able && new Answer(able, messages) };
}

/**
 * Appended to the content of the message to be continued, to find its end in the rendered prompt: a character of
 * Unicode's private use, and a space that a template removes when it trims the content.
 */
const MARK = '\uf8ff';
const SPACE = '\u2003';

/**
 * The text up to the end of its last message.
 * @param {string} text  with MARK and SPACE behind the content of that message
 * @returns {string}
 */
function upTo(text) {
  const at = text.lastIndexOf(MARK);
  if (at < 0) return fail('bad-option', 'continue: the chat template does not write the content of the last message');
  const own = text.slice(0, at);
  return text[at + 1] === SPACE ? own : own.trimEnd();
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
    const length = contentLength(this.tools.form, this.#text);
    const content = this.#text.slice(this.#delivered, length);
    this.#delivered = Math.max(this.#delivered, length);
    return content;
  }

  /**
   * @param {string} text  the whole answer
   * @returns {{content: string, toolCalls: ToolCall[], message: {role: string, [key: string]: any}}}
   */
  end(text) {
    const { content, toolCalls } = partsOf(this.tools, text, this.#first);
    const calls = toolCalls.map(({ id, ...call }) => ({ id, type: 'function', function: call }));
    return {
      content,
      toolCalls,
      message: { role: 'assistant', content, ...(calls.length && { tool_calls: calls }) },
    };
  }
}

/**
 * The messages of a chat, copied and checked.
 * @param {any} value
 * @returns {Record<string, any>[]} their contents are texts, the arguments of their calls objects
 */
function checkedMessages(value) {
  const list = Array.isArray(value) ? jsonCopy(value, 'messages') : null;
  if (!list?.length || list.some((/** @type {any} */ message) => typeof message?.role !== 'string'))
    fail('bad-argument', `messages is ${show(value)}, expected a list of { role, content }`);
  return list.map((/** @type {any} */ message, /** @type {number} */ i) => ({
    ...message,
    content: contentOf(message, i),
    ...(message.tool_calls && { tool_calls: [message.tool_calls].flat().map(callOf) }),
  }));
}

/**
 * @param {any} message
 * @param {number} i
 * @returns {string}
 */
function contentOf({ content, tool_calls: calls }, i) {
  if (typeof content === 'string') return content;
  if ((content === null || content === undefined) && calls?.length) return '';
  const parts = Array.isArray(content) && content.length ? content : null;
  const other = parts?.find((part) => part?.type !== 'text' || typeof part.text !== 'string');
  if (!parts || (other && typeof other?.type !== 'string'))
    return fail('bad-argument', `messages[${i}].content is ${show(content)}, expected a text or a list of parts`);
  if (other)
    return fail('unsupported', `messages[${i}].content has a part of the type ${show(other.type)}, only text is read`);
  return parts.map(({ text }) => text).join('\n');
}

/**
 * A call in a message, in the form that templates read.
 * @param {any} call  OpenAI's { id, function: { name, arguments } }, or { id, name, arguments }
 */
function callOf(call) {
  const { id, function: own = call } = call ?? {};
  let { name, arguments: given } = own ?? {};
  if (typeof given === 'string') given = valueOf(given, given);
  if (typeof name !== 'string') fail('bad-argument', `tool_calls has ${show(call)}, expected { name, arguments }`);
  return { ...(id !== undefined && { id }), type: 'function', function: { name, arguments: given ?? {} } };
}
