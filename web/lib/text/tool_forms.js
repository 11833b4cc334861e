// tool_forms.js - the forms in which models write calls of tools, recognised by what the chat template writes itself
//
// | style  | a call                                                      |
// |--------|-------------------------------------------------------------|
// | object | {"name": "f", "arguments": {"a": 1}}                        |
// | list   | all calls are one list of such objects                      |
// | named  | the name, a separator, {"a": 1}                             |
// | python | all calls are one list: [f(a=1), g()]                       |
// | braces | f{a:1,b:<escape>text<escape>}                               |

/**
 * Around which texts calls stand. open, close: around all calls; before, after: around each; separator: of the style
 * named; argumentsKey: of the styles object and list. bare: an answer that begins with { is a call, without `open` too.
 * endsAnswer: what stands behind a call ends the answer, and need not be in its text. channels: the answer is written
 * in the channels of harmony. constrain/tool_grammar.js makes a grammar of it, tool_calls.js reads it.
 * @typedef {{style: 'object' | 'list' | 'named' | 'python' | 'braces', open: string, close: string, before: string,
 *   after: string, separator: string, argumentsKey: string, bare: boolean, endsAnswer: boolean,
 *   channels: boolean}} ToolForm
 */

/** @type {ToolForm} */
const NOTHING = {
  ...{ style: 'object', open: '', close: '', before: '', after: '', separator: '', argumentsKey: 'arguments' },
  ...{ bare: false, endsAnswer: false, channels: false },
};
/** @param {Partial<ToolForm>} own @returns {ToolForm} */
const form = (own) => ({ ...NOTHING, ...own });

/** Hermes, Qwen, EXAONE, Granite 4 and others. */
const HERMES = form({ before: '<tool_call>', after: '</tool_call>' });
/** Mistral, up to its third tokenizer; a list of objects. */
const MISTRAL_LIST = form({ style: 'list', open: '[TOOL_CALLS]' });
/** Mistral, from its eleventh tokenizer on. */
const MISTRAL = form({ style: 'named', before: '[TOOL_CALLS]', separator: '[ARGS]' });
const DEEPSEEK = form({
  style: 'named',
  open: '<｜tool▁calls▁begin｜>',
  before: '<｜tool▁call▁begin｜>function<｜tool▁sep｜>',
  separator: '\n```json\n',
  after: '\n```<｜tool▁call▁end｜>',
  close: '<｜tool▁calls▁end｜>',
});
const DEEPSEEK_3_1 = form({
  ...DEEPSEEK,
  before: '<｜tool▁call▁begin｜>',
  separator: '<｜tool▁sep｜>',
  after: '<｜tool▁call▁end｜>',
});
const GRANITE = form({ style: 'list', open: '<|tool_call|>' });
const PHI = form({ style: 'list', open: '<|tool_call|>', close: '<|/tool_call|>' });
const LFM = form({ style: 'python', open: '<|tool_call_start|>', close: '<|tool_call_end|>' });
const FUNCTION_GEMMA = form({ style: 'braces', before: '<start_function_call>call:', after: '<end_function_call>' });
const HARMONY = form({
  style: 'named',
  before: '<|channel|>commentary to=functions.',
  separator: ' <|constrain|>json<|message|>',
  after: '<|call|>',
  endsAnswer: true,
  channels: true,
});
/** Llama 3.1 and later. */
const LLAMA = form({ open: '<|python_tag|>', argumentsKey: 'parameters', bare: true });
/** What Google's documents tell Gemma; of templates without a place for tools. */
const PLAIN = form({ argumentsKey: 'parameters', bare: true });

/**
 * Forms, each with texts of which a template writes all; the first that fits is taken. null: known, and not read.
 * @type {[string[], ToolForm | null][]}
 */
const SIGNS = [
  [['<function='], null],
  [['<arg_key>'], null],
  [['<invoke'], null],
  [['<|tool_call_start|>'], LFM],
  [['<|tool_list_start|>'], LFM],
  [['<start_function_call>'], FUNCTION_GEMMA],
  [['<｜tool▁calls▁begin｜>', '```json'], DEEPSEEK],
  [['<｜tool▁calls▁begin｜>'], DEEPSEEK_3_1],
  [['<|channel|>', 'functions.'], HARMONY],
  [['[TOOL_CALLS]', '[ARGS]'], MISTRAL],
  [['[TOOL_CALLS]'], MISTRAL_LIST],
  [['<tool_call>'], HERMES],
  [['<|tool|>', '<|/tool|>'], PHI],
  [['<|tool_call|>', '<|/tool_call|>'], PHI],
  [['<|tool_call|>'], GRANITE],
  [['<|python_tag|>'], LLAMA],
  [['<|start_header_id|>', '"parameters": '], LLAMA],
];

/**
 * Whether a template has a place for tools, whatever it calls them, or writes calls or results.
 * @param {string} template
 */
export const knowsCalls = (template) => /tools\b|tool_calls?\b|['"]tool['"]/.test(template);

/**
 * The form of the calls of a model.
 * @param {string} template  its chat template
 * @returns {ToolForm | null} null: it is none of those that are known
 */
export function formOf(template) {
  const found = SIGNS.find(([signs]) => signs.every((sign) => template.includes(sign)));
  if (found) return found[1];
  return knowsCalls(template) ? null : PLAIN;
}
