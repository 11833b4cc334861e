// wordpiece.js - WordPiece vocabularies in the form of a tokenizer.json: vocab.txt, and those of GGUF
import { fail } from '../../base/errors.js';

/**
 * Texts of the special tokens, which must be in the vocabulary where they are used.
 * @typedef {{unk: string, cls: string, sep: string, pad: string, mask: string}} SpecialTexts
 */
/** @type {SpecialTexts} */
const BERT = { unk: '[UNK]', cls: '[CLS]', sep: '[SEP]', pad: '[PAD]', mask: '[MASK]' };

/** What a word that is split into pieces has before its second and later pieces. */
export const PREFIX = '##';

/**
 * A WordPiece vocabulary.
 * @param {string[]} tokens  by id; continuing pieces begin with ##
 * @param {object} options
 * @param {Partial<SpecialTexts>} [options.texts]
 * @param {boolean} [options.lowercase]
 * @param {boolean | null} [options.stripAccents]  null: where text is lowercased
 * @param {boolean} [options.chinese]   each Chinese character is a word
 * @param {number} [options.separators] between two texts
 * @param {string} where  file name, for messages
 */
export function wordPieceJson(
  tokens,
  { texts, lowercase = true, stripAccents = null, chinese = true, separators = 1 },
  where,
) {
  const { unk, cls, sep, pad, mask } = { ...BERT, ...texts };
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const idOf = (/** @type {string} */ token) =>
    ids.get(token) ?? fail('bad-tokenizer', `${where}: the token ${token} is not in the vocabulary`);
  const special = (/** @type {string} */ id, type_id = 0) => ({ SpecialToken: { id, type_id } });
  const text = (/** @type {string} */ id, type_id = 0) => ({ Sequence: { id, type_id } });
  const between = Array.from({ length: separators }, () => special(sep));
  return {
    added_tokens: [unk, cls, sep, pad, mask]
      .filter((token, i, all) => ids.has(token) && all.indexOf(token) === i)
      .map((content) => ({ id: idOf(content), content, normalized: false, special: true })),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: chinese,
      strip_accents: stripAccents,
      lowercase,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [special(cls), text('A'), special(sep)],
      pair: [special(cls), text('A'), ...between, text('B', 1), special(sep, 1)],
      special_tokens: Object.fromEntries([cls, sep].map((t) => [t, { id: t, ids: [idOf(t)], tokens: [t] }])),
    },
    decoder: { type: 'WordPiece', prefix: PREFIX, cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: unk,
      continuing_subword_prefix: PREFIX,
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(ids),
    },
  };
}

/**
 * The tokenizer of a folder that has a vocab.txt, one token a line, and perhaps a tokenizer_config.json.
 * @param {string} text  of vocab.txt
 * @param {any} config   tokenizer_config.json, or null
 * @param {string} where file name, for messages
 */
export function vocabTxtJson(text, config, where) {
  const tokens = text.split(/\r\n|\r|\n/);
  if (tokens.at(-1) === '') tokens.pop();
  if (new Set(tokens).size !== tokens.length) fail('bad-tokenizer', `${where}: a token is there twice`);
  const c = config ?? {};
  /** @type {Partial<SpecialTexts>} */
  const texts = {};
  for (const name of /** @type {(keyof SpecialTexts)[]} */ (Object.keys(BERT))) {
    const token = c[`${name}_token`]?.content ?? c[`${name}_token`];
    if (typeof token === 'string') texts[name] = token;
  }
  return wordPieceJson(
    tokens,
    {
      texts,
      lowercase: c.do_lower_case !== false,
      stripAccents: typeof c.strip_accents === 'boolean' ? c.strip_accents : null,
      chinese: c.tokenize_chinese_chars !== false,
      separators: typeof c.tokenizer_class === 'string' && c.tokenizer_class.startsWith('MPNet') ? 2 : 1,
    },
    where,
  );
}

/** What GGUF has before the first piece of a word. */
const WORD = '\u2581';

/**
 * The WordPiece vocabulary of a GGUF. There the first piece of a word begins with U+2581, and the others have no mark;
 * tokens in brackets are no pieces.
 * @param {string} where  file name, for messages
 * @param {string[]} tokens
 * @param {ArrayLike<number>} types  of GGUF, by id
 * @param {Record<keyof SpecialTexts, number | null>} ids  of the special tokens
 */
export function ggufWordPiece(where, tokens, types, ids) {
  const pieces = tokens.map((token, id) =>
    token.startsWith(WORD)
      ? token.slice(WORD.length)
      : types[id] === 1 && !/^\[.*\]$/.test(token)
        ? PREFIX + token
        : token,
  );
  /** @type {Partial<SpecialTexts>} */
  const texts = {};
  for (const [name, id] of Object.entries(ids))
    if (id !== null) texts[/** @type {keyof SpecialTexts} */ (name)] = pieces[id];
  // The file does not say whether the model distinguishes capitals: its vocabulary does.
  const lowercase = !pieces.some((piece) => /^[A-Z][a-z]+$/.test(piece));
  return wordPieceJson(pieces, { texts, lowercase }, where);
}
