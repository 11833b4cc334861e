// random_tokenizers.js - tokenizer.json files of random components with random options
import { hardTexts, randomText } from './hard_texts.js';

/** @import { Random } from './mutate.js' */

const bool = (r) => r.below(2) === 1;
const SPLITS = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'];
const PATTERNS = [
  '\\s+|\\d',
  '\\p{L}+',
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  '[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|\\s+',
  '\\w+|[^\\w\\s]+',
  '[[:punct:]]|[[:upper:]]+',
  '\\b',
  '(?<=a)b?',
  '^.|.$',
  'a*',
  '.++',
  '(?i)HELLO|é',
  '[a-z&&[^aeiou]]+',
  '\\p{Han}|\\p{^L}{2}',
  '\\h{2}',
  '(?>a+)b|\\Aa',
  '\\R|\\x{4e2d}',
  '[\\w.-]+@|\\S\\s',
  '(?m:a.)|\\z',
  '[^[:space:]]+?x',
];

const pattern = (r) =>
  bool(r) ? { String: r.of([' ', 'a', '-', 'Σ', '中', '.', '', '\u0301', '▁', 'll']) } : { Regex: r.of(PATTERNS) };

/**
 * A pattern that matches at least one character: what a normalizer of the library puts before a text in place of nothing
 * has no place in the text, and the next step writes the first characters twice.
 */
function matching(r) {
  for (;;) {
    const one = pattern(r);
    if (one.String || (one.Regex && !/^(\\b|a\*|\(\?<=a\)b\?|\(\?m:a\.\)\|\\z)$/.test(one.Regex))) return one;
  }
}

const NORMALIZERS = {
  BertNormalizer: (r) => ({
    clean_text: bool(r),
    handle_chinese_chars: bool(r),
    strip_accents: r.of([null, true, false]),
    lowercase: bool(r),
  }),
  ByteLevel: () => ({}),
  Lowercase: () => ({}),
  NFC: () => ({}),
  NFD: () => ({}),
  NFKC: () => ({}),
  NFKD: () => ({}),
  Nmt: () => ({}),
  Prepend: (r) => ({ prepend: r.of(['▁', ' ', 'xy']) }),
  Replace: (r) => ({ pattern: matching(r), content: r.of(['', ' ', '▁', '$&$1', 'é', 'ab']) }),
  Strip: (r) => ({ strip_left: bool(r), strip_right: bool(r) }),
  StripAccents: () => ({}),
};

const metaspace = (r) => ({
  replacement: r.of(['▁', '▁', '▁', '_', 'x', '𝐀']),
  prepend_scheme: r.of(['always', 'first', 'never']),
  split: bool(r),
});

const PRE_TOKENIZERS = {
  BertPreTokenizer: () => ({}),
  ByteLevel: (r) => ({ add_prefix_space: bool(r), trim_offsets: true, use_regex: bool(r) }),
  CharDelimiterSplit: (r) => ({ delimiter: r.of([' ', 'a', '中', '😁']) }),
  Digits: (r) => ({ individual_digits: bool(r) }),
  FixedLength: (r) => ({ length: 1 + r.below(6) }),
  Metaspace: metaspace,
  Punctuation: (r) => ({ behavior: r.of(SPLITS) }),
  Split: (r) => ({ pattern: pattern(r), behavior: r.of(SPLITS), invert: bool(r) }),
  Whitespace: () => ({}),
  WhitespaceSplit: () => ({}),
};

const DECODERS = {
  BPEDecoder: (r) => ({ suffix: r.of(['</w>', 'a', '▁']) }),
  ByteFallback: () => ({}),
  ByteLevel: () => ({ add_prefix_space: true, trim_offsets: true, use_regex: true }),
  CTC: (r) => ({ pad_token: r.of(['<pad>', 'a']), word_delimiter_token: r.of(['|', '▁', ' ']), cleanup: bool(r) }),
  Fuse: () => ({}),
  Metaspace: metaspace,
  Replace: (r) => ({ pattern: pattern(r), content: r.of(['', ' ', '$&', 'b']) }),
  Strip: (r) => ({ content: r.of([' ', 'a', '▁']), start: r.below(3), stop: 0 }),
  WordPiece: (r) => ({ prefix: r.of(['##', '▁', '']), cleanup: bool(r) }),
};

