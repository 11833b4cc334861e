// side_files.js - the files beside a tokenizer.json, and in place of one: tokenizer_config.json,
// special_tokens_map.json, added_tokens.json, vocab.json with merges.txt, tokenizer.model
//
// The result is a tokenizer.json that encodes as transformers 5 does with the same files.
import { fail, show } from '../../base/errors.js';
import { mergesOf } from './merge_pieces.js';
import { tokenTextsOf } from './packed_texts.js';
import { readPieces, sentencePieceTokenizer } from './sentencepiece.js';
import { CONTROL, UNKNOWN, USER_DEFINED, isId } from './tokenizer_json.js';

/** @typedef {Record<string, any>} Json */
/**
 * Settings of a tokenizer: tokenizer_config.json with the special tokens of the other files.
 * @typedef {{settings: Json, added: Json | null}} SideFiles  added: added_tokens.json, ids by text
 */
/** A token that is searched in a text before it is cut. @typedef {{id?: number, content: string} & Json} Added */

/** Names of the special tokens, in the order in which transformers adds them. */
const NAMED = 'bos_token eos_token unk_token sep_token pad_token cls_token mask_token'.split(' ');
/** Longest list of tokens that a side file may add. */
const MAX_ADDED = 1 << 16;

/**
 * What a class of tokenizers fixes: the names of its special tokens, and the parts of its tokenizer.json.
 * @typedef {object} TokenizerClass
 * @property {Record<string, string>} tokens
 * @property {boolean} [pieces]  its files are a tokenizer.model
 * @property {(settings: Json) => Json} parts  normalizer, pre_tokenizer, decoder, and fields of the model
 * @property {boolean} [around]  bos and eos are put around each text
 */
const byteLevel = (/** @type {Json} */ more) => ({ type: 'ByteLevel', trim_offsets: true, use_regex: true, ...more });
const SPACE = '\u2581';
const unspaced = [
  { type: 'Replace', pattern: { String: SPACE }, content: ' ' },
  { type: 'ByteFallback' },
  { type: 'Fuse' },
];
const endOfText = { bos_token: '<|endoftext|>', eos_token: '<|endoftext|>', unk_token: '<|endoftext|>' };
const QWEN_WORDS =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" +
  '\\s+(?!\\S)|\\s+';

/** @type {Record<string, TokenizerClass>} */
const CLASSES = {
  GPT2: {
    tokens: endOfText,
    parts: ({ add_prefix_space: prefix = false }) => ({
      pre_tokenizer: byteLevel({ add_prefix_space: prefix === true }),
      decoder: byteLevel({ add_prefix_space: true }),
    }),
  },
  Roberta: {
    tokens: {
      ...{ bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>', sep_token: '</s>' },
      ...{ pad_token: '<pad>', cls_token: '<s>', mask_token: '<mask>' },
    },
    around: true,
    parts: ({ add_prefix_space: prefix = false }) => ({
      pre_tokenizer: byteLevel({ add_prefix_space: prefix === true }),
      decoder: byteLevel({ add_prefix_space: true }),
    }),
  },
  Qwen2: {
    tokens: { eos_token: '<|endoftext|>', unk_token: '<|endoftext|>', pad_token: '<|endoftext|>' },
    parts: () => ({
      normalizer: { type: 'NFC' },
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Split', pattern: { Regex: QWEN_WORDS }, behavior: 'Isolated', invert: false },
          byteLevel({ add_prefix_space: false, use_regex: false }),
        ],
      },
      decoder: byteLevel({ add_prefix_space: true }),
    }),
  },
  Llama: {
    tokens: { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>' },
    pieces: true,
    parts: ({ legacy, add_prefix_space: prefix = true }) => ({
      pre_tokenizer: {
        type: 'Metaspace',
        replacement: SPACE,
        prepend_scheme: prefix ? (legacy === true ? 'always' : 'first') : 'never',
        split: false,
      },
      decoder: {
        type: 'Sequence',
        decoders: [...unspaced, ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : [])],
      },
    }),
  },
  Gemma: {
    tokens: {
      ...{ bos_token: '<bos>', eos_token: '<eos>', unk_token: '<unk>' },
      ...{ pad_token: '<pad>', mask_token: '<mask>' },
    },
    pieces: true,
    parts: () => ({
      normalizer: { type: 'Replace', pattern: { String: ' ' }, content: SPACE },
      pre_tokenizer: { type: 'Split', pattern: { String: ' ' }, behavior: 'MergedWithPrevious', invert: false },
      decoder: { type: 'Sequence', decoders: unspaced },
    }),
  },
};
/** Classes with the files of another one. @type {Record<string, string>} */
const ALIKE = {
  ...{
    CodeGen: 'GPT2',
    OPT: 'GPT2',
    GPTNeo: 'GPT2',
    GPTNeoX: 'GPT2',
    Bart: 'Roberta',
    Longformer: 'Roberta',
    Mistral: 'Llama',
  },
  ...{ Qwen3: 'Qwen2', Mixtral: 'Llama' },
};

