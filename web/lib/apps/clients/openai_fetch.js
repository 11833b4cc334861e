// openai_fetch.js - a fetch that answers OpenAI's HTTP paths with a loaded model
import { chunksOf, completionOf, embeddingsOf, modelEntry } from './openai_answers.js';

/** @import { Model } from '../../api/model.js' */
/** @typedef {(input: string | URL | Request, init?: RequestInit) => Promise<Response>} Fetch */

/**
 * A fetch for OpenAI's client and everything that is built on it: `new OpenAI({ apiKey: '-', fetch: fetchOf(model) })`.
 * It sends nothing. It answers `chat/completions`, `embeddings`, `models` and `models/NAME` under any base address;
 * errors come as OpenAI writes them.
 * @param {Model} model
 * @param {{name?: string}} [options]  name: in the list of models; default 'glassformer'. Requests may have any name
 * @returns {Fetch}
 */
export function fetchOf(model, { name = 'glassformer' } = {}) {
  return async (input, init = {}) => {
    const request = typeof input === 'object' && 'url' in input ? input : null;
    const { method = 'GET', signal = null } = { ...pick(request), ...init };
    signal?.throwIfAborted();
    const { pathname } = new URL(request?.url ?? String(input), 'http://localhost');
    try {
      const text = await textOf(request, init);
      return await answerTo({ model, name, pathname, method: method.toUpperCase(), text, signal });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      return refused(error);
    }
  };
}

/** @param {Request | null} request */
const pick = (request) => (request ? { method: request.method, signal: request.signal } : {});

/** The body of a request. @param {Request | null} request @param {RequestInit} init */
const textOf = (request, init) =>
  init.body !== undefined && init.body !== null ? new Response(init.body).text() : (request?.text() ?? '');

/** An answer of another status than 200. */
class Refusal extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @typedef {{model: Model, name: string, pathname: string, method: string, text: string,
 *   signal: AbortSignal | null}} Call
 */

/** @type {[path: RegExp, method: string, call: (call: Call, found: string[]) => Promise<Response>][]} */
const PATHS = [
  [/\/chat\/completions$/, 'POST', chat],
  [
    /\/embeddings$/,
    'POST',
    async ({ model, text, signal }) => Response.json(await embeddingsOf(model, bodyOf(text), signal)),
  ],
  [/\/models$/, 'GET', async ({ name }) => Response.json({ object: 'list', data: [modelEntry(name)] })],
  [/\/models\/([^/]+)$/, 'GET', async (_, [, id]) => Response.json(modelEntry(decodeURIComponent(id)))],
];

/** @param {Call} call */
async function answerTo(call) {
  const { pathname, method } = call;
  for (const [path, own, answer] of PATHS) {
    const found = path.exec(pathname);
    if (found && method !== own)
      throw new Refusal(405, 'method_not_allowed', `${pathname} is read with ${own}, not with ${method}`);
    if (found) return answer(call, found);
  }
  throw new Refusal(
    404,
    'unknown_url',
    `there is no ${pathname}: glassformer answers chat/completions, embeddings and models`,
  );
}

/** @param {string} text */
function bodyOf(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'invalid_json', 'the body of the request is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refusal(400, 'invalid_json', 'the body of the request is not an object');
  return value;
}

/** @param {Call} call */
async function chat({ model, text, signal }) {
  const body = bodyOf(text);
  if (!body.stream) return Response.json(await completionOf(model, body, signal));
  const chunks = chunksOf(model, body, signal);
  const first = await chunks.next(); // what is refused has the status of its error
  return new Response(eventsOf(first, chunks, signal), { headers: { 'content-type': 'text/event-stream' } });
}

/**
 * Chunks as server-sent events. Cancelling the stream and the signal stop the engine.
 * @param {IteratorResult<any, void>} first
 * @param {AsyncGenerator<any, void>} chunks
 * @param {AbortSignal | null} signal
 */
function eventsOf(first, chunks, signal) {
  const encoder = new TextEncoder();
  const stop = () => void chunks.return().catch(() => {}); // the error of the signal is that of the stream
  /** @type {IteratorResult<any, void> | null} */
  let ahead = first;
  return new ReadableStream({
    start(controller) {
      const aborted = () => {
        controller.error(signal?.reason);
        stop();
      };
      signal?.addEventListener('abort', aborted, { once: true });
    },
    async pull(controller) {
      const write = (/** @type {string} */ data) => controller.enqueue(encoder.encode(`data: ${data}\n\n`));
      try {
        const { done, value } = ahead ?? (await chunks.next());
        ahead = null;
        if (!done) return write(JSON.stringify(value));
        write('[DONE]');
      } catch (error) {
        if (signal?.aborted) return;
        write(JSON.stringify(errorOf(error)));
      }
      controller.close();
    },
    cancel: stop,
  });
}

/** Codes of errors that the request did not cause. */
const OURS = new Set(
  'bad-state blocked callback internal network not-finite not-found out-of-memory worker'.split(' '),
);

/** OpenAI's names of options that stand at the beginning of an error's message. @type {Record<string, string>} */
const NAMES = {
  ...{ maxTokens: 'max_tokens', temperature: 'temperature', topP: 'top_p', seed: 'seed', stop: 'stop' },
  ...{ presencePenalty: 'presence_penalty', frequencyPenalty: 'frequency_penalty', logitBias: 'logit_bias' },
  ...{ logprobs: 'top_logprobs', json: 'response_format', tools: 'tools', toolChoice: 'tool_choice' },
};

/** An error as OpenAI writes it, with the names of the request. @param {any} error */
function errorOf(error) {
  const { message = String(error), code = null } = error ?? {};
  const [word] = /^\w*/.exec(message) ?? [''];
  const param = (code === 'bad-option' && NAMES[word]) || null;
  return {
    error: {
      message: param ? param + message.slice(word.length) : message,
      type: OURS.has(code) ? 'server_error' : 'invalid_request_error',
      param,
      code: code === 'context-full' ? 'context_length_exceeded' : code,
    },
  };
}

/** @param {any} error */
function refused(error) {
  const status = error instanceof Refusal ? error.status : OURS.has(error?.code) ? 500 : 400;
  return Response.json(errorOf(error), { status, headers: { 'x-should-retry': 'false' } });
}
