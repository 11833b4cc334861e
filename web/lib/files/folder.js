// folder.js - opens a checkpoint in the layout of Hugging Face: config.json, tokenizer.json, and safetensors or files
// of torch.save, in one file or in shards
import { chatTemplates } from './vocabulary/chat_template.js';
import { tokenIds } from '../engine/config/config.js';
import { GlassformerError, fail, show } from '../base/errors.js';
import { folderTokenizer } from './folder_tokenizer.js';
import { isOfOtherPart, readHfConfig, targetTokens } from './huggingface/huggingface.js';
import { localPath } from './bytes/open_file.js';
import { openHeaders } from './bytes/open_headers.js';
import { inRanges } from './bytes/needed_ranges.js';
import { partsAmong } from './gguf/gguf_parts.js';
import { readSafetensors, staleCopies } from './huggingface/safetensors.js';
import { isBytes } from '../base/checks.js';
import { isFileName } from './bytes/file_name.js';

/** @import { Folder } from './opened_files.js' */
/** @import { Bytes, Checkpoint, Opener, Overrides, Parsed } from './source.js' */
/** @import { ByteReader } from './bytes/chunks.js' */

/**
 * Opens a folder in the layout of Hugging Face, or one that holds a single GGUF.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {Overrides} overrides
 * @returns {Promise<Checkpoint>}
 */
export async function openFolder(opener, folder, overrides) {
  const config =
    (await jsonOf(opener, overrides.config)) ??
    (await opener.optionalJson(folder.get('config.json'))) ??
    (await paramsOf(opener, folder));
  if (!config) {
    checkRefused(opener);
    const own = await (await import('./huggingface/sentence_transformers.js')).transformerFolder(opener, folder);
    if (own) return withPooling(opener, await openFolder(opener, own, overrides), folder, own);
    const names = weightFilesAmong(await folder.list());
    const files = names.flatMap((name) => folder.get(name) ?? []);
    if (!files.length) return fail('not-found', `${folder.name}: there is no config.json`);
    const given = overrides.tokenizer ?? (await opener.optionalTokenizer(folder.get('tokenizer.json')));
    const tokenizer = given ?? (names[0].endsWith('.pt') ? (folder.get('meta.pkl') ?? undefined) : undefined);
    return opener.weights(files, names[0].endsWith('.gguf') ? overrides : { ...overrides, config: null, tokenizer });
  }
  const { files, map } = await weightFiles(opener, folder, { ...config, ...opener.options.config });
  const generation = await opener.optionalJson(folder.get('generation_config.json'));
  const tokenizerConfig = await opener.optionalJson(folder.get('tokenizer_config.json'));
  const template = (await opener.optionalText(folder.get('chat_template.jinja'))) ?? tokenizerConfig?.chat_template;
  const tokenizer = overrides.tokenizer ?? (await folderTokenizer(opener, folder, config, tokenizerConfig));
  warn(opener);
  const read = await asEncoder(opener, folder, config);
  const checkpoint = await opener.weights(files, { config: read, tokenizer: tokenizer ?? undefined }, map);
  await withPooling(opener, checkpoint, folder);
  if (checkpoint.labels) {
    const { activationNamed } = await import('./huggingface/classifiers.js');
    const settings = await opener.optionalJson(folder.get('config_sentence_transformers.json'));
    checkpoint.labels.activation = activationNamed(settings?.activation_fn) ?? checkpoint.labels.activation;
  }
  const eos = generation ? tokenIds(generation, 'eos_token_id', 'generation_config.json') : [];
  const ends = checkpoint.config.kind === 'decoder' ? await turnEnds(checkpoint.tokenizer, tokenizerConfig) : [];
  checkpoint.special.eos = [...new Set([...checkpoint.special.eos, ...eos, ...ends])];
  if (generation && checkpoint.config.kind === 'encoder_decoder')
    Object.assign(checkpoint.special, targetTokens(generation, 'generation_config.json'));
  Object.assign(checkpoint, chatTemplates(template));
  if (checkpoint.chatTemplate) {
    const { specialTexts } = await import('./vocabulary/side_files.js');
    checkpoint.special.texts = specialTexts(tokenizerConfig);
  }
  return checkpoint;
}

