// gguf_vocab.js - converts the vocabulary of a GGUF to the form of a tokenizer.json
//
// A GGUF holds a byte-level BPE ("gpt2": tokens, merges, the name of a split pattern), a SentencePiece BPE ("llama":
// tokens with scores, no merges), like llama2.c's tokenizer.bin, or a SentencePiece Unigram ("t5"). The second merges
// the neighbours whose union has the best score, as BPE does with merges that are ranked by this score
// (sentencepiece_vocab.js).
import { fail, show } from '../../base/errors.js';
import { piecesJson, sentencePieceJson } from './sentencepiece_vocab.js';
import { CONTROL, NORMAL, USER_DEFINED, sharedFields } from './tokenizer_json.js';
import { Texts, TokenTexts } from './packed_texts.js';

/** The reader of WordPiece, which only encoders have. */
export const wordPiece = () => import('./wordpiece.js');

/** @import { VocabularyBase } from './tokenizer_json.js' */
/**
 * The id of a special token in the metadata, checked.
 * @typedef {(key: string, fallback: number | null) => number | null} IdOf
 */
/** @typedef {{json: object, special: {bos: number | null, eos: number[], addBos: boolean}}} Vocabulary */

const GPT2_SPLIT = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const SUFFIX = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SPACES = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
/**
 * The split pattern of Llama 3 and Qwen 2.
 * @param {string} digits  pattern of a group of digits
 */
const llama3Pattern = (digits) =>
  `${SUFFIX}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${SPACES}`;
/**
 * The split pattern of GPT-4o and Mistral Nemo: a word ends where a capital follows small letters.
 * @param {string} suffix  what may follow a word
 * @param {string} digits
 */
function casedPattern(suffix, digits) {
  const [upper, lower] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'];
  const before = '[^\\r\\n\\p{L}\\p{N}]?';
  const words = `${before}${upper}*${lower}+${suffix}|${before}${upper}+${lower}*${suffix}`;
  return `${words}|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`;
}

/**
 * Split patterns by the names of llama.cpp. The patterns of a list are applied one after the other.
 * @type {Record<string, string[]>}
 */
export const SPLITS = {
  'gpt-2': [GPT2_SPLIT],
  'llama-bpe': [llama3Pattern('\\p{N}{1,3}')],
  qwen2: [llama3Pattern('\\p{N}')],
  refact: ['\\p{N}', GPT2_SPLIT],
  tekken: [casedPattern('', '\\p{N}')],
  'gpt-4o': [casedPattern(`${SUFFIX}?`, '\\p{N}{1,3}')],
  bloom: [' ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+'],
  default: ['[\\p{P}\\$\\+<=>\\^~\\|]+', GPT2_SPLIT.slice(0, -4), '\\p{N}+', '[0-9][0-9][0-9]'],
};
/**
 * Further names of llama.cpp for these patterns.
 * @type {Record<string, string>}
 */
const ALIASES = {
  'gpt-2': 'phi-2 olmo mpt jais exaone4 roberta-bpe',
  'llama-bpe': 'llama3 llama-v3 falcon3 pixtral lfm2 dbrx smaug-bpe glm4 chatglm-bpe',
  qwen2: 'stablelm2 deepseek-r1-qwen megrez hunyuan',
  refact: 'starcoder command-r smollm codeshell exaone minerva-7b',
  'gpt-4o': 'llama4',
  bloom: 'poro-chat',
};
/** Patterns whose tokenizers take a word that is a token as it is, and put a begin token before a text. */
export const WHOLE_WORDS = ['llama-bpe', 'tekken'];
/** Names for such a pattern in other tokenizers. */
export const PATTERN_ONLY = ['dbrx', 'smaug-bpe', 'glm4', 'chatglm-bpe'];

/** The special tokens by the kind of vocabulary, where the metadata does not name them. */
export const SPECIAL = /** @type {Record<string, {bos?: number, eos?: number, unknown?: number}>} */ ({
  llama: { bos: 1, eos: 2, unknown: 0 },
  t5: { eos: 1, unknown: 2 },
  gpt2: {},
  bert: {},
});

/** Texts of control tokens that end a turn, where the metadata names no token for it; as in llama.cpp. */
export const ENDS = (
  '<|eot_id|> <|im_end|> <|end|> <|eom_id|> <|endoftext|> <|end_of_text|> <end_of_turn> <end_of_utterance> ' +
  '<EOT> _<EOT> <|return|> <|call|> <|flush|> <|calls|> [EOT] [EOS] <eos> <turn|> <|tool_response> ' +
  '<｜end▁of▁sentence｜> </s>'
).split(' ');

