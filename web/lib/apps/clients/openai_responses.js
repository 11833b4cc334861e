// openai_responses.js - what OpenAI's call `responses` answers, and the events of its stream
//
// A request is read as one of chat completions: its items become messages, its other members get the names they have
// there. The answer is a list of items again: a message, and one item for each call of a tool.
import { textOf, contents } from './conversation.js';
import { answersTo, callsOf, logprobOf, refuseUnread, usageOf } from './openai_answers.js';

/** @import { Model } from '../../api/model.js' */
/** @import { Summary } from '../../api/index.js' */
/** @typedef {Record<string, any>} Item */
/**
 * A request that `fetchOf` answers.
 * @typedef {{model: Model, name: string, kept: KeptResponses, pathname: string, method: string, text: string,
 *   signal: AbortSignal | null}} Call
 */

/** The members of a request that are read, and those that change nothing in the answer of a local model. */
const READ = new Set(
  (
    'input instructions previous_response_id store text max_output_tokens temperature top_p tools tool_choice ' +
    'parallel_tool_calls top_logprobs include stream stream_options glassformer model user metadata service_tier ' +
    'safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options'
  ).split(' '),
);
/** Members that are read only with the values that ask for nothing else than what a model of texts does. */
const ONLY = new Map(Object.entries({ truncation: 'disabled', background: false, reasoning: { effort: 'none' } }));
const LOGPROBS = 'message.output_text.logprobs';
/** What `include` may ask for: the second is of a reasoning that no answer has. */
const INCLUDED = [LOGPROBS, 'reasoning.encrypted_content'];

/** The newest responses of a model, so that a later request can go on from them. */
export class KeptResponses {
  /** @type {Map<string, {response: Item, items: Item[]}>} by the id of the response */
  #kept = new Map();