/**
 * The tokens that end a turn by their texts: the end token of tokenizer_config.json, and those that every reader of
 * GGUF knows.
 * @param {any} tokenizer  a tokenizer.json
 * @param {any} settings  tokenizer_config.json, or null
 * @returns {Promise<number[]>}
 */
async function turnEnds(tokenizer, settings) {
  const added = Array.isArray(tokenizer?.added_tokens) ? tokenizer.added_tokens : [];
  const ids = new Map(added.map((/** @type {any} */ token) => [token?.special === true && token.content, token?.id]));
  const end = settings?.eos_token?.content ?? settings?.eos_token;
  const { endsByText } = await import('./vocabulary/gguf_vocab.js');
  const idOf = (/** @type {string} */ text) => (Number.isInteger(ids.get(text)) ? ids.get(text) : null);
  return [...endsByText(idOf), ...(typeof end === 'string' ? [idOf(end) ?? []].flat() : [])];
}

/**
 * The configuration of a model in a pipeline of sentence-transformers, of which a decoder gives its states
 * (Qwen3-Embedding).
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {any} config
 */
async function asEncoder(opener, folder, config) {
  const [name] = [config?.architectures ?? []].flat();
  if (!/ForCausalLM$/.test(String(name))) return config;
  const modules = await opener.optionalJson(folder.get('modules.json'));
  if (!Array.isArray(modules) || !modules.some((module) => /Pooling$/.test(String(module?.type)))) return config;
  return { ...config, architectures: [name.replace(/ForCausalLM$/, 'Model')] };
}

/**
 * A checkpoint; an encoder with what the files of sentence-transformers say of its vectors.
 * @param {Opener} opener
 * @param {Checkpoint} checkpoint  changed
 * @param {Folder} folder
 * @param {Folder} [own]  that of the transformer
 */
async function withPooling(opener, checkpoint, folder, own) {
  if (checkpoint.config.kind !== 'encoder') return checkpoint;
  const { readPooling } = await import('./huggingface/sentence_transformers.js');
  checkpoint.pooling = (await readPooling(opener, folder, own)) ?? checkpoint.pooling;
  return checkpoint;
}

/**
 * The caller's configuration.
 * @param {Opener} opener
 * @param {Overrides['config']} config
 * @returns {Promise<any>}
 */
const jsonOf = async (opener, config) => (isBytes(config) ? opener.json(config) : config);

/**
 * The params.json of Meta's checkpoints as a configuration.
 * @param {Opener} opener
 * @param {Folder} folder
 */
async function paramsOf(opener, folder) {
  const params = await opener.optionalJson(folder.get('params.json'));
  if (typeof params?.dim !== 'number') return null;
  const { vocab_size: tokens, ...rest } = params; // -1: that of the tokenizer
  return tokens > 0 ? params : rest;
}

/** Files of weights with an index beside them, where there are several. */
const WEIGHTS = ['model.safetensors', 'pytorch_model.bin'];

/**
 * The weight files of a folder, the first kind of which there is one.
 * @param {Opener} opener
 * @param {Folder} folder
 * @param {any} config
 * @returns {Promise<{files: (Bytes | ByteReader)[], map: Record<string, string>}>} map: file name by tensor
 */
