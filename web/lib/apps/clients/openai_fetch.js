// openai_fetch.js - a fetch that answers OpenAI's HTTP paths with a loaded model
import { chunksOf, completionOf, embeddingsOf, modelEntry } from './openai_answers.js';
import { errorOf, Refusal, refused } from './openai_errors.js';
import { KeptResponses, responseEvents, responseOf } from './openai_responses.js';

/** @import { Model } from '../../api/model.js' */
/** @import { Call } from './openai_responses.js' */
/** @typedef {(input: string | URL | Request, init?: RequestInit) => Promise<Response>} Fetch */

/**
 * A fetch for OpenAI's client and everything that is built on it: `new OpenAI({ apiKey: '-', fetch: fetchOf(model) })`.
 * It sends nothing. It answers `chat/completions`, `responses`, `embeddings` and `models` under any base URL. Errors
 * have OpenAI's form. It keeps the newest 100 responses in memory, for `previous_response_id` and `responses/ID`,
 * except those with `store: false`.
 * @param {Model} model
 * @param {{name?: string}} [options]  name: in the list of models; default 'glassformer'. Requests may have any name
 * @returns {Fetch}
 */
export function fetchOf(model, { name = 'glassformer' } = {}) {
  const kept = new KeptResponses();
  return async (input, init = {}) => {
    const request = typeof input === 'object' && 'url' in input ? input : null;
    const { method = 'GET', signal = null } = { ...pick(request), ...init };
    signal?.throwIfAborted();
    const { pathname } = new URL(request?.url ?? String(input), 'http://localhost');
    try {
      const text = await textOf(request, init);
      return await answerTo({ model, name, kept, pathname, method: method.toUpperCase(), text, signal });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      return refused(error, pathname);
    }
  };
}

/** @param {Request | null} request */
const pick = (request) => (request ? { method: request.method, signal: request.signal } : {});

/** The body of a request. @param {Request | null} request @param {RequestInit} init */
const textOf = (request, init) =>
  init.body !== undefined && init.body !== null ? new Response(init.body).text() : (request?.text() ?? '');

/** @type {[path: RegExp, method: string, call: (call: Call, found: string[]) => Promise<Response>][]} */
const PATHS = [
  [/\/chat\/completions$/, 'POST', chat],
  [/\/responses$/, 'POST', respond],
  [/\/responses\/([^/]+)$/, 'GET', keptResponse],
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
    `there is no ${pathname}: glassformer answers chat/completions, responses, embeddings and models`,
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
async function chat({ model, text, signal, pathname }) {
  const body = bodyOf(text);
  if (!body.stream) return Response.json(await completionOf(model, body, signal));
  const failed = (/** @type {any} */ error) => `data: ${JSON.stringify(errorOf(error, pathname))}\n\n`;
  const form = (/** @type {any} */ chunk) => `data: ${JSON.stringify(chunk)}\n\n`;
  return streamed(chunksOf(model, body, signal), signal, { form, failed, end: 'data: [DONE]\n\n' });
}

/** @param {Call} call */
async function respond({ model, kept, text, signal, pathname }) {
  const body = bodyOf(text);
  if (!body.stream) return Response.json(await responseOf(model, body, kept, signal));
  const form = (/** @type {any} */ event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  const failed = (/** @type {any} */ error, /** @type {number} */ count) =>
    form({ ...errorOf(error, pathname).error, type: 'error', sequence_number: count });
  return streamed(responseEvents(model, body, kept, signal), signal, { form, failed, end: '' });
}

/** @param {Call} call @param {string[]} found */
async function keptResponse({ kept }, [, id]) {
  const response = kept.get(decodeURIComponent(id));
  if (!response) throw new Refusal(404, 'not_found', `there is no response ${id}: the newest 100 are kept`);
  return Response.json(response);
}

/**
 * @typedef {{form: (value: any) => string, failed: (error: any, count: number) => string, end: string}} Writing
 *   form: the text of a value; failed: that of an error after `count` values; end: the last text
 */

/**
 * An answer of server-sent events. What is refused has the status of its error, because the first value is awaited.
 * Cancelling the stream and the signal stop the engine.
 * @param {AsyncGenerator<any, void>} values
 * @param {AbortSignal | null} signal
 * @param {Writing} writing
 */
async function streamed(values, signal, { form, failed, end }) {
  /** @type {IteratorResult<any, void> | null} */
  let ahead = await values.next();
  const encoder = new TextEncoder();
  const stop = () => void values.return().catch(() => {}); // the error of the signal is that of the stream
  let count = 0;
  const body = new ReadableStream({
    start(controller) {
      const aborted = () => {
        controller.error(signal?.reason);
        stop();
      };
      signal?.addEventListener('abort', aborted, { once: true });
    },
    async pull(controller) {
      const write = (/** @type {string} */ text) => text && controller.enqueue(encoder.encode(text));
      try {
        const { done, value } = ahead ?? (await values.next());
        ahead = null;
        if (!done) {
          count++;
          return void write(form(value));
        }
        write(end);
      } catch (error) {
        if (signal?.aborted) return;
        write(failed(error, count));
      }
      controller.close();
    },
    cancel: stop,
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}