/**
 * One component of a table, several in a Sequence, or none.
 * @param {Random} r
 * @param {Record<string, (r: Random) => object>} table
 * @param {string} list  the option of a Sequence
 */
function components(r, table, list) {
  const one = () => {
    const type = r.of(Object.keys(table));
    return { type, ...table[type](r) };
  };
  const n = r.of([0, 1, 1, 1, 2, 3]);
  if (n === 0) return null;
  if (n === 1) return one();
  return { type: 'Sequence', [list]: Array.from({ length: n }, one) };
}

const byteTokens = (some) =>
  Array.from({ length: 256 }, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`).filter(some);

/** The characters of a byte-level vocabulary. */
const byteLevel = Array.from({ length: 256 }, (_, b) => b);
let next = 256;
const byteCharacters = byteLevel.map((b) =>
  String.fromCharCode((b > 32 && b < 127) || (b > 160 && b !== 173) ? b : next++),
);
const asBytes = (text) => Array.from(Buffer.from(text), (b) => byteCharacters[b]).join('');

/** Pieces of texts, as characters that stand for bytes or as they are. */
function pieces(r, n, isByteLevel, longest) {
  const out = new Set();
  for (let i = 0; i < 4 * n && out.size < n; i++) {
    const text = r.below(3) ? r.of(hardTexts).toWellFormed() : randomText(r).toWellFormed();
    const all = Array.from(isByteLevel ? asBytes(text) : r.below(2) ? text.replaceAll(' ', '▁') : text.toLowerCase());
    const from = r.below(all.length + 1);
    const piece = all.slice(from, from + 1 + r.below(longest)).join('');
    if (piece) out.add(piece);
  }
  return [...out];
}

const vocabOf = (tokens) => Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id]));

function bpe(r, isByteLevel) {
  const affixed = !isByteLevel && r.below(5) === 0;
  const prefix = affixed && bool(r) ? r.of(['##', '@', 'é']) : null;
  const suffix = affixed && bool(r) ? r.of(['</w>', 'é']) : null;
  const fallback = isByteLevel ? 0 : r.below(3);
  const characters = new Set(isByteLevel ? byteCharacters : pieces(r, 150, false, 1));
  const tokens = ['<unk>', ...(fallback ? byteTokens((_, b) => fallback === 1 || b % 3) : []), ...characters];
  const starts = [...characters];
  const rest = starts.map((c) => (prefix ?? '') + c);
  tokens.push(...rest, ...starts.map((c) => c + (suffix ?? '')), ...rest.map((c) => c + (suffix ?? '')));
  const merges = [];
  const whole = pieces(r, 120, isByteLevel, 6).map((piece) => Array.from(piece));
  for (const letters of whole) {
    let [left, ...others] = letters.filter((c) => characters.has(c));
    for (const [i, c] of others.entries()) {
      const isLast = suffix !== null && i === others.length - 1;
      const right = (prefix ?? '') + c + (isLast ? suffix : '');
      const union = left + c + (isLast ? suffix : '');
      tokens.push(union);
      merges.push(bool(r) && !`${left}${right}`.includes(' ') ? `${left} ${right}` : [left, right]);
      left = union;
    }
  }
  if (merges.some((m) => typeof m === 'string') && merges.some((m) => typeof m !== 'string'))
    merges.forEach((m, i) => typeof m === 'string' && (merges[i] = m.split(' ')));
  return {
    type: 'BPE',
    dropout: null,
    unk_token: isByteLevel ? null : r.of(['<unk>', '<unk>', null]),
    continuing_subword_prefix: prefix,
    end_of_word_suffix: suffix,
    fuse_unk: bool(r),
    byte_fallback: fallback > 0,
    ignore_merges: bool(r),
    vocab: vocabOf(tokens),
    merges: r.below(2) ? merges : merges.sort(() => r.below(3) - 1),
  };
}

const MODELS = {
  'byte-level BPE': (r) => bpe(r, true),
  BPE: (r) => bpe(r, false),
  Unigram(r) {
    const fallback = r.below(3);
    const tokens = ['<unk>', ...pieces(r, 120, false, 1), ...pieces(r, 200, bool(r), 8)];
    tokens.push(...(fallback ? byteTokens((_, b) => fallback === 1 || b % 3) : []));
    const unique = r.below(4) ? [...new Set(tokens)] : tokens;
    const vocab = unique.map((token, id) => [token, id ? -(1 + r.below(200) / 16) : 0]);
    return { type: 'Unigram', unk_id: 0, byte_fallback: fallback > 0, vocab };
  },
  WordPiece(r) {
    const prefix = r.of(['##', '##', '@', '']);
    const own = [...pieces(r, 150, false, 1), ...pieces(r, 150, false, 6)];
    return {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: prefix,
      max_input_chars_per_word: r.of([100, 100, 5, 0, 1000000]),
      vocab: vocabOf(['[UNK]', ...own, ...own.map((piece) => prefix + piece)]),
    };
  },
  WordLevel: (r) => ({
    type: 'WordLevel',
    unk_token: '<unk>',
    vocab: vocabOf(['<unk>', ...pieces(r, 300, bool(r), 7)]),
  }),
};

const CONTENTS = [
  '<s>', '</s>', '[CLS]', '[MASK]', '<pad>', 'hello', 'Hello', 'a', 'é', 'Ġ', '中', ' ', '\n', '▁', 'Σ', 'world', 'll',
  'e\u0301', '<unk>', '😁', '[UNK]', 'ab', 'the', '.', '_', 'ß',
]; // prettier-ignore

function added(r) {
  const contents = new Set(Array.from({ length: r.below(6) }, () => r.of(CONTENTS)));
  return [...contents].map((content, i) => ({
    id: 1000 + i,
    content,
    single_word: r.below(3) === 0,
    lstrip: r.below(3) === 0,
    rstrip: r.below(3) === 0,
    normalized: bool(r),
    special: bool(r),
  }));
}

const special = (id, type_id) => ({ SpecialToken: { id, type_id } });
const text = (id, type_id) => ({ Sequence: { id, type_id } });
function template(r) {
  const ids = { X: [3], Y: [4, 5, 6], 'a b': [0] };
  const tokens = Object.entries(ids).map(([id, list]) => [id, { id, ids: list, tokens: list.map(String) }]);
  const names = () => Array.from({ length: r.below(3) }, () => special(r.of(Object.keys(ids)), r.below(3)));
  return {
    type: 'TemplateProcessing',
    single: [...names(), text('A', r.below(3)), ...names()],
    pair: [...names(), text(r.of(['A', 'B']), r.below(2)), ...names(), text('B', 1), ...names()],
    special_tokens: Object.fromEntries(tokens),
  };
}

const PROCESSORS = {
  BertProcessing: () => ({ sep: ['[SEP]', 4], cls: ['[CLS]', 3] }),
  ByteLevel: (r) => ({ add_prefix_space: bool(r), trim_offsets: bool(r), use_regex: bool(r) }),
  RobertaProcessing: (r) => ({ sep: ['</s>', 2], cls: ['<s>', 0], trim_offsets: bool(r), add_prefix_space: bool(r) }),
  TemplateProcessing: template,
};

function processor(r) {
  const types = Object.keys(PROCESSORS);
  const one = (type = r.of(types)) => ({ type, ...PROCESSORS[type](r) });
  const n = r.below(6);
  if (n === 0) return null;
  return n < 4 ? one() : { type: 'Sequence', processors: [one('ByteLevel'), one()] };
}

/**
 * A tokenizer.json.
 * @param {Random} r
 */
export function randomTokenizer(r) {
  const kind = r.of(Object.keys(MODELS));
  const isByteLevel = kind.startsWith('byte');
  const bytes = { type: 'ByteLevel', ...PRE_TOKENIZERS.ByteLevel(r) };
  const pre = components(r, PRE_TOKENIZERS, 'pretokenizers');
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added(r),
    normalizer: components(r, NORMALIZERS, 'normalizers'),
    pre_tokenizer: isByteLevel && r.below(4) ? (pre ? { type: 'Sequence', pretokenizers: [pre, bytes] } : bytes) : pre,
    post_processor: processor(r),
    decoder:
      isByteLevel && bool(r) ? { type: 'ByteLevel', ...DECODERS.ByteLevel(r) } : components(r, DECODERS, 'decoders'),
    model: MODELS[kind](r),
  };
}
