// chat_prompt.js - formats a conversation as one prompt, by the model's chat template
import { LIMITS, jsonCopy, readValue } from '../base/checks.js';
import { fail, messageOf, show } from '../base/errors.js';
import { renderTemplate } from './render_template.js';

/**
 * The prompt of a conversation.
 * @param {{chatTemplate: string | null, special: import('../checkpoint/source.js').Special}} model
 * @param {unknown} given  the messages
 * @param {Record<string, any> | undefined} values  further variables of the template
 * @param {(ids: number[]) => Promise<string>} decode
 * @returns {Promise<string>} ends where the model's answer begins
 */
export async function chatPrompt({ chatTemplate, special: { bos, eos, texts } }, given, values, decode) {
  const messages = checkedMessages(given);
  if (!chatTemplate) return fail('no-chat-template', 'this model came without a chat template: use generate');
  const textOf = async (/** @type {number | null | undefined} */ id) =>
    id === null || id === undefined ? '' : decode([id]);
  const tokens = {
    bos_token: texts?.bos_token ?? (await textOf(bos)),
    eos_token: texts?.eos_token ?? (await textOf(eos[0])),
  };
  try {
    return renderTemplate(chatTemplate, { messages, add_generation_prompt: true, ...tokens, ...values });
  } catch (error) {
    return fail('bad-option', `the chat template refuses these messages: ${messageOf(error)}`, error);
  }
}

/**
 * The messages of a chat, copied and checked.
 * @param {any} value
 * @returns {{role: string, content: string}[]}
 */
function checkedMessages(value) {
  return readValue('messages', () => {
    const list = Array.isArray(value) ? jsonCopy(value, 'messages', { values: LIMITS.messages * 8 }) : null;
    if (list?.length > LIMITS.messages)
      fail('bad-argument', `messages has ${list.length} entries, at most ${LIMITS.messages} are taken`);
    if (
      !list?.length ||
      list.some((/** @type {any} */ m) => typeof m?.role !== 'string' || typeof m?.content !== 'string')
    ) {
      fail('bad-argument', `messages is ${show(value)}, expected a list of { role, content }`);
    }
    return list;
  });
}