/**
 * The class of a tokenizer, by its name or by the family of the model.
 * @param {Json} settings
 * @param {unknown} type  model_type
 * @returns {[name: string, isNamed: boolean]}
 */
function className({ tokenizer_class: given }, type) {
  const own = typeof given === 'string' ? given.replace(/Tokenizer(Fast)?$/, '') : '';
  const name =
    own ||
    String(type)
      .replace(/^(gpt2|gpt_neo|opt)$/, 'GPT2')
      .replace(/^(llama|mistral|mixtral)$/, 'Llama');
  const known = own ? name : name.replace(/^gemma\d?(_text)?$/, 'Gemma').replace(/^qwen[23](_moe)?$/, 'Qwen2');
  return [known.replace(/^(roberta|bart|longformer)$/, 'Roberta'), own !== ''];
}

/** The text of a special token, which is a text or an object with one. @param {any} token */
const textOf = (token) => (typeof (token?.content ?? token) === 'string' ? (token?.content ?? token) : undefined);

/**
 * The texts of the special tokens, for a chat template. null stands for none.
 * @param {Json | null} settings
 * @returns {Record<string, string>}
 */
export function specialTexts(settings) {
  const texts = NAMED.map((name) => [name, settings?.[name] === null ? '' : textOf(settings?.[name])]);
  return Object.fromEntries(texts.filter(([, text]) => text !== undefined));
}

/**
 * A token as tokenizer.json lists it.
 * @param {any} token
 * @param {boolean} special
 * @returns {Added | null}
 */
function added(token, special) {
  const content = textOf(token);
  if (!content) return null;
  const flags = typeof token === 'object' ? token : {};
  return {
    content,
    special: special || flags.special === true,
    normalized: flags.normalized ?? !(special || flags.special === true),
    ...Object.fromEntries(['lstrip', 'rstrip', 'single_word'].map((flag) => [flag, flags[flag] === true])),
  };
}

/**
 * The tokens that the side files add, in the order in which transformers adds them.
 * @param {SideFiles} files
 * @returns {Added[]}
 */
function tokensOf({ settings, added: ids }) {
  const { added_tokens_decoder: decoder } = settings;
  const named = new Set(NAMED.map((name) => textOf(settings[name])));
  const numbered = Object.entries(decoder ?? ids ?? {}).map(([key, value]) =>
    decoder ? { id: Number(key), token: value } : { id: Number(value), token: key },
  );
  if (numbered.length > MAX_ADDED)
    fail('bad-tokenizer', `${numbered.length} added tokens, at most ${MAX_ADDED} are read`);
  numbered.sort((a, b) => a.id - b.id);
  const further = settings.extra_special_tokens ?? settings.additional_special_tokens ?? [];
  const list = [
    ...numbered.map(({ token }) => added(token, named.has(textOf(token)))),
    ...NAMED.map((name) => added(settings[name], true)),
    ...Object.values(further).map((token) => added(token, true)),
  ];
  const seen = new Set();
  return list.flatMap((token) => {
    if (!token || seen.has(token.content)) return [];
    seen.add(token.content);
    return [token];
  });
}

