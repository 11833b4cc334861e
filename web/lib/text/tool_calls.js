// tool_calls.js - calls of tools: the options of a conversation about them, and the calls in an answer
import { fail, show } from '../base/errors.js';
import { bracesAt, jsonAt, pythonCallsAt } from './call_values.js';
import { formOf, knowsCalls } from './tool_forms.js';

/** @import { ToolForm } from './tool_forms.js' */
/** @typedef {{type: 'function', function: {name: string, description?: string, parameters?: any}}} ToolValue */
/** @typedef {{id: string, name: string, arguments: Record<string, any>}} ToolCall */
/**
 * The tools of one answer. choice: 'auto', 'required' or the name of the one to call; parallel: whether it may have
 * several calls; json: an answer without calls is JSON, so that calls begin the answer.
 * @typedef {{form: ToolForm, tools: ToolValue[], choice: string, parallel: boolean, json: boolean}} Tools
 */

/** What Google's documents tell Gemma. */
const INSTRUCTIONS =
  'You have access to functions. If you decide to invoke any of the function(s), you MUST put it in the format of\n' +
  '{"name": function name, "parameters": dictionary of argument name and its value}\n\n' +
  'You SHOULD NOT include any other text in the response if you call a function';

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
    return tool.function ? { type: 'function', ...tool } : { type: 'function', function: own };
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
 * @param {Pick<Tools, 'choice' | 'parallel' | 'json'>} how
 * @returns {{able: Tools | null, warning: string | null}}  warning: calls cannot be read
 */
export function callable(template, tools, how) {
  const { choice } = how;
  if (!tools || choice === 'none') return { able: null, warning: null };
  const form = formOf(template);
  if (form) return { able: { form, tools, ...how }, warning: null };
  const warning =
    'the form in which the model writes calls of tools is not known from its chat template: calls stay in the text';
  if (choice !== 'auto') fail('unsupported', `toolChoice is ${show(choice)}, but ${warning}`);
  return { able: null, warning };
}

/**
 * Messages for a template that knows neither tools nor calls: functions stand in the first user message, calls and
 * results are texts.
 * @param {string} template
 * @param {Record<string, any>[]} messages
 * @param {ToolValue[] | null} tools  null: the messages stay as they are
 * @returns {Record<string, any>[]}
 */
