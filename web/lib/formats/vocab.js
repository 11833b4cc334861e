// vocab.js - converts the vocabulary of a GGUF to the form of a tokenizer.json
//
// A GGUF holds either a byte-level BPE ("gpt2": tokens, merges, the name of a split pattern) or a SentencePiece BPE
// ("llama": tokens with scores, no merges), like llama2.c's tokenizer.bin. SentencePiece merges the neighbours whose
// union has the best score, as BPE does with merges that are ranked by this score (pieces.js).
import { fail, show } from '../base/errors.js';
import { NORMAL, sharedFields } from './tokenizer_json.js';
import { Texts, TokenTexts } from './texts.js';

/** @typedef {import('./tokenizer_json.js').VocabularyBase} VocabularyBase */
/** @typedef {{json: object, special: {bos: number | null, eos: number[], addBos: boolean}}} Vocabulary */

const GPT2_SPLIT = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
/**
 * The split pattern of Llama 3 and Qwen 2.
 * @param {string} digits  pattern of a group of digits
 */
const llama3Pattern = (digits) =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}|` +
  ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

/**
 * Split patterns by the names of llama.cpp. The patterns of a list are applied one after the other.
 * @type {Record<string, string[]>}
 */
const SPLITS = {
  'gpt-2': [GPT2_SPLIT],
  'llama-bpe': [llama3Pattern('\\p{N}{1,3}')],
  qwen2: [llama3Pattern('\\p{N}')],
  refact: ['\\p{N}', GPT2_SPLIT],
  default: [
    '[\\p{P}\\$\\+<=>\\^~\\|]+',
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)",
    '\\p{N}+',
    '[0-9][0-9][0-9]',
  ],
};
/**
 * Further names of llama.cpp for these patterns.
 * @type {Record<string, string>}
 */
const ALIASES = {
  'phi-2': 'gpt-2',
  llama3: 'llama-bpe',
  'llama-v3': 'llama-bpe',
  'smaug-bpe': 'llama-bpe',
  starcoder: 'refact',
  smollm: 'refact',
  'command-r': 'refact',
  'deepseek-r1-qwen': 'qwen2',
};

/**
 * The vocabulary in the metadata of a GGUF.
 * @param {string} where  file name, for messages
 * @param {Map<string, any>} meta
 * @returns {Promise<Vocabulary | null>} null where the file has no vocabulary
 */
export async function ggufTokenizer(where, meta) {
  /** @param {string} key */
  const get = (key) => meta.get(`tokenizer.ggml.${key}`);
  const kind = get('model');
  if (kind === undefined || kind === 'none' || kind === 'no_vocab') return null;
  if (kind !== 'gpt2' && kind !== 'llama')
    fail('unsupported', `${where}: the tokenizer ${show(kind)} is not supported, expected gpt2 or llama`);
  /**
   * @param {string} why
   * @returns {never}
   */
  const refuse = (why) => fail('bad-tokenizer', `${where}: ${why}`);

  const tokens = get('tokens');
  if (!(tokens instanceof Texts) || !tokens.length) refuse('tokenizer.ggml.tokens is missing');
  const types = get('token_type') ?? new Int32Array(tokens.length).fill(NORMAL);
  if (types.length !== tokens.length)
    refuse(`tokenizer.ggml.token_type has ${types.length} entries for ${tokens.length} tokens`);
  /**
   * @param {string} key
   * @param {number | null} fallback
   * @returns {number | null}
   */
  const id = (key, fallback) => {
    const value = get(`${key}_token_id`) ?? fallback;
    if (value !== null && !(Number.isInteger(value) && value >= 0 && value < tokens.length))
      refuse(`tokenizer.ggml.${key}_token_id is ${show(value)}, the vocabulary has ${tokens.length} tokens`);
    return value;
  };
  const spm = kind === 'llama';
  const bos = id('bos', spm ? 1 : null);
  const ends = [id('eos', spm ? 2 : null), id('eot', null), id('eom', null)];
  const eos = [...new Set(ends.filter((n) => n !== null))];
  const pre = String(get('pre') ?? 'gpt-2');
  const name = ALIASES[pre] ?? pre;
  const addBos = bos !== null && (get('add_bos_token') ?? (spm || name === 'llama-bpe')) === true;
  const addEos = eos.length > 0 && get('add_eos_token') === true;

  const texts = new TokenTexts(tokens);
  const base = { texts, types, bos: addBos ? bos : null, eos: addEos ? eos[0] : null };
  if (spm) {
    const scores = get('scores');
    if (!isList(scores) || scores.length !== tokens.length)
      refuse(`tokenizer.ggml.scores has ${scores?.length ?? 0} entries for ${tokens.length} tokens`);
    const areNumbers = scores instanceof Float32Array && !scores.includes(NaN);
    for (let i = 0; !areNumbers && i < scores.length; i++)
      if (!(scores[i] <= Infinity)) refuse(`tokenizer.ggml.scores has no number at place ${i}`);
    const { sentencePieceJson } = await import('./pieces.js');
    return {
      json: sentencePieceJson({
        ...base,
        scores,
        unk: id('unknown', 0) ?? 0,
        prefix: get('add_space_prefix') !== false,
      }),
      special: { bos, eos, addBos },
    };
  }
  if (!Object.hasOwn(SPLITS, name)) {
    const supported = Object.keys({ ...SPLITS, ...ALIASES }).join(', ');
    fail('unsupported', `${where}: tokenizer.ggml.pre ${show(pre)} is not supported, expected one of ${supported}`);
  }
  const merges = get('merges');
  if (!isList(merges)) refuse('tokenizer.ggml.merges is missing');
  const pairs = (merges instanceof Texts ? merges.toArray() : [...merges]).map((/** @type {any} */ m) => {
    const at = String(m).indexOf(' ', 1); // a token may itself begin with a space
    return at > 0 ? [m.slice(0, at), m.slice(at + 1)] : refuse(`the merge ${show(m)} is not two tokens`);
  });
  // A merge whose tokens are missing has no effect. llama.cpp accepts such files.
  const ids = new Map(texts.toArray().map((text, id) => [text, id]));
  const useful = pairs.filter((/** @type {string[]} */ [a, b]) => ids.has(a) && ids.has(b) && ids.has(a + b));
  return {
    json: bpeJson({ ...base, ids, merges: useful, splits: SPLITS[name], ignoreMerges: name === 'llama-bpe' }),
    special: { bos, eos, addBos },
  };
}

/**
 * Whether a value of the metadata is an array.
 * @param {unknown} value
 * @returns {value is any[] | Texts | Float32Array | Int32Array}
 */
const isList = (value) => Array.isArray(value) || value instanceof Texts || ArrayBuffer.isView(value);

/**
 * A byte-level BPE vocabulary in the form of a tokenizer.json.
 * @typedef {{ids: Map<string, number>, merges: string[][], splits: string[], ignoreMerges: boolean}} BpeParts
 * @param {VocabularyBase & BpeParts} vocabulary
 */
function bpeJson({ ids, merges, splits, ignoreMerges, ...base }) {
  return {
    ...sharedFields(base),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        ...splits.map((Regex) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated' })),
        { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
      ],
    },
    decoder: { type: 'ByteLevel' },
    model: {
      type: 'BPE',
      ignore_merges: ignoreMerges,
      vocab: Object.fromEntries(ids),
      merges,
    },
  };
}
