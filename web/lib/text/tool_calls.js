// tool_calls.js - how models write calls of tools: recognised by the chat template, read from the answers
//
// The forms are those of Hermes and Qwen, of Mistral, and of Llama 3; a template that has no place for tools gets them
// in the first user message, as Google describes it for Gemma, and its model answers in the form of Llama 3.
import { fail, show } from '../base/errors.js';

/**
 * Around which texts calls stand, and what their arguments are called. open: begins a call, or the list of all; '': an
 * answer that begins with { is one call. text/constrain/tool_grammar.js makes a grammar of it.
 * @typedef {{open: string, close: string, isList: boolean, argumentsKey: string}} ToolForm
 */
/** @typedef {{type: 'function', function: {name: string, description?: string, parameters?: any}}} ToolValue */
/** @typedef {{id: string, name: string, arguments: Record<string, any>}} ToolCall */
/**
 * The tools of one answer. choice: 'auto', 'required' or the name of the one to call.
 * @typedef {{form: ToolForm, tools: ToolValue[], choice: string}} Tools
 */

/** @type {ToolForm} */
const HERMES = { open: '<tool_call>', close: '</tool_call>', isList: false, argumentsKey: 'arguments' };
/** @type {ToolForm} */
const MISTRAL = { open: '[TOOL_CALLS]', close: '', isList: true, argumentsKey: 'arguments' };
/** @type {ToolForm} */
const PLAIN = { open: '', close: '', isList: false, argumentsKey: 'parameters' };

/** What Google's documents tell Gemma. */
const INSTRUCTIONS =
  'You have access to functions. If you decide to invoke any of the function(s), you MUST put it in the format of\n' +
  '{"name": function name, "parameters": dictionary of argument name and its value}\n\n' +
  'You SHOULD NOT include any other text in the response if you call a function';

/**
 * Whether a template has a place for tools.
 * @param {string} template
 */
const hasTools = (template) => /\btools\b/.test(template);

/**
 * The form of the calls of a model.
 * @param {string} template  its chat template
 * @returns {ToolForm | null} null: it is none of those that are known
 */
function formOf(template) {
  if (/<function=|<arg_key>|\[ARGS\]/.test(template)) return null;
  if (template.includes(HERMES.open)) return HERMES;
  if (template.includes(MISTRAL.open)) return MISTRAL;
  return !hasTools(template) || template.includes('"parameters": ') ? PLAIN : null;
}

/**
 * The options `tools` and `toolChoice`, checked.
 * @param {any} given  functions as { name, description, parameters }, or as OpenAI's { type: 'function', function }
 * @param {any} [choice]  'auto', 'none', 'required', { name }, or OpenAI's { type: 'function', function: { name } }
 * @returns {{tools: ToolValue[] | null, choice: string}}  null: there are none
 */
export function checkedTools(given, choice = 'auto') {
  if (given !== undefined && !Array.isArray(given))
    fail('bad-option', `tools is ${show(given)}, expected a list of functions`);
  const tools = (given ?? []).map((/** @type {any} */ tool, /** @type {number} */ i) => {
    const own = tool?.function ?? tool;
    if (typeof own?.name !== 'string' || !/^[\w.-]{1,64}$/.test(own.name))
      fail('bad-option', `tools[${i}] is ${show(tool)}, expected a name of letters, digits, _, . and -`);
    return { type: 'function', function: own };
  });
  const name = choice?.function?.name ?? choice?.name ?? choice;
  const names = tools.map((/** @type {ToolValue} */ tool) => tool.function.name);
  if (new Set(names).size < names.length)
    fail('bad-option', `tools has two functions of one name: ${names.join(', ')}`);
  const choices = ['auto', 'none', ...(tools.length ? ['required', ...names] : [])];
  if (!choices.includes(name))
    fail(
      'bad-option',
      tools.length
        ? `toolChoice is ${show(choice)}, expected auto, none, required or the name of a tool`
        : `toolChoice is ${show(choice)}, and there are no tools`,
    );
  return { tools: tools.length ? tools : null, choice: name };
}

