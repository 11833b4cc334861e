// chat.js - a conversation as one text, by the template that came with the model
import { Template } from '@huggingface/jinja';
import { fail, show } from './formats/errors.js';

/**
 * @param {string | null} template
 * @param {{role: string, content: string}[]} messages
 * @param {Record<string, any>} values  bos_token, eos_token and what else the template asks for
 * @returns {string} up to where the model is to speak
 */
export function renderChat(template, messages, values) {
  if (!template) fail('no-chat-template', 'this model came without a chat template: use generate');
  if (!Array.isArray(messages) || !messages.length || messages.some((m) => typeof m?.role !== 'string' || typeof m?.content !== 'string')) {
    fail('bad-argument', `messages is ${show(messages)}, expected a list of { role, content }`);
  }
  try {
    return new Template(template).render({ messages, add_generation_prompt: true, ...values });
  } catch (error) {
    return fail('bad-option', `the chat template refuses these messages: ${/** @type {any} */ (error)?.message ?? error}`, error);
  }
}
