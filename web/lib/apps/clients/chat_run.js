// chat_run.js - a conversation that a component shows: its messages, the answer while it is written, calls of tools
import { fail, show } from '../../base/errors.js';

/** @import { Summary } from '../../api/index.js' */
/** @import { Message } from '../../api/call_types.js' */
/** @import { Model } from '../../api/model.js' */
/**
 * A tool of a chat. execute: makes the result of a call, which the model reads as JSON or text; without it the answer
 * ends with the call, and its result is sent as a message of the role tool.
 * @typedef {{description?: string, parameters?: object, execute?: (given: any) => unknown}} ChatTool
 */
/**
 * Options of a chat: those of Model.chat, and tools by their names. rounds: how often tools are called before an
 * answer, at most; default 5.
 * @typedef {Omit<NonNullable<Parameters<Model['chat']>[1]>, 'tools'> & {tools?: Record<string, ChatTool>,
 *   rounds?: number}} ChatOptions
 */
/**
 * What is shown. messages: the last one grows while it is written; summary: of the last answer.
 * @typedef {{messages: readonly Message[], running: boolean, summary: Summary | null, error: unknown}} ChatState
 */

/** @param {readonly Message[]} [messages] @returns {ChatState} */
export const chatState = (messages = []) => ({ messages, running: false, summary: null, error: null });

export class ChatRun {
  #state;
  #changed;
  /** @type {AbortController | null} */
  #controller = null;
  /** The model that answers. @type {Model | null} */
  #model = null;

  /** @param {ChatState} state @param {(state: ChatState) => void} changed */
  constructor(state, changed) {
    this.#state = state;
    this.#changed = changed;
  }

  /** @param {Partial<ChatState>} more */
  #set(more) {
    this.#state = { ...this.#state, ...more };
    this.#changed(this.#state);
  }

  /** End the answer that is written; its text stays. @param {Model | null} [of]  only an answer of this model */
  stop(of) {
    if (of === undefined || of === this.#model) this.#controller?.abort();
  }

  /** Put other messages in place of those shown. @param {readonly Message[]} messages */
  setMessages(messages) {
    this.stop();
    this.#controller = null;
    this.#set(chatState(messages));
  }

  /**
   * Send a message and show the answer; tools are called. Ends an answer that is written.
   * @param {Model | null} model
   * @param {string | Message} message
   * @param {ChatOptions} options
   * @returns {Promise<Summary | null>} of the last answer; null when it was stopped or failed
   */
  async send(model, message, { tools = {}, rounds = 5, ...options }) {
    if (!model) return fail('bad-state', 'useChat: the model is not loaded yet');
    this.stop();
    this.#model = model;
    const controller = (this.#controller = new AbortController());
    const signal = AbortSignal.any([controller.signal, ...(options.signal ? [options.signal] : [])]);
    const update = (/** @type {Partial<ChatState>} */ more) => {
      if (this.#controller === controller) this.#set(more);
    };
    /** @type {Message[]} */
    let messages = [
      ...this.#state.messages,
      typeof message === 'string' ? { role: 'user', content: message } : message,
    ];
    update({ messages, running: true, summary: null, error: null });
    const told = Object.entries(tools).map(([name, { execute: _, ...tool }]) => ({ name, ...tool }));
    try {
      for (let round = 0; ; round++) {
        const own = { ...options, ...(told.length && { tools: told }), signal };
        const summary = await this.#answer(model, messages, own, update);
        messages = [...messages, /** @type {Message} */ (summary.message)];
        const calls = summary.toolCalls ?? [];
        if (!calls.length || calls.some(({ name }) => !tools[name].execute) || round === rounds) {
          update({ messages, summary, running: false });
          return summary;
        }
        for (const { id, name, arguments: given } of calls)
          messages.push({ role: 'tool', tool_call_id: id, name, content: written(await tools[name].execute?.(given)) });
        update({ messages: [...messages] });
        signal.throwIfAborted();
      }
    } catch (error) {
      update({ running: false, error: signal.aborted ? null : error });
      return null;
    }
  }

  /**
   * @param {Model} model
   * @param {readonly Message[]} messages
   * @param {Parameters<Model['chat']>[1]} options
   * @param {(more: Partial<ChatState>) => void} update
   */
  async #answer(model, messages, options, update) {
    const steps = model.chat(messages, options);
    let content = '';
    for await (const step of steps) {
      content += step.content ?? step.text;
      update({ messages: [...messages, { role: 'assistant', content }] });
    }
    return steps.result;
  }
}

/** The result of a tool as the content of a message. @param {unknown} result */
function written(result) {
  if (typeof result === 'string') return result;
  return JSON.stringify(result) ?? fail('bad-argument', `a tool returned ${show(result)}, expected a text or JSON`);
}
