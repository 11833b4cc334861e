// openai_answers.js - what OpenAI's calls answer: chat completions, their chunks, embeddings, and the list of models
import { answer, contents, inside, vectorsOf } from './conversation.js';

/** @import { Model } from '../../api/model.js' */
/** @import { Step, Summary } from '../../api/index.js' */

/** The members of a request that are read, and those that change nothing in the answer of a local model. */
const READ = new Set(
  (
    'messages response_format max_completion_tokens max_tokens temperature top_p presence_penalty frequency_penalty ' +
    'logit_bias seed stop logprobs top_logprobs tools tool_choice parallel_tool_calls n stream stream_options ' +
    'glassformer model user metadata service_tier safety_identifier prompt_cache_key prompt_cache_retention ' +
    'prompt_cache_options prediction'
  ).split(' '),
);
/** Members that are read only with the values that ask for nothing else than what a model of texts does. */
const ONLY = new Map(
  Object.entries({ modalities: ['text'], verbosity: 'medium', reasoning_effort: 'none', store: false }),
);

/**
 * Throws for a member of a request that would be ignored.
 * @param {Record<string, any>} body
 * @param {Set<string>} read  members that are read, or that change nothing
 * @param {Map<string, any>} only  the one value of other members that changes nothing
 */
export function refuseUnread(body, read, only) {
  for (const [name, value] of Object.entries(body)) {
    if (read.has(name) || value === undefined || value === null) continue;
    const allowed = only.has(name) ? JSON.stringify(only.get(name)) : null;
    if (allowed !== JSON.stringify(value))
      throw new TypeError(
        `glassformer does not read ${name}` + (allowed ? ` with ${JSON.stringify(value)}, only with ${allowed}` : ''),
      );
  }
}

/**
 * @param {Record<string, any>} body
 * @param {AbortSignal | null} [signal]
 * @returns {Record<string, any>}  options of Model.chat
 */
function optionsOf(body, signal) {
  if (body.functions || body.function_call) throw new TypeError('glassformer reads tools, not functions');
  refuseUnread(body, READ, ONLY);
  if ((body.top_logprobs ?? null) !== null && !body.logprobs) throw new TypeError('top_logprobs needs logprobs: true');
  const { type = 'text', json_schema: named } = body.response_format ?? {};
  if (!/^(text|json_object|json_schema)$/.test(type)) throw new TypeError(`there is no response_format ${type}`);
  return {
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    presencePenalty: body.presence_penalty ?? undefined,
    frequencyPenalty: body.frequency_penalty ?? undefined,
    logitBias: body.logit_bias ?? undefined,
    seed: body.seed ?? undefined,
    stop: body.stop ?? undefined,
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    json: type === 'json_schema' ? (named?.schema ?? true) : type === 'json_object' ? { type: 'object' } : undefined,
    tools: body.tools?.length ? body.tools : undefined,
    toolChoice: body.tools?.length ? (body.tool_choice ?? undefined) : undefined,
    parallelToolCalls: body.tools?.length ? (body.parallel_tool_calls ?? undefined) : undefined,
    signal: signal ?? undefined,
    ...body.glassformer,
  };
}

/**
 * @param {Record<string, any>} body
 * @param {string} object  kind of the answer
 */
const headOf = (body, object) => ({
  id: `chatcmpl-${crypto.randomUUID()}`,
  object,
  created: Math.floor(Date.now() / 1000),
  model: String(body.model),
});

/** @param {Summary} summary */
function finishOf({ stopReason, toolCalls }) {
  if (toolCalls?.length) return 'tool_calls';
  return stopReason === 'maxTokens' || stopReason === 'contextFull' ? 'length' : 'stop';
}

/** @param {Summary[]} summaries */
export function usageOf(summaries) {
  const [{ prefilledTokens, reusedTokens }] = summaries;
  const prompt = prefilledTokens + reusedTokens;
  const written = summaries.reduce((n, { ids }) => n + ids.length, 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: written,
    total_tokens: prompt + written,
    prompt_tokens_details: { cached_tokens: reusedTokens },
  };
}

/** @param {Summary} summary */
export const callsOf = ({ toolCalls = [] }) =>
  toolCalls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }));

/** @param {string} text */
const bytesOf = (text) => [...new TextEncoder().encode(text)];

/** @param {Step} step */
export const logprobOf = ({ text: token, logprob, top = [] }) => ({
  token,
  logprob,
  bytes: bytesOf(token),
  top_logprobs: top.map(({ text, logprob }) => ({ token: text, logprob, bytes: bytesOf(text) })),
});

/**
 * A message as chat templates read it: its calls have their arguments as objects, which OpenAI writes as JSON texts,
 * and the role developer is system.
 * @param {Record<string, any>} given
 */
function templateMessage(given) {
  const message = given?.role === 'developer' ? { ...given, role: 'system' } : given;
  if (!Array.isArray(message?.tool_calls)) return message;
  const calls = message.tool_calls.map((/** @type {any} */ { function: own, ...call }) => {
    if (typeof own?.arguments !== 'string') return { ...call, function: own };
    try {
      return { ...call, function: { ...own, arguments: JSON.parse(own.arguments) } };
    } catch {
      return { ...call, function: own };
    }
  });
  return { ...message, tool_calls: calls };
}