async function weightFiles(opener, folder, config) {
  for (const name of WEIGHTS) {
    const whole = await opener.optionalReader(folder.get(name), true);
    if (whole) return { files: [whole], map: {} };
    const index = await opener.optionalJson(folder.get(`${name}.index.json`));
    if (!index) continue;
    const map = neededFiles(opener, weightMap(index, `${name}.index.json`), config);
    const files = [...new Set(Object.values(map))]
      .sort()
      .map((f) => folder.get(f) ?? fail('not-found', `${folder.name}: there is no ${f}`));
    return { files, map };
  }
  const names = await folder.list();
  const parts = names.filter((name) => /^consolidated\.\d+\.pth$/.test(name));
  if (parts.length > 1)
    fail('unsupported', `${folder.name}: ${parts.join(', ')} are slices of each matrix, which are not joined here`);
  const [only] = weightFilesAmong(names);
  const file = only === undefined ? null : folder.get(only);
  if (file) return { files: [file], map: {} };
  checkRefused(opener);
  return fail(
    'not-found',
    `${folder.name}: there is neither ${WEIGHTS.join(' nor ')}, nor one of them with .index.json`,
  );
}

/**
 * The files of an index without those of which no tensor is needed: they hold the part of a model that reads pictures.
 * @param {Opener} opener
 * @param {Record<string, string>} map  file name by tensor
 * @param {any} config
 */
function neededFiles({ options, warnings }, map, config) {
  if (options.names || options.rename) return map;
  const tensors = Object.entries(map);
  const needed = new Set(tensors.flatMap(([tensor, file]) => (isOfOtherPart(config, tensor) ? [] : [file])));
  const others = [...new Set(Object.values(map))].filter((file) => !needed.has(file));
  if (!others.length || !needed.size) return map;
  warnings.push(`files that have only tensors of a part that is not run were not read: ${others.sort().join(', ')}`);
  return Object.fromEntries(tensors.filter(([, file]) => needed.has(file)));
}

/**
 * The weight files in a folder without a config.json: a GGUF, its parts, or one file of tensors.
 * @param {string[]} names  of all files
 * @returns {string[]} [] where there are none, or several models
 */
function weightFilesAmong(names) {
  for (const endings of [['.gguf'], ['.safetensors'], ['.pt', '.pth', '.ckpt', '.bin']]) {
    const found = names.filter((name) => endings.some((ending) => name.endsWith(ending)));
    if (found.length === 1) return found;
    if (found.length) return partsAmong(found);
  }
  const others = names.filter((name) => !NO_WEIGHTS.test(name));
  return others.length === 1 ? others : []; // a file of another program, which is then named
}

/** Files beside weights. */
const NO_WEIGHTS = /\.(json|txt|md|py|jinja|model|spm|yaml|yml|log|csv|png)$|(^|[/\\])\.[^/\\]*$|(^|[/\\])[^.]*$/;

/**
 * Throws when the server refused a file, which is needed after all.
 * @param {Opener} opener
 */
function checkRefused({ refused: [first] }) {
  if (first) throw first;
}

/**
 * Adds a warning for each optional file that the server refused.
 * @param {Opener} opener
 */
function warn({ warnings, refused }) {
  warnings.push(...refused.map(({ message }) => `${message}; the model was read without this file`));
}

/**
 * Opens one or several files of tensors: safetensors, or those of torch.save.
 * @param {Opener} opener
 * @param {'safetensors' | 'pytorch'} format
 * @param {ByteReader} first  of the first file
 * @param {(Bytes | ByteReader)[]} files
 * @param {Overrides} overrides  config null: there is none
 * @param {Record<string, string>} map  file name by tensor; empty without an index
 * @returns {Promise<Parsed>}
 */
