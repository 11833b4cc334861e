// ai_sdk.js - the entry glassformer/ai-sdk: a loaded model as a model of the AI SDK (`ai` 6 and 7)
import { answer, contents, inside, textOf, vectorsOf } from './conversation.js';

export { inside };

/** @import { Model } from '../../api/model.js' */
/** @import { Summary } from '../../api/index.js' */
/** @import { EmbeddingModelV4, LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider' */
/** @import { LanguageModelV4Content, LanguageModelV4StreamPart, SharedV4Warning } from '@ai-sdk/provider' */
/**
 * modelId: a name for logs; specificationVersion: 'v3' for `ai` 6, whose calls are the same.
 * @typedef {{modelId?: string, specificationVersion?: 'v3' | 'v4'}} AdapterOptions
 */

/**
 * A loaded model for streamText, generateText and generateObject. `providerOptions.glassformer` takes the other options
 * of Model.chat. `providerMetadata.glassformer.ids` are the tokens of the conversation with the answer, for `inside`.
 * @param {Model} model
 * @param {AdapterOptions} [options]
 * @returns {LanguageModelV4}
 */
export function languageModel(model, { modelId = 'glassformer', specificationVersion = 'v4' } = {}) {
  return {
    specificationVersion: /** @type {'v4'} */ (specificationVersion),
    provider: 'glassformer',
    modelId,
    supportedUrls: {},
    async doGenerate(call) {
      const warnings = warningsOf(call);
      const answering = answer(model, messagesOf(call.prompt), optionsOf(call));
      const summary = await answering.steps.result;
      const text = summary.content ?? summary.text;
      /** @type {LanguageModelV4Content[]} */
      const content = text ? [{ type: 'text', text }] : [];
      return { content: content.concat(callsOf(summary)), warnings, ...(await endOf(summary, answering)) };
    },
    async doStream(call) {
      const warnings = warningsOf(call);
      const answering = answer(model, messagesOf(call.prompt), optionsOf(call));
      return { stream: streamOf(partsOf(answering, warnings)) };
    },
  };
}

/**
 * A loaded encoder for embed and embedMany: one vector of length 1 for each text.
 * @param {Model} model
 * @param {AdapterOptions} [options]
 * @returns {EmbeddingModelV4}
 */
export function embeddingModel(model, { modelId = 'glassformer', specificationVersion = 'v4' } = {}) {
  return {
    specificationVersion: /** @type {'v4'} */ (specificationVersion),
    provider: 'glassformer',
    modelId,
    maxEmbeddingsPerCall: 4096, // texts of one call of embed
    supportsParallelCalls: false,
    async doEmbed({ values, abortSignal: signal }) {
      return { embeddings: await vectorsOf(model, values, signal), warnings: [] };
    },
  };
}

/**
 * @param {LanguageModelV4CallOptions} call
 * @returns {Record<string, any>}  options of Model.chat
 */
function optionsOf(call) {
  const { responseFormat: format, toolChoice: choice } = call;
  const tools = call.tools?.flatMap((tool) =>
    tool.type === 'function' ? { name: tool.name, description: tool.description, parameters: tool.inputSchema } : [],
  );
  return {
    maxTokens: call.maxOutputTokens,
    temperature: call.temperature,
    topP: call.topP,
    topK: call.topK,
    presencePenalty: call.presencePenalty,
    frequencyPenalty: call.frequencyPenalty,
    stop: call.stopSequences,
    seed: call.seed,
    signal: call.abortSignal,
    json: format?.type === 'json' ? (format.schema ?? true) : undefined,
    tools: tools?.length ? tools : undefined,
    toolChoice:
      tools?.length && choice ? (choice.type === 'tool' ? { name: choice.toolName } : choice.type) : undefined,
    ...call.providerOptions?.glassformer,
  };
}

/**
 * @param {LanguageModelV4CallOptions} call
 * @returns {SharedV4Warning[]}
 */