/**
 * What an answer may call.
 * @param {string} template
 * @param {ToolValue[] | null} tools
 * @param {string} choice
 * @returns {Tools | null}
 */
export function callable(template, tools, choice) {
  if (!tools || choice === 'none') return null;
  const form = formOf(template);
  return form
    ? { form, tools, choice }
    : fail('unsupported', 'the form in which the chat template writes calls of tools is not known: use prompt');
}

/**
 * Messages for a template without a place for tools: functions stand in the first user message, calls and results are
 * texts.
 * @param {string} template
 * @param {Record<string, any>[]} messages  with checked contents
 * @param {ToolValue[] | null} tools
 * @returns {Record<string, any>[]}
 */
export function messagesFor(template, messages, tools) {
  if (hasTools(template)) return messages;
  let instructions = tools ? `${INSTRUCTIONS}\n${JSON.stringify(tools.map((tool) => tool.function))}\n\n` : '';
  const written = (/** @type {any} */ { function: { name, arguments: parameters } }) =>
    JSON.stringify({ name, parameters });
  const texts = messages.map(({ tool_calls: calls, ...message }) => {
    if (calls?.length)
      return { ...message, content: [message.content, ...calls.map(written)].filter(Boolean).join('\n') };
    if (message.role === 'tool') return { role: 'user', content: `The result of the function: ${message.content}` };
    if (message.role !== 'user') return message;
    const content = instructions + message.content;
    instructions = '';
    return { ...message, content };
  });
  if (instructions)
    fail('bad-option', 'the chat template has no place for tools, and no message of the user to put them in');
  return texts;
}

/**
 * How many characters of an answer are no part of a call, whatever follows.
 * @param {ToolForm} form
 * @param {string} text  so far
 * @returns {number}
 */
export function contentLength({ open }, text) {
  if (!open) return text.startsWith('{') ? 0 : text.length;
  const found = text.indexOf(open);
  if (found >= 0) return found;
  for (let n = Math.min(open.length - 1, text.length); n > 0; n--)
    if (text.endsWith(open.slice(0, n))) return text.length - n;
  return text.length;
}

/**
 * The value of a JSON text.
 * @param {string} text
 * @param {string} [other]  for what is no JSON
 * @returns {any}
 */
export function valueOf(text, other) {
  try {
    return JSON.parse(text);
  } catch {
    return other;
  }
}

/**
 * The parts of an answer, which followed the grammar of its tools. A call that was cut off is text.
 * @param {Tools} tools
 * @param {string} text
 * @param {number} first  number of the first call in the conversation, for its id
 * @returns {{content: string, toolCalls: ToolCall[]}}
 */
export function partsOf({ form: { open, close, argumentsKey } }, text, first) {
  /** @type {any[]} */
  let calls = [];
  let end = open ? text.indexOf(open) : 0;
  if (!open && !text.startsWith('{')) end = -1;
  const content = end < 0 ? text : text.slice(0, end);
  if (!close && end >= 0) calls = [valueOf(text.slice(content.length + open.length))].flat();
  for (let at = end; close && at >= 0; at = text.indexOf(open, end)) {
    end = at + open.length;
    let value;
    // A string of the arguments may hold the text that closes a call.
    for (let stop = text.indexOf(close, end); value === undefined && stop >= 0; stop = text.indexOf(close, stop + 1)) {
      value = valueOf(text.slice(at + open.length, stop));
      end = stop + close.length;
    }
    calls.push(value);
  }
  const whole = calls.filter((call) => call !== undefined);
  const toolCalls = whole.map((call, i) => ({
    // Mistral's templates take ids of nine letters and digits only.
    id: `call${String(first + i).padStart(5, '0')}`,
    name: call.name,
    arguments: call[argumentsKey],
  }));
  return { content: toolCalls.length ? content : text, toolCalls };
}