export async function openStateDict(opener, format, first, files, overrides, map) {
  const { options, warnings } = opener;
  let json = await configOf(opener, format, files[0], overrides);
  // refuses before the headers of all files are fetched
  if (typeof json?.model_type === 'string') readHfConfig({ ...json, ...options.config });
  const torch = format === 'pytorch' ? await import('./pytorch/pytorch.js') : null;
  /** @type {import('./pytorch/pytorch.js').TorchFile[]} */
  const archives = [];
  const { headers, names, readers } = await openHeaders(opener, first, files, async (r, i) => {
    if (!torch) return readSafetensors(r, i);
    archives[i] = await torch.readTorch(r);
    return torch.torchEntries(archives[i].dict, i, r.name);
  });
  const entries = headers.flat();
  const own = archives.find(({ config }) => config)?.config;
  const stale = staleCopies(map, entries, names);
  if (stale.size)
    warnings.push(`copies in shards that the index does not name were not read: ${[...stale].map(({ name }) => name)}`);
  if (json === undefined) {
    json = await siblingConfig(opener, files[0], overrides);
    if (own) json = null;
  }
  const { modelOf, renameByMap } = await import('./huggingface/state_dict.js');
  const rename = options.names ? renameByMap(options.names) : options.rename;
  const { signal, config: given = {} } = options;
  const tells = rename || json?.model_type || ['activation', 'model_type'].some((key) => key in given);
  if (!tells && archives.some(({ asksActivation }) => asksActivation)) failWithoutActivation(names[0]);
  const model = await modelOf(entries, { json, given, saved: own, stale, files: names, rename, warnings, signal });
  return {
    ...model,
    chatTemplate: null,
    readers,
    deliver: torch
      ? async (i, r, tensors, give) => {
          const isOpenedAgain = r.pos === 0;
          await torch.deliverTorch(isOpenedAgain ? await torch.readTorch(r) : archives[i], tensors, give);
        }
      : inRanges(opener),
  };
}

/** @param {string} file @returns {never} */
function failWithoutActivation(file) {
  throw new GlassformerError(
    'bad-config',
    `${file}: neither the GPTConfig beside the weights nor the tensors tell the kind of GELU: give activation in the ` +
      "option config, 'gelu_new' (tanh) for build-nanogpt, 'gelu' for a class with nn.GELU()",
    { keys: [{ key: 'activation', choices: ['gelu_new', 'gelu'] }] },
  );
}

/**
 * The configuration that the caller gave, or that is beside a safetensors file.
 * @param {Opener} opener
 * @param {'safetensors' | 'pytorch'} format
 * @param {Bytes | ByteReader} file
 * @param {Overrides} overrides  changed: gets a tokenizer beside the file
 * @returns {Promise<any>} undefined where it is not known whether there is one, null where there is none
 */
async function configOf(opener, format, file, overrides) {
  if (overrides.config !== undefined) return jsonOf(opener, overrides.config);
  return format === 'safetensors' ? siblingConfig(opener, file, overrides, true) : undefined;
}

/**
 * The config.json beside a file of weights.
 * @param {Opener} opener
 * @param {Bytes | ByteReader} file
 * @param {Overrides} overrides  changed: gets a tokenizer beside the file
 * @param {boolean} [expected]  whether a server that answers 403 is an error
 * @returns {Promise<any>} null where there is none
 */
async function siblingConfig(opener, file, overrides, expected = false) {
  if (typeof file !== 'string' && !(file instanceof URL)) return null;
  const json = await opener.optionalJson(sibling(file, 'config.json'));
  if (expected) checkRefused(opener);
  overrides.tokenizer ??= (await opener.optionalTokenizer(sibling(file, 'tokenizer.json'))) ?? undefined;
  warn(opener);
  return json;
}

/**
 * The file name of each tensor, from the JSON of an index.
 * @param {any} index
 * @param {string} name  of the index, for messages
 * @returns {Record<string, string>}
 */
function weightMap(index, name) {
  const map = index?.weight_map;
  if (map === null || typeof map !== 'object' || Array.isArray(map)) fail('bad-file', `${name}: weight_map is missing`);
  for (const file of Object.values(map)) {
    if (!isFileName(file)) fail('bad-file', `${name}: ${show(file)} is not a file beside it`);
  }
  if (!Object.keys(map).length) fail('bad-file', `${name}: weight_map is empty`);
  return map;
}

/**
 * The address of another file in the same folder.
 * @param {string | URL} at  address of a file
 * @param {string} file  name of the other
 * @returns {string | null} null where there is no folder: of a data: or blob: address, or a stream
 */
function sibling(at, file) {
  const path = localPath(at);
  if (path !== null) return path.replace(/[^/\\]*$/, file);
  try {
    return new URL(file, at).href;
  } catch {
    return null;
  }
}
