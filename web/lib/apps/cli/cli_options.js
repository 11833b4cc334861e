// cli_options.js - the options of the command line: their help, and the options of load and generate that they mean
import { readFile } from 'node:fs/promises';
import { defaultCacheDir } from '../../files/transfer/file_store.js';
import { fail, messageOf } from '../../base/errors.js';
import { PRESETS } from '../../api/index.js';
import { SAMPLER } from '../../engine/config/sampler_fields.js';

/** Defaults of the command line: those of the sampler's options that are not off. */
const DRAWING = Object.fromEntries(
  SAMPLER.filter(({ off, commandLine }) => commandLine !== off).map((field) => [field.name, field.commandLine]),
);

export const HELP = `\
usage: glassformer [options] [PROMPT]      continue a text; without PROMPT, or with -, standard input
       glassformer --chat [options] [PROMPT]  answer a message; without PROMPT each line of standard input
       glassformer embed [options] [TEXT...]  vectors of texts as JSON lines; without TEXT each line of standard input
       glassformer count [--json] CONFIG      parameters of a config.json, of a local weight file or of a preset
       glassformer lab [NAME [--json]]        measure a published finding again; without NAME the list of labs
       glassformer convert SOURCE OUT.gguf    write a checkpoint as GGUF, its matrices in --type (default F16)
       glassformer quantize SOURCE OUT.gguf   the same with a quantised --type (default Q8_0)

  -m, --model SOURCE     .gguf, .bin, a folder ending in /, an address, or hf:owner/name[/file.gguf]
                         (default: the small story model of this package)
      --source TEXT      what an encoder-decoder reads; - for standard input. PROMPT is then optional
      --chat             send the prompt as a message through the model's chat template
      --system TEXT      with --chat: a system message before it
  -n, --max-tokens N     default: until the text ends or the context is full
  -t, --temperature T    default ${DRAWING.temperature}; 0 takes the most likely token
      --top-k K          default 0 (off)
      --top-p P          default ${DRAWING.topP}; 1 is off
      --min-p P          default 0 (off)
      --repetition-penalty R   divides the logits of tokens in prompt and text; default 1 (off)
      --presence-penalty P     subtracted from the logits of generated tokens; default 0
      --frequency-penalty F    the same for each time a token was generated; default 0
      --seed N           default: drawn, and reported at the end
      --stop TEXT        end before this text; may be repeated
      --min-tokens N     do not end before N tokens
      --json-schema FILE the text is JSON that is valid under this schema
      --grammar FILE     the text follows this grammar (GBNF)
      --beams N          beam search with N beams, without drawing tokens
      --lora SOURCE      a LoRA adapter: a folder of PEFT, a GGUF, or hf:owner/name; may be repeated
      --pooling KIND     with embed: how the vectors of the tokens become one (default: as the model says)
      --dtype DTYPE      keep (default), f32, f16, q8_0, q4_0, q6_k, q5_0 or q4_k
      --kv-dtype DTYPE   f32, f16 or q8_0 (default: q8_0 for quantised models, else f32)
      --threads N        compute in a worker with N threads
      --json             the result as JSON instead of text
      --progress         download progress also where standard error is no terminal
      --short            with lab: seconds instead of minutes, to try it
  -q, --quiet            nothing on standard error but errors

      --type TYPE        of convert and quantize: F32, F16, BF16, Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q5_K, Q4_K, Q4_0
                         or Q4_1
      --no-tokenizer     convert and quantize: write no vocabulary

  downloads
      --cache-dir DIR    the folder that keeps them
                         (default: ${defaultCacheDir()})
      --no-cache         neither write nor read the download cache
      --token TOKEN      access token of the Hugging Face hub; $HF_TOKEN does the same
                         and is not visible to other users of the machine
      --header 'N: V'    sent to the origin of the model's address only; may be repeated

  -v, --version
  -h, --help

exit status: 0, 1 when something failed, 2 for a wrong usage, 130 when interrupted
presets: ${Object.keys(PRESETS).join(', ')}`;

/**
 * The options, as parseArgs takes them: those of the help. One with a value has a word in capitals behind its name.
 * @type {Record<string, {type: 'string' | 'boolean', short?: string, multiple: boolean}>}
 */