/**
 * The tokens that end a turn by their texts. Where others end a message of several parts, <|end|> ends a part.
 * @param {(text: string) => number | null} idOf  of a control token
 * @returns {number[]}
 */
export function endsByText(idOf) {
  const has = (/** @type {string} */ text) => idOf(text) !== null;
  const isParted = (has('<|return|>') && has('<|call|>')) || (has('<|calls|>') && has('<|flush|>'));
  return ENDS.flatMap((text) => (isParted && text === '<|end|>' ? [] : (idOf(text) ?? [])));
}

/**
 * The vocabulary in the metadata of a GGUF.
 * @param {string} where  file name, for messages
 * @param {Map<string, any>} meta
 * @param {string[]} [warnings]  appended to
 * @returns {Promise<Vocabulary | null>} null where the file has no vocabulary
 */
export async function ggufTokenizer(where, meta, warnings = []) {
  /** @param {string} key */
  const get = (key) => meta.get(`tokenizer.ggml.${key}`);
  const kind = get('model');
  if (kind === undefined || kind === 'none' || kind === 'no_vocab') return null;
  if (kind !== 'gpt2' && kind !== 'llama' && kind !== 't5' && kind !== 'bert')
    fail('unsupported', `${where}: the tokenizer ${show(kind)} is not supported, expected gpt2, llama, t5 or bert`);
  const refuse = refusal(where);
  const tokens = get('tokens');
  if (!(tokens instanceof Texts) || !tokens.length) return refuse('tokenizer.ggml.tokens is missing');
  const types = get('token_type') ?? new Int32Array(tokens.length).fill(NORMAL);
  if (types.length !== tokens.length)
    refuse(`tokenizer.ggml.token_type has ${types.length} entries for ${tokens.length} tokens`);
  /** @type {IdOf} */
  const id = (key, fallback) => {
    const value = get(`${key}_token_id`) ?? fallback;
    if (value !== null && !(Number.isInteger(value) && value >= 0 && value < tokens.length))
      refuse(`tokenizer.ggml.${key}_token_id is ${show(value)}, the vocabulary has ${tokens.length} tokens`);
    return value;
  };
  const texts = new TokenTexts(tokens);
  const usual = SPECIAL[/** @type {string} */ (kind)];
  const [bos, end] = [id('bos', usual.bos ?? null), id('eos', usual.eos ?? null)];
  if (kind === 'bert') return bertVocabulary(where, tokens, types, id, bos, end);
  const pre = String(get('pre') ?? 'gpt-2');
  const whole = !PATTERN_ONLY.includes(pre) && WHOLE_WORDS.includes(splitName(pre) ?? '');
  const addBos = bos !== null && (get('add_bos_token') ?? (kind === 'llama' || (kind === 'gpt2' && whole))) === true;
  const addEos = end !== null && (get('add_eos_token') ?? kind === 't5') === true;

  // no key says it, and llama.cpp knows these models by the same name
  const trims = /phi-?3/i.test(String(meta.get('general.name') ?? ''));
  const base = { texts, types, bos: addBos ? bos : null, eos: addEos ? end : null, trims };
  const special = { bos, eos: endTokens(texts, types, id, end), addBos };
  if (kind === 'gpt2') return { json: mergesJson(base, get('merges'), pre, whole, where, warnings), special };
  const scores = scoresOf(get('scores'), tokens.length, refuse);
  const unk = id('unknown', usual.unknown ?? null) ?? 0;
  const pieces = { ...base, scores, unk, prefix: get('add_space_prefix') !== false };
  if (kind === 'llama') return { json: sentencePieceJson(pieces), special };
  const single = get('remove_extra_whitespaces') === true;
  const table = get('precompiled_charsmap');
  const charsmap = isList(table) && table.length > 0 ? Uint8Array.from(/** @type {any} */ (table), Number) : null;
  return { json: piecesJson({ ...pieces, kind: 'Unigram', single, charsmap }), special };
}

/**
 * A function that throws the error for a vocabulary that cannot be used.
 * @param {string} where  file name
 * @returns {(why: string) => never}
 */
const refusal = (where) => (why) => fail('bad-tokenizer', `${where}: ${why}`);

