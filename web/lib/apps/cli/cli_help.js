// cli_help.js - the commands and options of the command line: their help, of the program and of each command
import { defaultCacheDir } from '../../files/transfer/file_store.js';
import { PRESETS } from '../../api/index.js';
import { SAMPLER } from '../../engine/config/sampler_fields.js';

/** Defaults of the command line: those of the sampler's options that are not off. */
export const DRAWING = Object.fromEntries(
  SAMPLER.filter(({ off, commandLine }) => commandLine !== off).map((field) => [field.name, field.commandLine]),
);

const DOWNLOADS = ['cache-dir', 'no-cache', 'token', 'header', 'progress', 'quiet'];
const LOADING = ['model', 'config', 'lora', 'dtype', 'kv-dtype', 'threads', ...DOWNLOADS];
const DICTIONARY = ['at', 'size', 'k', 'tokens', 'epochs'];
const WRITING = ['type', 'config', 'no-tokenizer', ...DOWNLOADS];

/**
 * A command. words: how many words a line of it may have, its name included (default: any); options: that it takes.
 * @typedef {{usage: string, does: string, example: string, words?: number[], options: string[]}} Command
 */
/** @type {Record<string, Command>} */
export const COMMANDS = {
  embed: {
    usage: '[options] [TEXT...]',
    does: 'print vectors of texts as JSON lines; without TEXT, one for each line of standard input',
    example: "glassformer embed -m hf:sentence-transformers/all-MiniLM-L6-v2 'A man is eating.' 'Someone has a meal.'",
    options: ['pooling', 'json', ...LOADING],
  },
  classify: {
    usage: '[options] [TEXT...]',
    does: 'print labels of texts as JSON lines; without TEXT, one for each line of standard input',
    example: "glassformer classify -m hf:dslim/bert-base-NER 'Ada Lovelace met Charles Babbage in London.'",
    options: ['pair', 'json', ...LOADING],
  },
  count: {
    usage: '[--json] CONFIG',
    does: 'count the parameters of a preset, a config.json or a local weight file',
    example: 'glassformer count gpt2',
    words: [2],
    options: ['json', 'quiet'],
  },
  lab: {
    usage: '[NAME [--json]]',
    does: 'replicate a published finding; without NAME, list the labs',
    example: 'glassformer lab induction --short',
    words: [1, 2],
    options: ['json', 'short', 'seed', 'seeds', ...LOADING],
  },
  serve: {
    usage: '[options]',
    does: "serve OpenAI's HTTP interface on this machine, for one user",
    example: 'glassformer serve -m hf:HuggingFaceTB/SmolLM2-135M-Instruct --port 8080',
    words: [1],
    options: ['port', 'allow-origin', ...LOADING],
  },
  convert: {
    usage: 'SOURCE OUT.gguf',
    does: 'write a checkpoint as GGUF, with matrices in --type (default F16)',
    example: 'glassformer convert hf:owner/name model.gguf --type Q8_0',
    words: [3],
    options: WRITING,
  },
  quantize: {
    usage: 'SOURCE OUT.gguf',
    does: 'write a checkpoint as GGUF with a quantised --type (default Q8_0)',
    example: 'glassformer quantize model.gguf small.gguf --type Q4_K_M',
    words: [3],
    options: WRITING,
  },
  dictionary: {
    usage: 'TEXT.txt OUT',
    does: 'train a sparse dictionary at a point of the model, and write it to the folder OUT',
    example: 'glassformer dictionary stories.txt features --at blocks.2.hook_resid_post',
    words: [3],
    options: [...DICTIONARY, 'json', 'seed', ...LOADING],
  },
};

/** Options of commands that a prompt does not have. */
export const NOT_OF_A_PROMPT = [
  'pooling',
  'pair',
  'short',
  'type',
  'no-tokenizer',
  'port',
  'allow-origin',
  ...DICTIONARY,
];

/** The names of the presets, in lines of at most 100 columns. */
const PRESET_NAMES = Object.keys(PRESETS)
  .join(', ')
  .replace(/(.{1,80}), /g, '$1,\n  ');