/**
 * Begins the answers of a request, one after the other.
 * @param {Model} model
 * @param {Record<string, any>} body
 * @param {AbortSignal | null} [signal]
 */
export function* answersTo(model, body, signal) {
  const { seed, ...given } = optionsOf(body, signal);
  const n = body.n ?? 1;
  if (!Array.isArray(body.messages)) throw new TypeError(`messages is ${typeof body.messages}, expected a list`);
  if (!Number.isInteger(n) || n < 1) throw new TypeError(`n is ${n}, expected a whole number from 1 up`);
  for (let index = 0; index < n; index++) {
    const own = { ...given, seed: seed === undefined ? undefined : seed + index };
    yield { index, answering: answer(model, body.messages.map(templateMessage), own) };
  }
}

/**
 * @param {Model} model
 * @param {Record<string, any>} body
 * @param {AbortSignal | null} [signal]
 */
export async function completionOf(model, body, signal) {
  const choices = [];
  /** @type {Summary[]} */
  const summaries = [];
  /** @type {(() => Promise<number[]>)[]} */
  const ids = [];
  for (const { index, answering } of answersTo(model, body, signal)) {
    const logprobs = [];
    for await (const step of answering.steps) if (body.logprobs) logprobs.push(logprobOf(step));
    const summary = await answering.steps.result;
    const calls = callsOf(summary);
    summaries.push(summary);
    ids.push(async () => [...(await answering.promptIds()), ...summary.ids]);
    choices.push({
      index,
      message: {
        role: 'assistant',
        content: (summary.content ?? summary.text) || (calls.length ? null : ''),
        refusal: null,
        ...(calls.length && { tool_calls: calls }),
      },
      logprobs: body.logprobs ? { content: logprobs, refusal: null } : null,
      finish_reason: finishOf(summary),
    });
  }
  const completion = { ...headOf(body, 'chat.completion'), choices, usage: usageOf(summaries) };
  return Object.defineProperty(completion, 'inside', {
    value: async (choice = 0) => inside(model, await ids[choice]()),
  });
}

/**
 * @param {Model} model
 * @param {Record<string, any>} body
 * @param {AbortSignal | null} [signal]
 * @returns {AsyncGenerator<Record<string, any>, void>}
 */
export async function* chunksOf(model, body, signal) {
  const head = headOf(body, 'chat.completion.chunk');
  /** @type {Summary[]} */
  const summaries = [];
  for (const { index, answering } of answersTo(model, body, signal)) {
    const chunk = (
      /** @type {object} */ delta,
      /** @type {string | null} */ finish,
      /** @type {any} */ logprobs = null,
    ) => ({
      ...head,
      choices: [{ index, delta, finish_reason: finish, logprobs }],
    });
    try {
      let isFirst = true; // an error of the first step comes before any chunk
      for await (const { step, content } of contents(answering)) {
        if (isFirst) yield chunk({ role: 'assistant', content: '' }, null);
        isFirst = false;
        const logprobs = body.logprobs && step ? { content: [logprobOf(step)], refusal: null } : null;
        if (content || logprobs) yield chunk({ content }, null, logprobs);
      }
      const summary = await answering.steps.result;
      if (isFirst) yield chunk({ role: 'assistant', content: '' }, null);
      const calls = callsOf(summary).map((call, at) => ({ index: at, ...call }));
      if (calls.length) yield chunk({ tool_calls: calls }, null);
      yield chunk({}, finishOf(summary));
      summaries.push(summary);
    } finally {
      await answering.steps.return();
    }
  }
  if (body.stream_options?.include_usage) yield { ...head, choices: [], usage: usageOf(summaries) };
}

/**
 * @param {Model} model
 * @param {Record<string, any>} body
 * @param {AbortSignal | null} [signal]
 */
export async function embeddingsOf(model, { input, model: name, dimensions, encoding_format: format }, signal) {
  if (dimensions !== undefined) throw new TypeError('glassformer gives embeddings in full length, without dimensions');
  if (!['float', 'base64'].includes(format ?? 'float'))
    throw new TypeError(`encoding_format is ${format}, expected float or base64`);
  const inputs = /** @type {(string | number[])[]} */ (
    Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
  );
  const vectors = await vectorsOf(model, inputs, signal ?? undefined);
  const data = vectors.map((vector, index) => ({
    object: /** @type {const} */ ('embedding'),
    index,
    embedding: format === 'base64' ? base64Of(vector) : vector,
  }));
  let tokens = 0;
  for (const one of inputs) tokens += (typeof one === 'string' ? await model.encode(one) : one).length;
  return { object: 'list', model: String(name), data, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

/** Numbers as f32, little-endian. @param {number[]} vector */
const base64Of = (vector) =>
  btoa(Array.from(new Uint8Array(Float32Array.from(vector).buffer), (byte) => String.fromCharCode(byte)).join(''));

/** @param {string} id */
export const modelEntry = (id) => ({ id, object: 'model', created: 0, owned_by: 'glassformer' });