/**
 * The WordPiece vocabulary of an encoder.
 * @param {string} where  file name, for messages
 * @param {Texts} tokens
 * @param {ArrayLike<number>} types
 * @param {IdOf} id
 * @param {number | null} bos
 * @param {number | null} end
 * @returns {Promise<Vocabulary>}
 */
async function bertVocabulary(where, tokens, types, id, bos, end) {
  const cls = id('cls', bos);
  const sep = id('seperator', id('separator', end)); // llama.cpp's spelling
  const { ggufWordPiece } = await wordPiece();
  const ids = { unk: id('unknown', null), cls, sep, pad: id('padding', null), mask: id('mask', null) };
  return {
    json: ggufWordPiece(where, tokens.toArray(), types, ids),
    special: { bos: cls, eos: [sep].filter((n) => n !== null), addBos: true },
  };
}

/**
 * The tokens that end a text, each once: those that the metadata names, and control tokens with a text of ENDS.
 * @param {TokenTexts} texts
 * @param {ArrayLike<number>} types
 * @param {IdOf} id
 * @param {number | null} end
 * @returns {number[]}
 */
function endTokens(texts, types, id, end) {
  const byText = endsByText((text) => {
    const n = texts.get(text) ?? -1;
    // a word of HTML in Gemma's vocabulary
    return types[n] === CONTROL || (types[n] === USER_DEFINED && text !== '</s>') ? n : null;
  });
  return [...new Set([end, id('eot', null), id('eom', null), ...byText].filter((n) => n !== null))];
}

/**
 * The scores of a vocabulary, checked.
 * @param {any} list
 * @param {number} n  tokens
 * @param {(why: string) => never} refuse
 * @returns {ArrayLike<number>}
 */
function scoresOf(list, n, refuse) {
  if (!isList(list) || list.length !== n)
    refuse(`tokenizer.ggml.scores has ${list?.length ?? 0} entries for ${n} tokens`);
  const scores = /** @type {ArrayLike<number>} */ (list);
  const areNumbers = list instanceof Float32Array && !list.includes(NaN);
  for (let i = 0; !areNumbers && i < n; i++)
    if (!(scores[i] <= Infinity)) refuse(`tokenizer.ggml.scores has no number at index ${i}`);
  return scores;
}

/**
 * The name in SPLITS for a name of llama.cpp; null: not known.
 * @param {string} pre
 */
const splitName = (pre) =>
  Object.keys(SPLITS).find((name) => name === pre || ALIASES[name]?.split(' ').includes(pre)) ?? null;

/**
 * Whether a value of the metadata is an array.
 * @param {unknown} value
 * @returns {value is any[] | Texts | Float32Array | Int32Array}
 */
const isList = (value) => Array.isArray(value) || value instanceof Texts || ArrayBuffer.isView(value);

/**
 * A byte-level BPE vocabulary in the form of a tokenizer.json.
 * @param {VocabularyBase} base
 * @param {unknown} merges  the value in the file
 * @param {string} pre      llama.cpp's name of the split pattern
 * @param {boolean} whole   a word that is a token is not split further
 * @param {string} where    file name, for messages
 * @param {string[]} warnings  appended to
 */
function mergesJson(base, merges, pre, whole, where, warnings) {
  const refuse = refusal(where);
  const name = splitName(pre);
  if (name === null)
    warnings.push(`${where}: tokenizer.ggml.pre ${show(pre)} is not known, texts are split as in GPT-2`);
  if (!isList(merges)) return refuse('tokenizer.ggml.merges is missing');
  const pairs = (merges instanceof Texts ? merges.toArray() : [...merges]).map((/** @type {any} */ m) => {
    const at = String(m).indexOf(' ', 1); // a token may itself begin with a space
    return at > 0 ? [m.slice(0, at), m.slice(at + 1)] : refuse(`the merge ${show(m)} is not two tokens`);
  });
  // A merge whose tokens are missing has no effect. llama.cpp accepts such files.
  const ids = new Map(base.texts.toArray().map((text, id) => [text, id]));
  const useful = pairs.filter((/** @type {string[]} */ [a, b]) => ids.has(a) && ids.has(b) && ids.has(a + b));
  return {
    ...sharedFields(base),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        ...SPLITS[name ?? 'gpt-2'].map((Regex) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated' })),
        { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
      ],
    },
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', ignore_merges: whole, vocab: Object.fromEntries(ids), merges: useful },
  };
}