/**
 * A tokenizer.json with `add_prefix_space` of tokenizer_config.json, which the classes with GPT-2's pre-tokenizer put
 * in place of that in the file; their default is false.
 * @param {any} json  tokenizer.json
 * @param {Json} settings
 */
function withPrefixSpace(json, settings) {
  const [name, isNamed] = className(settings, null);
  const own = json.pre_tokenizer;
  if (!isNamed || own?.type !== 'ByteLevel' || !['GPT2', 'Roberta'].includes(ALIKE[name] ?? name)) return json;
  return { ...json, pre_tokenizer: { ...own, add_prefix_space: settings.add_prefix_space === true } };
}

/**
 * A tokenizer.json with the tokens that stand in the side files alone. A token of the vocabulary keeps its id, others
 * follow the last one; those for which the model has no row are left out, and a warning says so.
 * @param {any} json  tokenizer.json
 * @param {SideFiles} files
 * @param {number} rows  of the embedding
 * @param {string[]} warnings  appended to
 */
export function withSideTokens(json, files, rows, warnings) {
  const own = Array.isArray(json?.added_tokens) ? json.added_tokens : [];
  const vocab = json?.model?.vocab;
  if (vocab === null || typeof vocab !== 'object') return json; // which is then refused
  const known = new Set(own.map((/** @type {any} */ token) => token?.content));
  const ids =
    tokenTextsOf(vocab) ??
    (Array.isArray(vocab)
      ? new Map(vocab.map((entry, id) => [Array.isArray(entry) ? entry[0] : entry, id]))
      : new Map(Object.entries(vocab)));
  const most = ids instanceof Map ? [...ids.values()] : [ids.size - 1];
  let next = [...most, ...own.map((/** @type {any} */ t) => t?.id)].reduce((m, id) => Math.max(m, id ?? 0), -1) + 1;
  /** @type {string[]} */
  const left = [];
  const more = tokensOf(files).flatMap((token) => {
    if (known.has(token.content)) return [];
    const id = ids.get(token.content) ?? next;
    if (!isId(id) || id >= rows) {
      left.push(token.content);
      return [];
    }
    if (id === next) next++;
    return [{ ...token, id }];
  });
  if (left.length)
    warnings.push(
      "tokens of the tokenizer's files have no row in the model, and were left out: " +
        left.slice(0, 20).map(show).join(', '),
    );
  const whole = withPrefixSpace(json, files.settings);
  return more.length ? { ...whole, added_tokens: [...own, ...more] } : whole;
}

/**
 * What is put around each text.
 * @param {TokenizerClass} kind
 * @param {Json} settings
 * @param {Added[]} tokens
 */
function around({ around: always }, { add_bos_token: bos, add_eos_token: eos, bos_token, eos_token }, tokens) {
  const special = (/** @type {any} */ token) => tokens.find(({ content }) => content === textOf(token));
  const [before, after] = [always || bos ? special(bos_token) : null, always || eos ? special(eos_token) : null];
  if (!before && !after) return null;
  const piece = (/** @type {Added | null | undefined} */ token) =>
    token ? [{ SpecialToken: { id: token.content, type_id: 0 } }] : [];
  const single = [...piece(before), { Sequence: { id: 'A', type_id: 0 } }, ...piece(after)];
  const used = [before, after].flatMap((token) => token ?? []);
  return {
    type: 'TemplateProcessing',
    single,
    pair: [...single, { Sequence: { id: 'B', type_id: 0 } }],
    special_tokens: Object.fromEntries(
      used.map(({ content, id }) => [content, { id: content, ids: [id], tokens: [content] }]),
    ),
  };
}

/**
 * A tokenizer.json of a model of merges.
 * @param {Json} model
 * @param {TokenizerClass} kind
 * @param {SideFiles} files
 * @param {number} rows
 * @param {string[]} warnings
 * @param {Added[]} [own]  tokens that the vocabulary marks as special
 */
