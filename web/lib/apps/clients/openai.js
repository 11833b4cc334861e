// openai.js - the entry glassformer/openai: a loaded model for OpenAI's client and for programs that use it, without a
// server
import { chunksOf, completionOf, embeddingsOf } from './openai_answers.js';

export { fetchOf } from './openai_fetch.js';

/** @import { Model } from '../../api/model.js' */
/** @import { inside } from './conversation.js' */
/** @import { ChatCompletion, ChatCompletionChunk, ChatCompletionCreateParamsNonStreaming } from 'openai/resources' */
/** @import { ChatCompletionCreateParamsStreaming, CreateEmbeddingResponse } from 'openai/resources' */
/** @import { EmbeddingCreateParams } from 'openai/resources' */
/**
 * Options that OpenAI does not have: those of Model.chat, by its names.
 * @typedef {{glassformer?: Record<string, any>}} Extra
 */
/**
 * A completion; the inside of a choice gives attention and lens of its conversation.
 * @typedef {ChatCompletion & {inside: (choice?: number) => Promise<ReturnType<typeof inside>>}} Completion
 */
/** @typedef {{signal?: AbortSignal | null}} RequestOptions */
/**
 * The answers of one request. With `stream` an iterable of chunks, whose loop may be left.
 * @typedef {{
 *   (body: ChatCompletionCreateParamsNonStreaming & Extra, options?: RequestOptions): Promise<Completion>,
 *   (body: ChatCompletionCreateParamsStreaming & Extra, options?: RequestOptions):
 *     Promise<AsyncIterable<ChatCompletionChunk>>,
 * }} Create
 */
/**
 * @typedef {{chat: {completions: {create: Create}}, embeddings: {create: (body: EmbeddingCreateParams,
 *   options?: RequestOptions) => Promise<CreateEmbeddingResponse>}}} Client
 */

/**
 * A loaded model as an object with the calls of OpenAI's client, for programs that do without that client: the answers
 * of fetchOf, and `inside` of a completion.
 * @param {Model} model
 * @returns {Client}
 */
export function openai(model) {
  return {
    chat: {
      completions: {
        create: /** @type {Create} */ (
          async (/** @type {any} */ body, /** @type {RequestOptions} */ { signal } = {}) =>
            body.stream ? chunksOf(model, body, signal) : completionOf(model, body, signal)
        ),
      },
    },
    embeddings: {
      create: async (body, { signal } = {}) =>
        /** @type {CreateEmbeddingResponse} */ (await embeddingsOf(model, body, signal)),
    },
  };
}