  /** @param {Item} response @param {Item[]} input  items before those of the response */
  keep(response, input) {
    this.#kept.set(response.id, { response, items: [...input, ...response.output] });
    if (this.#kept.size > 100) this.#kept.delete([...this.#kept.keys()][0]);
  }

  /** @param {string} id */
  get(id) {
    return this.#kept.get(id)?.response;
  }

  /** The items of a conversation up to a response. @param {string | null} [id] */
  itemsUpTo(id) {
    if (id === undefined || id === null) return [];
    return this.#kept.get(id)?.items ?? missing('response', id);
  }

  /** The item that a reference names. @param {string} id */
  item(id) {
    for (const { response } of this.#kept.values()) for (const item of response.output) if (item.id === id) return item;
    return missing('item', id);
  }
}

/** @param {string} what @param {string} id @returns {never} */
function missing(what, id) {
  throw new TypeError(`there is no ${what} ${id}: the newest 100 responses are kept, without those of store: false`);
}

/** @param {any} content */
const textOfContent = (content) =>
  Array.isArray(content)
    ? textOf(content.map((part) => (/^(input|output)_text$/.test(part?.type) ? { ...part, type: 'text' } : part)))
    : content;

/**
 * Messages of chat completions. Calls join the assistant's message before them.
 * @param {Item[]} items
 */
function messagesOf(items) {
  /** @type {Item[]} */
  const messages = [];
  /** @type {Map<string, string>} names of the functions, by the id of the call */
  const names = new Map();
  for (const { type = 'message', role, content, call_id: id, ...item } of items) {
    if (type === 'message') messages.push({ role, content: textOfContent(content) });
    else if (type === 'function_call') {
      names.set(id, item.name);
      const call = { id, type: 'function', function: { name: item.name, arguments: item.arguments } };
      const last = messages.at(-1);
      if (last?.role === 'assistant') (last.tool_calls ??= []).push(call);
      else messages.push({ role: 'assistant', content: '', tool_calls: [call] });
    } else if (type === 'function_call_output')
      messages.push({ role: 'tool', tool_call_id: id, name: names.get(id), content: textOfContent(item.output) });
    else
      throw new TypeError(
        `glassformer reads items of the types message, function_call and function_call_output, not ${type}`,
      );
  }
  return messages;
}

/**
 * Tools as chat completions name them.
 * @param {Item[] | null} [tools]
 */
const toolsOf = (tools) =>
  tools?.map(({ type, name, description, parameters }) => {
    if (type !== 'function') throw new TypeError(`glassformer reads tools of the type function, not ${type}`);
    return { type, function: { name, description: description ?? undefined, parameters: parameters ?? undefined } };
  });

/** @param {any} choice */
function choiceOf(choice) {
  if (typeof choice !== 'object' || choice === null) return choice;
  if (choice.type !== 'function') throw new TypeError(`glassformer does not read a tool_choice of ${choice.type}`);
  return { type: 'function', function: { name: choice.name } };
}

/**
 * The request as one of chat completions.
 * @param {Item} body
 * @param {Item[]} items  of the conversation
 */
function chatRequest(body, items) {
  refuseUnread(body, READ, ONLY);
  const { format, ...style } = body.text ?? {};
  refuseUnread(style, new Set(), new Map([['verbosity', 'medium']]));
  const unknown = body.include?.find((/** @type {string} */ name) => !INCLUDED.includes(name));
  if (unknown !== undefined) throw new TypeError(`glassformer does not read ${unknown} in include`);
  const { instructions } = body;
  return {
    messages: [...(instructions ? [{ role: 'system', content: instructions }] : []), ...messagesOf(items)],
    response_format: format?.type === 'json_schema' ? { type: format.type, json_schema: format } : format,
    max_tokens: body.max_output_tokens,
    temperature: body.temperature,
    top_p: body.top_p,
    logprobs: (body.top_logprobs ?? null) !== null || !!body.include?.includes(LOGPROBS),
    top_logprobs: body.top_logprobs,
    tools: toolsOf(body.tools),
    tool_choice: choiceOf(body.tool_choice),
    parallel_tool_calls: body.parallel_tool_calls,
    glassformer: body.glassformer,
  };
}

/** A response that has only begun. @param {Item} body @returns {Item} */
const responseTo = (body) => ({
  id: `resp_${crypto.randomUUID()}`,
  object: 'response',
  created_at: Math.floor(Date.now() / 1000),
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  metadata: body.metadata ?? {},
  model: String(body.model),
  output: [],
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  previous_response_id: body.previous_response_id ?? null,
  store: body.store ?? true,
  temperature: body.temperature ?? null,
  text: body.text ?? { format: { type: 'text' } },
  tool_choice: body.tool_choice ?? 'auto',
  tools: body.tools ?? [],
  top_p: body.top_p ?? null,
  truncation: 'disabled',
  usage: null,
});

/** @param {Summary} summary */
function endOf(summary) {
  const isCut = summary.stopReason === 'maxTokens' || summary.stopReason === 'contextFull';
  const used = usageOf([summary]);
  return {
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    usage: {
      input_tokens: used.prompt_tokens,
      input_tokens_details: { ...used.prompt_tokens_details, cache_write_tokens: 0 },
      output_tokens: used.completion_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: used.total_tokens,
    },
  };
}

/** @typedef {(type: string, members: Item) => Item} NewEvent  an event with the next number */

/** The message of an answer, and its events. */
class Message {
  /** @param {NewEvent} event */
  constructor(event) {
    this.event = event;
    this.id = `msg_${crypto.randomUUID()}`;
    this.place = { item_id: this.id, output_index: 0, content_index: 0 };
    this.isOpen = false;
    /** @type {Item} */
    this.part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  }

  /** @param {string} status @param {Item[]} content @returns {Item} */
  item(status, content) {
    return { id: this.id, type: 'message', role: 'assistant', status, content };
  }

  /** @returns {Generator<Item, void>} */
  *open() {
    if (this.isOpen) return;
    this.isOpen = true;
    yield this.event('output_item.added', { output_index: 0, item: this.item('in_progress', []) });
    yield this.event('content_part.added', { ...this.place, part: { ...this.part, logprobs: [] } });
  }

  /** @param {string} delta @param {Item[]} logprobs */
  write(delta, logprobs) {
    this.part.text += delta;
    this.part.logprobs.push(...logprobs);
    return this.event('output_text.delta', { ...this.place, delta, logprobs });
  }

  /** @param {string} status @returns {Generator<Item, Item>}  the finished item */
  *close(status) {
    const { text, logprobs } = this.part;
    const item = this.item(status, [this.part]);
    yield this.event('output_text.done', { ...this.place, text, logprobs });
    yield this.event('content_part.done', { ...this.place, part: this.part });
    yield this.event('output_item.done', { output_index: 0, item });
    return item;
  }
}

/**
 * The events of a call of a tool.
 * @param {NewEvent} event
 * @param {ReturnType<typeof callsOf>[number]} call
 * @param {number} index  of the item in the output
 * @returns {Generator<Item, Item>}  the finished item
 */
function* callEvents(event, { id: call_id, function: { name, arguments: given } }, index) {
  const item = { id: `fc_${crypto.randomUUID()}`, type: 'function_call', call_id, name };
  const place = { item_id: item.id, output_index: index };
  const finished = { ...item, status: 'completed', arguments: given };
  yield event('output_item.added', { output_index: index, item: { ...item, status: 'in_progress', arguments: '' } });
  yield event('function_call_arguments.delta', { ...place, delta: given });
  yield event('function_call_arguments.done', { ...place, name, arguments: given });
  yield event('output_item.done', { output_index: index, item: finished });
  return finished;
}

/**
 * The items of a request: those of the response that it goes on from, then its own.
 * @param {Item} body
 * @param {KeptResponses} kept
 * @returns {Item[]}
 */
function itemsOf({ input, previous_response_id: previous }, kept) {
  const own = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  if (!Array.isArray(own)) throw new TypeError(`input is ${typeof input}, expected a text or a list of items`);
  return [
    ...kept.itemsUpTo(previous),
    ...own.map((item) => (item?.type === 'item_reference' ? kept.item(item.id) : item)),
  ];
}

/**
 * The events of a response, in OpenAI's order. An error of the first step comes before any event.
 * @param {Model} model
 * @param {Item} body
 * @param {KeptResponses} kept
 * @param {AbortSignal | null} [signal]
 * @returns {AsyncGenerator<Item, void>}
 */
export async function* responseEvents(model, body, kept, signal) {
  const items = itemsOf(body, kept);
  const request = chatRequest(body, items);
  const response = responseTo(body);
  const output = response.output;
  let number = 0;
  /** @type {NewEvent} */
  const event = (type, members) => ({ type: `response.${type}`, sequence_number: number++, ...members });
  const begin = () =>
    ['created', 'in_progress'].map((type) => event(type, { response: { ...response, output: [...output] } }));
  const message = new Message(event);
  const [{ answering }] = answersTo(model, request, signal);
  try {
    for await (const { step, content } of contents(answering)) {
      if (!number) yield* begin();
      const logprobs = request.logprobs && step ? [logprobOf(step)] : [];
      if (!content && !logprobs.length) continue;
      yield* message.open();
      yield message.write(content, logprobs);
    }
    if (!number) yield* begin();
    const summary = await answering.steps.result;
    Object.assign(response, endOf(summary));
    const calls = callsOf(summary);
    if (!calls.length) yield* message.open(); // an empty answer is an empty message
    if (message.isOpen) output.push(yield* message.close(response.status));
    for (const call of calls) output.push(yield* callEvents(event, call, output.length));
    if (body.store !== false) kept.keep(response, items);
    yield event(response.status, { response });
  } finally {
    await answering.steps.return();
  }
}

/**
 * A whole response.
 * @param {Model} model
 * @param {Item} body
 * @param {KeptResponses} kept
 * @param {AbortSignal | null} [signal]
 * @returns {Promise<Item>}
 */
export async function responseOf(model, body, kept, signal) {
  let last;
  for await (const event of responseEvents(model, body, kept, signal)) last = event;
  return last?.response;
}