export const OPTIONS = Object.fromEntries(
  Array.from(HELP.matchAll(/^ +(?:-(\w), )?--([\w-]+)( '?[A-Z])?.*(?:\n {20,}.*)*/gm), ([text, short, name, value]) => [
    name,
    { type: value ? 'string' : 'boolean', ...(short && { short }), multiple: text.includes('may be repeated') },
  ]),
);

const DOWNLOADS = ['cache-dir', 'no-cache', 'token', 'header', 'progress', 'quiet'];
const LOADING = ['model', 'lora', 'dtype', 'kv-dtype', 'threads', ...DOWNLOADS];
const WRITING = ['type', 'no-tokenizer', ...DOWNLOADS];
/**
 * What each command takes, if the line has one of these numbers of words (default: any); otherwise it is a prompt.
 * @type {Record<string, {words?: number[], options: string[]}>}
 */
const COMMANDS = {
  embed: { options: ['pooling', 'json', ...LOADING] },
  count: { words: [2], options: ['json', 'quiet'] },
  lab: { words: [1, 2], options: ['json', 'short', 'seed', ...LOADING] },
  convert: { words: [3], options: WRITING },
  quantize: { words: [3], options: WRITING },
};
/** Options of commands that a prompt does not have. */
const NOT_OF_A_PROMPT = ['pooling', 'short', 'type', 'no-tokenizer'];

/**
 * The command of a line. An option that it would ignore is refused.
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {string | undefined} undefined: a prompt
 */
export function commandOf(words, options) {
  const command = Object.keys(COMMANDS).find(
    (name) => name === words[0] && (COMMANDS[name].words ?? [words.length]).includes(words.length),
  );
  const ignored = Object.keys(options).find((name) =>
    command ? !COMMANDS[command].options.includes(name) : NOT_OF_A_PROMPT.includes(name),
  );
  if (ignored) fail('bad-option', `${command ?? 'a prompt'} does not take --${ignored}`);
  return command;
}

/**
 * Whether a line of one word is the name of a command that needs more words.
 * @param {string} word
 */
export const isIncomplete = (word) => Object.hasOwn(COMMANDS, word) && COMMANDS[word].words?.includes(1) === false;

/**
 * What a command expects.
 * @param {string} command
 */
export const usageOf = (command) =>
  `usage: glassformer ${command} ${new RegExp(`glassformer ${command} (.*?)  `).exec(HELP)?.[1]}\n` +
  `To continue the text "${command}", give it on standard input. glassformer --help lists all commands.`;

/**
 * The message of an error, with the name of an option as the command line writes it.
 * @param {Error & {code?: string}} error
 */
export const optionNamed = ({ code, message }) =>
  code === 'bad-option'
    ? message.replace(/^[a-z]\w*/i, (word) => {
        const name = word.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
        return Object.hasOwn(OPTIONS, name) ? `--${name}` : word;
      })
    : message;

/** Options of generate that are numbers. */
const NUMBERS = [
  ...['max-tokens', 'min-tokens', ...SAMPLER.map(({ member }) => member.replaceAll('_', '-'))],
  ...['presence-penalty', 'frequency-penalty', 'seed', 'beams'],
];

/**
 * @param {string | undefined} text
 * @param {string} name
 */
function numeric(text, name) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value))
    fail('bad-option', `--${name} is ${JSON.stringify(text)}, expected a number`);
  return value;
}

/**
 * @param {string[]} lines "Name: value"
 * @returns {[string, string][]}
 */
function headersOf(lines) {
  return lines.map((line) => {
    const colon = line.indexOf(':');
    // not quoted: it may be a secret
    if (colon < 1) fail('bad-option', "--header has no name: expected --header 'Name: value'");
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
}

/**
 * Options of load that the command line names.
 * @param {Record<string, any>} o
 * @param {string} source
 * @returns {import('../../api/index.js').LoadOptions}
 */
export function loadOptions(o, source) {
  const threads = numeric(o.threads, 'threads');
  const isRemote = /^(hf|https?):/.test(source);
  if (o['cache-dir'] !== undefined && o['no-cache'])
    fail('bad-option', '--cache-dir and --no-cache cannot be combined');
  return {
    dtype: o.dtype,
    kvDtype: o['kv-dtype'],
    token: o.token,
    ...(threads !== undefined && { threads, worker: true }),
    ...(o.header && { headers: headersOf(o.header) }),
    ...(o.lora && { adapters: o.lora.map((/** @type {string} */ adapter) => ({ source: adapter })) }),
    ...(isRemote && !o['no-cache'] && { cache: 'file', cacheDir: o['cache-dir'] }),
  };
}

/**
 * The text of a file that an option names.
 * @param {string} file
 * @param {string} name  of the option
 */
async function fileText(file, name) {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    return fail('not-found', `--${name}: ${messageOf(error)}`);
  }
}

/** @param {string} file */
async function schemaOf(file) {
  const text = await fileText(file, 'json-schema');
  try {
    return JSON.parse(text);
  } catch (error) {
    return fail('bad-option', `--json-schema: ${file}: not JSON: ${messageOf(error)}`);
  }
}

/**
 * Options of generate that the command line names.
 * @param {Record<string, any>} o
 * @returns {Promise<import('../../api/index.js').GenerateOptions>}
 */
export async function generateOptions(o) {
  const numbers = Object.fromEntries(
    NUMBERS.map((name) => [name.replace(/-./g, (c) => c[1].toUpperCase()), numeric(o[name], name)]),
  );
  const draws = (numbers.beams ?? 1) === 1;
  return {
    ...(draws && DRAWING),
    ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined)),
    stop: o.stop,
    ...(o['json-schema'] !== undefined && { json: await schemaOf(o['json-schema']) }),
    ...(o.grammar !== undefined && { grammar: await fileText(o.grammar, 'grammar') }),
  };
}