function assembled(model, kind, files, rows, warnings, own = []) {
  const settings = { ...kind.tokens, ...files.settings };
  const bare = {
    ...{ version: '1.0', truncation: null, padding: null, normalizer: null, ...kind.parts(settings) },
    ...{ added_tokens: own, post_processor: null },
    model: { type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, ...model },
  };
  const json = withSideTokens(bare, { ...files, settings }, rows, warnings);
  return { ...json, post_processor: around(kind, settings, json.added_tokens) };
}

/**
 * A tokenizer of vocab.json and merges.txt, such as GPT-2's.
 * @param {any} vocab  ids by text
 * @param {string} merges  a pair a line, best first
 * @param {SideFiles} files
 * @param {{type: unknown, rows: number, where: string, warnings: string[]}} model  type: model_type
 */
export function mergesTxtJson(vocab, merges, files, { type, rows, where, warnings }) {
  const isFine =
    vocab !== null && typeof vocab === 'object' && !Array.isArray(vocab) && Object.values(vocab).every(isId);
  if (!isFine) fail('bad-tokenizer', `${where}: vocab.json: expected an object of ids`);
  const pairs = merges
    .split(/\r?\n/)
    .filter((line, i) => line && !(i === 0 && line.startsWith('#version')))
    .map((line) => line.split(' '));
  const odd = pairs.find((pair) => pair.length !== 2);
  if (odd) fail('bad-tokenizer', `${where}: merges.txt: ${show(odd.join(' '))} is not a pair`);
  const [name, isNamed] = className(files.settings, type);
  const { [ALIKE[name] ?? name]: found } = CLASSES;
  const kind = found && !found.pieces ? found : CLASSES.GPT2;
  if (isNamed && kind !== found)
    warnings.push(`${where}: tokenizer_class ${show(files.settings.tokenizer_class)} is read like GPT2Tokenizer`);
  return assembled({ vocab, merges: pairs, fuse_unk: false, byte_fallback: false }, kind, files, rows, warnings);
}

/**
 * A tokenizer of a SentencePiece model: of the kind BPE for a class that is known, such as Llama's, as transformers
 * reads it, of others by SentencePiece's own rules, with a warning.
 * @param {Uint8Array} bytes  tokenizer.model
 * @param {SideFiles} files
 * @param {{type: unknown, rows: number, where: string, warnings: string[]}} model  type: model_type
 */
export function piecesJson(bytes, files, { type, rows, where, warnings }) {
  const pieces = readPieces(bytes, where);
  const [name, isNamed] = className(files.settings, type);
  const { [ALIKE[name] ?? name]: kind } = CLASSES;
  const isPlain = !pieces.charsmap && !pieces.single && pieces.prefix;
  const lacks =
    pieces.kind !== 'BPE'
      ? 'its kind is not BPE'
      : !kind?.pieces
        ? `the class ${show(files.settings.tokenizer_class ?? type)} is not known with such a file`
        : !isNamed && !isPlain
          ? 'it normalises texts, and there is no tokenizer_class'
          : null;
  if (lacks !== null) {
    warnings.push(`${where}: read by SentencePiece's own rules, because ${lacks}`);
    const { add_bos_token: addBos = false, add_eos_token: addEos = false } = files.settings;
    return sentencePieceTokenizer(bytes, where, { addBos: addBos === true, addEos: addEos === true });
  }
  const own = pieces.texts.flatMap((content, id) => {
    const { [id]: each } = pieces.types;
    const special = each === CONTROL || each === UNKNOWN;
    return special || each === USER_DEFINED ? [{ ...added(content, special), id, normalized: false }] : [];
  });
  const vocab = Object.fromEntries(pieces.texts.map((text, id) => [text, id]));
  const model = { vocab, merges: mergesOf(pieces), fuse_unk: true, byte_fallback: true };
  return assembled(model, kind, files, rows, warnings, /** @type {Added[]} */ (own));
}