export function messagesFor(template, messages, tools) {
  if (!tools || knowsCalls(template)) return messages;
  let instructions = `${INSTRUCTIONS}\n${JSON.stringify(tools.map((tool) => tool.function))}\n\n`;
  const written = (/** @type {any} */ call) => {
    const { name, arguments: given } = call.function ?? call;
    return JSON.stringify({ name, parameters: typeof given === 'string' ? (jsonAt(given, 0)?.value ?? given) : given });
  };
  const texts = messages.map(({ tool_calls: calls, ...given }) => {
    const own = given.content;
    const message = /** @type {Record<string, any>} */ ({
      ...given,
      content: Array.isArray(own) ? textOfParts(own) : own,
    });
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

/** A content that is a list of parts, as a text of lines. @param {{text: string}[]} parts */
export const textOfParts = (parts) => parts.map(({ text }) => text).join('\n');

/** What begins calls. @param {ToolForm} form */
const markOf = ({ open, before }) => open || before;

/**
 * How many characters of an answer are no part of a call, whatever follows.
 * @param {ToolForm} form
 * @param {string} text  so far
 * @returns {number}
 */
function contentLength(form, text) {
  const mark = markOf(form);
  if (form.bare && text.startsWith('{')) return 0;
  if (!mark) return text.length;
  const found = text.indexOf(mark);
  if (found >= 0) return found;
  for (let n = Math.min(mark.length - 1, text.length); n > 0; n--)
    if (text.endsWith(mark.slice(0, n))) return text.length - n;
  return text.length;
}

/** A message in a channel of harmony. @param {string} text @param {string} channel */
const inChannel = (text, channel) => {
  const found = text.match(new RegExp(`<\\|channel\\|>${channel}[^<]*<\\|message\\|>([^]*?)(?=<\\||$)`, 'g')) ?? [];
  return found.map((one) => one.replace(/^[^]*?<\|message\|>/, '')).join('');
};

/**
 * The text of an answer that is no part of a call, whatever follows.
 * @param {ToolForm} form
 * @param {string} text  so far
 * @returns {string}
 */
export function contentOf(form, text) {
  if (!form.channels) return text.slice(0, contentLength(form, text));
  if (!text.includes('<|channel|>'))
    return '<|channel|>'.startsWith(text) ? '' : text.slice(0, contentLength(form, text));
  return inChannel(text, 'final').replace(/<\|?$/, '');
}

/** Reads the calls of an answer from where they begin. */
class CallReader {
  /** @type {{name: any, arguments: any}[]} */
  calls = [];

  /** @param {Tools} tools @param {string} text @param {number} at */
  constructor({ form, tools }, text, at) {
    this.form = form;
    this.names = tools.map((tool) => tool.function.name);
    this.text = text;
    this.at = at;
  }

  /** @param {string} part */
  #skip(part) {
    const is = this.text.startsWith(part, this.at);
    if (is) this.at += part.length;
    return is;
  }

  #blanks() {
    while (/[\s;]/.test(this.text[this.at] ?? '')) this.at++;
  }

  /** @template T @param {{value: T, end: number} | undefined} read @returns {T | undefined} */
  #value(read) {
    if (read) this.at = read.end;
    return read?.value;
  }

  read() {
    const { form, text } = this;
    this.#skip(form.open);
    this.#blanks();
    if (form.style === 'list' || form.style === 'python' || (form.bare && text[this.at] !== '{')) this.#list();
    else while (this.#call()) this.#blanks();
    const isCall = (/** @type {any} */ call) =>
      this.names.includes(call.name) && typeof call.arguments === 'object' && call.arguments;
    return this.calls.filter(isCall);
  }

  #list() {
    const { form, text, at } = this;
    const read = jsonAt(text, at);
    if (read) [read.value].flat().forEach((call) => this.#add(call));
    else if (form.style !== 'list') this.calls.push(...(pythonCallsAt(text, at)?.value ?? []));
  }

  /** @param {any} call */
  #add(call) {
    const { argumentsKey, bare } = this.form;
    const given = call?.[argumentsKey] ?? call?.arguments ?? call?.parameters;
    this.calls.push({ name: call?.name, arguments: given ?? (bare ? undefined : {}) });
  }

  /** @returns {boolean} whether there was one */
  #call() {
    const { form, text } = this;
    if (form.channels) this.#skip('<|start|>assistant');
    if (!this.#skip(form.before)) return false;
    if (form.style === 'object') {
      this.#blanks();
      const value = this.#value(jsonAt(text, this.at));
      if (value === undefined || !this.#end()) return false;
      this.#add(value);
      return true;
    }
    const name = /^[\w.-]+/.exec(text.slice(this.at))?.[0];
    if (!name) return false;
    this.at += name.length;
    if (form.style === 'named' && !this.#separator()) return false;
    const value = this.#value(form.style === 'braces' ? bracesAt(text, this.at) : jsonAt(text, this.at));
    if (value === undefined || !this.#end()) return false;
    this.calls.push({ name, arguments: value });
    return true;
  }

  /** What stands between a name and its arguments. */
  #separator() {
    const { form, text } = this;
    if (form.channels) {
      // the channel may be named behind the function, and the kind of its text left out
      const found = /^[^{]*?<\|message\|>\s*/.exec(text.slice(this.at));
      if (found) this.at += found[0].length;
      return Boolean(found);
    }
    if (form.separator === '[ARGS]') this.at += /^(?:\[CALL_ID\][\w-]*)?/.exec(text.slice(this.at))?.[0].length ?? 0;
    return this.#skip(form.separator);
  }

  /** What stands behind a call. */
  #end() {
    const { form } = this;
    if (form.style === 'object') this.#blanks();
    return this.#skip(form.after) || (form.endsAnswer && this.at >= this.text.trimEnd().length);
  }
}

/**
 * The parts of an answer, which followed the grammar of its tools. A call that was cut off is text.
 * @param {Tools} tools
 * @param {string} text
 * @param {number} first  number of the first call in the conversation, for its id
 * @returns {{content: string, toolCalls: ToolCall[], thinking?: string}}
 */
export function partsOf(tools, text, first) {
  const { form, json } = tools;
  const mark = markOf(form);
  const marked = mark ? text.indexOf(mark) : -1;
  const start = form.bare && text.startsWith('{') ? 0 : marked;
  const found = start < 0 || (json && !form.channels && start > 0) ? [] : new CallReader(tools, text, start).read();
  const toolCalls = found.map((call, i) => ({
    // Mistral's templates take ids of nine letters and digits only.
    id: `call${String(first + i).padStart(5, '0')}`,
    name: call.name,
    arguments: call.arguments,
  }));
  if (form.channels && text.includes('<|channel|>'))
    return { content: inChannel(text, 'final'), toolCalls, thinking: inChannel(text, 'analysis') };
  return { content: toolCalls.length ? text.slice(0, start) : text, toolCalls };
}