export const HELP = `\
usage: glassformer [options] [PROMPT]         continue a text; without PROMPT, or with -, standard input
       glassformer --chat [options] [PROMPT]  answer a message; without PROMPT, each line of standard input
${Object.entries(COMMANDS)
  .map(([name, { usage, does }]) => `       ${`glassformer ${name} ${usage}`.padEnd(37)}  ${does}`)
  .join('\n')}

glassformer COMMAND --help shows the options of a command, with an example.

  -m, --model SOURCE     a .gguf or .bin file, a folder ending in /, a URL, or hf:owner/name[/file.gguf]
                         (default: the small story model of this package)
      --config JSON      settings that the model's files lack, such as '{"n_head": 6}', or a JSON file with them
      --source TEXT      input text for an encoder-decoder (-: standard input); makes PROMPT optional
      --chat             send the prompt as a message through the model's chat template
      --system TEXT      with --chat: put a system message first
  -n, --max-tokens N     write at most N tokens (default: until the text ends or the context is full)
  -t, --temperature T    0 takes the most likely token, higher values vary more (default ${DRAWING.temperature})
      --top-k K          sample from the K most likely tokens (default 0: off)
      --top-p P          sample from the most likely tokens with this total probability
                         (default ${DRAWING.topP}; 1 is off)
      --min-p P          leave out tokens below P times the highest probability (default 0: off)
      --repetition-penalty R   divide the logits of tokens in prompt and text by R (default 1: off)
      --presence-penalty P     subtract P from the logits of generated tokens (default 0: off)
      --frequency-penalty F    subtract F for each time a token was generated (default 0: off)
      --seed N           random seed (default: random, printed at the end)
      --stop TEXT        end before this text; may be repeated
      --min-tokens N     write at least N tokens
      --json-schema FILE write JSON that is valid under this schema
      --grammar FILE     write text that follows this grammar (GBNF)
      --beams N          beam search with N beams (no sampling)
      --lora SOURCE      add a LoRA adapter: a folder of PEFT, a GGUF, or hf:owner/name; may be repeated
      --pooling KIND     with embed: how token vectors are pooled (default: as the model specifies)
      --pair TEXT        with classify: a second text for each, such as a document for a question
      --dtype DTYPE      weights in memory: keep, f32, f16, q8_0, q4_0, q6_k, q5_0 or q4_k (default keep)
      --kv-dtype DTYPE   key/value cache: f32, f16 or q8_0 (default: f16 for quantised models, else f32)
      --threads N        compute in a worker with N threads
      --json             print the result as JSON, with where it comes from
      --progress         show download progress even if standard error is not a terminal
      --short            with lab: a short trial run (seconds instead of minutes)
      --seeds N          with lab: run with N seeds, and report means with intervals (default 1)
  -q, --quiet            print only errors to standard error

      --port N           with serve: the port on 127.0.0.1 (default 8080)
      --allow-origin URL with serve: let pages of this origin send requests; may be repeated

      --type TYPE        with quantize: Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q5_K, Q4_K, Q4_0 or Q4_1; with convert also
                         F32, F16 or BF16
      --no-tokenizer     with convert and quantize: write no vocabulary

      --at POINT         with dictionary: the hook point to read, such as blocks.2.hook_resid_post
      --size N           with dictionary: number of features (default 1024)
      --k N              with dictionary: how many features a token activates (default 16)
      --tokens N         with dictionary: number of tokens to read (default 100000)
      --epochs N         with dictionary: passes over these tokens (default 5)

  downloads
      --cache-dir DIR    folder that keeps downloads
                         (default: ${defaultCacheDir()})
      --no-cache         do not read or write the download cache
      --token TOKEN      access token of the Hugging Face Hub; $HF_TOKEN does the same
                         and is not visible to other users of the machine
      --header 'N: V'    send this header to the origin of the model's URL only; may be repeated

  -v, --version          print the version
  -h, --help             print this help, or that of a command

exit status: 0, 1 if something failed, 2 for incorrect usage, 130 if interrupted
presets of count: ${PRESET_NAMES}`;

/**
 * The lines of the help that describe an option, by its name.
 * @type {Map<string, {text: string, short?: string, value?: string}>}
 */
export const OPTION_LINES = new Map(
  Array.from(HELP.matchAll(/^ +(?:-(\w), )?--([\w-]+)( '?[A-Z])?.*(?:\n {20,}.*)*/gm), ([text, short, name, value]) => [
    name,
    { text, short, value },
  ]),
);

/** The usage line of a command. @param {string} name */
export const usageOf = (name) => `usage: glassformer ${name} ${COMMANDS[name].usage}`;

/** The help of a command. @param {string} name */
export function helpOf(name) {
  const { does, example, options } = COMMANDS[name];
  const lines = options.map((option) => OPTION_LINES.get(option)?.text.replace(/( )with [a-z ]+: /, '$1'));
  const presets = name === 'count' ? `\n\npresets: ${PRESET_NAMES}` : '';
  const sentence = `${does[0].toUpperCase()}${does.slice(1)}.`;
  return `${usageOf(name)}\n\n${sentence}\n\n${lines.join('\n')}${presets}\n\nexample: ${example}`;
}
