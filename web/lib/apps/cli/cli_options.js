// cli_options.js - the words and options of a command line: its command, and the options of load and generate
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fail, messageOf } from '../../base/errors.js';
import { didYouMean } from '../../base/nearest.js';
import { SAMPLER } from '../../engine/config/sampler_fields.js';
import { COMMANDS, DRAWING, NOT_OF_A_PROMPT, OPTION_LINES, usageOf } from './cli_help.js';

/**
 * The options, as parseArgs takes them: those of the help. One with a value has a word in capitals behind its name.
 * @type {Record<string, {type: 'string' | 'boolean', short?: string, multiple: boolean}>}
 */
export const OPTIONS = Object.fromEntries(
  Array.from(OPTION_LINES, ([name, { text, short, value }]) => [
    name,
    { type: value ? 'string' : 'boolean', ...(short && { short }), multiple: text.includes('may be repeated') },
  ]),
);

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
 * What is wrong with a line that is no command and no prompt; null: nothing.
 * @param {string[]} words
 * @returns {string | null}
 */
export function wrongUsage(words) {
  const [name] = words;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : null;
  if (command && words.length > 1)
    return `${usageOf(name)}\n${words.length - 1} words were given. glassformer ${name} --help shows an example.`;
  if (command && command.words?.includes(1) === false)
    return (
      `${usageOf(name)}\nglassformer ${name} --help shows an example. ` +
      `To continue the text "${name}", give it on standard input.`
    );
  return words.length > 1
    ? `The prompt has ${words.length} words, expected one: put it in quotes. glassformer --help lists all commands.`
    : null;
}

/** The port of serve. @param {Record<string, any>} o */
export function portOf(o) {
  const port = numeric(o.port, 'port') ?? 8080;
  return Number.isInteger(port) && port >= 0 && port < 65536
    ? port
    : fail('bad-option', `--port is ${o.port}, expected a whole number from 0 to 65535; 0 takes a free one`);
}

/**
 * The message of an error, with the name of an option as the command line writes it.
 * @param {Error & {code?: string}} error
 */
export function optionNamed({ code, message }) {
  if (code === 'no-chat-template')
    return 'this model has no chat template, so it was not trained for conversations: leave out --chat';
  if (code !== 'bad-option') return message.replace('the option config', '--config');
  return message.replace(/^[a-z]\w*/i, (word) => {
    const name = word.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
    return Object.hasOwn(OPTIONS, name) ? `--${name}` : word;
  });
}

/**
 * The message of a wrong command line: an option that does not exist, with the nearest one.
 * @param {Error} error  of parseArgs
 */
export function usageMessage({ message }) {
  const [, missing] = /^Option '(?:-\w, )?(--[\w-]+) <value>' argument missing/.exec(message) ?? [];
  if (missing) return `${missing} needs a value`;
  const [, name] = /^Unknown option '(--?[\w-]+)/.exec(message) ?? [];
  if (!name) return message;
  const near = didYouMean(
    name,
    Object.keys(OPTIONS).map((each) => `--${each}`),
  );
  return `there is no option ${name}${near || ': glassformer --help lists all options'}`;
}

/** Options of generate that are numbers. */
const NUMBERS = [
  ...['max-tokens', 'min-tokens', ...SAMPLER.map(({ member }) => member.replaceAll('_', '-'))],
  ...['presence-penalty', 'frequency-penalty', 'seed', 'beams'],
];

/**
 * @param {string | undefined} text
 * @param {string} name
 */
export function numeric(text, name) {
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
 * The settings of --config.
 * @param {string} given  JSON, or the path of a file
 */
function configOf(given) {
  const isJson = given.trimStart().startsWith('{');
  try {
    return JSON.parse(isJson ? given : readFileSync(given, 'utf8'));
  } catch (error) {
    return fail('bad-option', `--config ${given}: ${messageOf(error)}`);
  }
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
    ...(o.config !== undefined && { config: configOf(o.config) }),
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