const warningsOf = ({ tools = [], reasoning = 'provider-default', includeRawChunks }) =>
  [
    ...tools.flatMap((tool) => {
      if (tool.type !== 'function') return `tool ${tool.name}`;
      return tool.inputExamples?.length ? `inputExamples of the tool ${tool.name}` : [];
    }),
    ...(reasoning === 'provider-default' ? [] : ['reasoning']),
    ...(includeRawChunks ? ['includeRawChunks'] : []),
  ].map((feature) => ({ type: 'unsupported', feature }));

/**
 * The messages of a prompt, as OpenAI writes them.
 * @param {LanguageModelV4CallOptions['prompt']} prompt
 */
function messagesOf(prompt) {
  return prompt.flatMap((/** @type {any} */ { role, content }) => {
    if (typeof content === 'string') return { role, content };
    if (role === 'tool')
      return content
        .filter((/** @type {any} */ part) => part.type === 'tool-result')
        .map((/** @type {any} */ { toolCallId, toolName, output }) => ({
          role,
          tool_call_id: toolCallId,
          name: toolName,
          content: resultOf(output),
        }));
    const calls = content
      .filter((/** @type {any} */ { type }) => type === 'tool-call')
      .map((/** @type {any} */ { toolCallId: id, toolName: name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: input },
      }));
    const parts = content.filter((/** @type {any} */ { type }) => !/^(reasoning|tool-call|tool-result)$/.test(type));
    return { role, content: textOf(parts), ...(calls.length && { tool_calls: calls }) };
  });
}

/**
 * The result of a tool as text.
 * @param {any} output
 */
function resultOf({ type, value, reason }) {
  if (type === 'execution-denied') return reason ?? 'the call was denied';
  if (type !== 'content') return typeof value === 'string' ? value : JSON.stringify(value);
  return textOf(value);
}

/**
 * @param {Summary} summary
 * @returns {Extract<LanguageModelV4Content, {type: 'tool-call'}>[]}
 */
const callsOf = ({ toolCalls = [] }) =>
  toolCalls.map(({ id, name, arguments: input }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    input: JSON.stringify(input),
  }));

/**
 * How an answer ended, and what it took.
 * @param {Summary} summary
 * @param {import('./conversation.js').Answering} answering
 */
async function endOf(summary, answering) {
  const { ids, prefilledTokens, reusedTokens, stopReason, seed, toolCalls, tokensPerSecond } = summary;
  const isCut = stopReason === 'maxTokens' || stopReason === 'contextFull';
  const unified = /** @type {'tool-calls' | 'length' | 'stop'} */ (
    toolCalls?.length ? 'tool-calls' : isCut ? 'length' : 'stop'
  );
  const total = prefilledTokens + reusedTokens;
  return {
    finishReason: { unified, raw: stopReason },
    usage: {
      inputTokens: { total, noCache: prefilledTokens, cacheRead: reusedTokens, cacheWrite: undefined },
      outputTokens: { total: ids.length, text: ids.length, reasoning: undefined },
    },
    providerMetadata: {
      glassformer: { seed, tokensPerSecond, ids: [...(await answering.promptIds()), ...ids] },
    },
  };
}

/**
 * @param {import('./conversation.js').Answering} answering
 * @param {SharedV4Warning[]} warnings
 * @returns {AsyncGenerator<LanguageModelV4StreamPart, void>}
 */
async function* partsOf(answering, warnings) {
  yield { type: 'stream-start', warnings };
  const id = '0';
  let isBegun = false;
  try {
    for await (const { content } of contents(answering)) {
      if (!content) continue;
      if (!isBegun) yield { type: 'text-start', id };
      isBegun = true;
      yield { type: 'text-delta', id, delta: content };
    }
    const summary = await answering.steps.result;
    if (isBegun) yield { type: 'text-end', id };
    yield* callsOf(summary);
    yield { type: 'finish', ...(await endOf(summary, answering)) };
  } catch (error) {
    yield { type: 'error', error };
  } finally {
    await answering.steps.return();
  }
}

/**
 * @template T
 * @param {AsyncGenerator<T, void>} parts
 * @returns {ReadableStream<T>}
 */
const streamOf = (parts) =>
  new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await parts.return();
    },
  });
