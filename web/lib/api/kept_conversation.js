// kept_conversation.js - Model.chat: the prompt of the messages, and the session that keeps the newest conversation
import { checkedInput } from './input/arguments.js';
import { callOptions } from './input/call_options.js';
import { fail, guardedAsync, show } from '../base/errors.js';
import { keepAlive } from './lifetimes.js';
import { valueOf } from './schema_value.js';
import { generateWhole, isSessionOf } from './session.js';
import { Steps } from './steps.js';

/** @import { GenerateOptions, Model, Session, Step, Summary } from './index.js' */
/** @import { ChatExtras, Message, WritingOptions } from './call_types.js' */

/** Options of generate that a generation in a session cannot have. */
const OWN_SEQUENCE = ['source', 'sourceMask', 'capture', 'captureBudget', 'edits', 'beams', 'lengthPenalty'];

/**
 * A summary with the answer as a message.
 * @param {Summary} summary
 * @returns {Summary}
 */
const withMessage = (summary) => ({ ...summary, message: { role: 'assistant', content: summary.text } });

/** The conversation of a model whose keys and values are kept for its next turn. */
export class KeptConversation {
  #model;
  #remote;
  #info;
  #limits;
  /** @type {Session | null} */
  #session = null;
  #isRunning = false;

  /**
   * @param {Model} model
   * @param {Pick<import('../worker/model_caller.js').Remote, 'generate'>} remote
   * @param {any} info  of the model
   * @param {any} limits  of its arguments
   */
  constructor(model, remote, info, limits) {
    this.#model = model;
    this.#remote = remote;
    this.#info = info;
    this.#limits = limits;
  }

  /**
   * Free the memory of the conversation which no caller can free.
   * @returns {Promise<boolean>} false: there is none, or `chat` runs
   */
  async free() {
    if (this.#isRunning || !this.#session) return false;
    const session = this.#session;
    this.#session = null;
    await session.close().catch(() => {});
    return true;
  }

  /**
   * The prompt of messages, by the model's chat template.
   * @param {readonly Message[]} messages
   * @param {WritingOptions} writing  checked
   * @param {{reads?: boolean, json?: boolean}} [how]  as of chatPrompt
   */
  prompt(messages, writing, how) {
    return guardedAsync(async () =>
      (await import('../text/chat_prompt.js')).chatPrompt(
        this.#info,
        messages,
        writing,
        (ids) => this.#model.decode(ids),
        how,
      ),
    );
  }

  /**
   * The steps of an answer.
   * @param {readonly Message[]} messages
   * @param {GenerateOptions & ChatExtras} [options]
   * @returns {AsyncGenerator<Step, Summary, void>}
   */
  async *chat(messages, options) {
    const schema = options?.json;
    const [checked, hooks] = callOptions('chat', options, this.#limits);
    const { template, tools, toolChoice, parallelToolCalls, continue: continues, ...rest } = checked;
    const writing = { template, tools, toolChoice, parallelToolCalls, continue: continues };
    const { text, answer, warning } = await this.prompt(messages, writing, { json: rest.json !== undefined });
    if (warning && !this.#info.warnings.includes(warning)) this.#info.warnings.push(warning);
    const written = this.#converse(text, { ...rest, tools: answer?.tools }, hooks);
    if (!answer && schema === undefined) return withMessage(yield* written);
    const steps = new Steps(written);
    for await (const step of steps) yield answer ? { ...step, content: answer.push(step.text) } : step;
    const summary = await steps.result;
    const parts = answer?.end(summary.text);
    const isValue = schema !== undefined && !parts?.toolCalls.length;
    return { ...withMessage(summary), ...parts, ...(isValue && (await valueOf(summary, schema))) };
  }

  /**
   * @param {string} prompt
   * @param {Record<string, any>} options  checked
   * @param {{signal?: AbortSignal}} hooks
   * @returns {AsyncGenerator<Step, Summary, void>}
   */
  async *#converse(prompt, { session, ...rest }, hooks) {
    const unfit = OWN_SEQUENCE.find((name) => rest[name] !== undefined);
    if (session !== undefined) {
      if (!isSessionOf(session, this.#model))
        fail('bad-option', `session is ${show(session)}, expected a session of this model`);
      if (unfit) fail('bad-option', `${unfit} cannot be combined with session, which has a sequence of its own`);
    }
    const own = { ...rest, addSpecialTokens: false };
    if (session !== undefined) return yield* generateWhole(session, prompt, own, hooks);
    const { kind, causal } = this.#model.config;
    if (unfit || kind !== 'decoder' || !causal || this.#isRunning)
      return yield* keepAlive(
        this.#remote.generate([checkedInput(prompt, 'prompt', this.#limits), own], hooks),
        this.#model,
      );
    this.#isRunning = true;
    try {
      this.#session ??= await this.#model.session();
      return yield* generateWhole(this.#session, prompt, own, hooks);
    } catch (error) {
      if (/** @type {any} */ (error)?.code === 'out-of-memory') {
        this.#session?.dispose();
        this.#session = null;
      }
      throw error;
    } finally {
      this.#isRunning = false;
    }
  }
}
