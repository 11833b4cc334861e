// write_vocab.js - writes a tokenizer as the vocabulary of a GGUF, for write_model.js
import { fail, show } from '../../base/errors.js';
import { BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, pieceModels } from '../vocabulary/tokenizer_json.js';
import { ENDS, PATTERN_ONLY, SPECIAL, SPLITS, WHOLE_WORDS } from '../vocabulary/gguf_vocab.js';
import { bool, f32s, i32s, text, texts, u32, u8s } from './write_gguf.js';

/** @typedef {Record<string, any>} Json */
/** @import { Value } from './write_gguf.js' */
/** A vocabulary by id, of GGUF's token types. @typedef {{tokens: string[], types: number[]}} Tokens */

/** The score of a token that no text has, as in llama.cpp's converter. */
const UNUSED_SCORE = -10000;
/** What WordPiece has before the second and later pieces of a word. */
const PREFIX = '##';
const GPT2_SPLIT = SPLITS['gpt-2'][0];

/**
 * The metadata of a vocabulary.
 * @param {Json} json  in the form of a tokenizer.json
 * @param {Omit<import('../source.js').Special, 'addBos'>} special
 * @param {number} size  rows of the embedding: ids without a token become unused ones
 * @param {{chatTemplate?: string | null, toolTemplate?: string | null}} [templates]
 * @returns {Record<string, Value>}
 */
export function vocabularyMeta(json, special, size, { chatTemplate, toolTemplate } = {}) {
  const { model } = json;
  const written = pieceModels.has(model)
    ? pieces(model, json)
    : model?.type === 'Unigram'
      ? unigram(json)
      : model?.type === 'WordPiece'
        ? wordPiece(json)
        : model?.type !== 'BPE' && !(model?.merges && !model.type)
          ? unsupported(`its model is ${show(model?.type)}, expected BPE, Unigram or WordPiece`)
          : model.byte_fallback
            ? byteFallback(json)
            : byteLevel(json);
  const { kind, tokens, types, scores, more } = written;
  const merges = 'merges' in written ? written.merges : null;
  for (let id = tokens.length; id < size; id++) {
    tokens[id] = `[PAD${id}]`;
    types[id] = UNUSED;
    scores?.push(kind === 't5' ? UNUSED_SCORE : 0);
  }
  const isKnown = (/** @type {number} */ id) => types[id] !== NORMAL && ENDS.includes(tokens[id]);
  const { bos, eos: end } = specialIds(special, tokens, isKnown);
  const [eos, eot, eom, ...others] = end;
  if (!others.every(isKnown)) unsupported(`it has ${special.eos.length} end tokens, and there are keys for 3`);
  const usual = SPECIAL[kind];
  checkTexts(`${chatTemplate}${toolTemplate}`, special, tokens, [bos ?? usual.bos, eos ?? usual.eos]);
  const around = json.post_processor ? ends(json.post_processor) : [];
  const is = (/** @type {number | null | undefined} */ id, /** @type {string | undefined} */ end) =>
    typeof id === 'number' && end !== undefined && tokens[id] === end;
  /** @type {Record<string, Value | null>} */
  const meta = {
    model: text(kind),
    ...more,
    tokens: texts(tokens),
    token_type: i32s(types),
    scores: scores ? f32s(scores) : null,
    merges: merges ? texts(merges) : null,
    bos_token_id: bos === null ? null : u32(bos),
    eos_token_id: eos === undefined ? null : u32(eos),
    eot_token_id: eot === undefined ? null : u32(eot),
    eom_token_id: eom === undefined ? null : u32(eom),
    add_bos_token: bool(is(bos, around[0])),
    add_eos_token: kind === 'gpt2' && !is(eos, around[1]) ? null : bool(is(eos, around[1])),
  };
  /** @type {Record<string, Value>} */
  const out = {};
  for (const [key, value] of Object.entries(meta)) if (value) out[`tokenizer.ggml.${key}`] = value;
  if (chatTemplate) out['tokenizer.chat_template'] = text(chatTemplate);
  if (toolTemplate) out['tokenizer.chat_template.tool_use'] = text(toolTemplate);
  return out;
}

/**
 * The begin token and the end tokens of the file: first those that the tokenizer names, last those that a reader knows
 * by their texts.
 * @param {Parameters<typeof vocabularyMeta>[1]} special
 * @param {string[]} tokens  by id
 * @param {(id: number) => boolean} isKnown
 */
function specialIds({ bos, eos, texts }, tokens, isKnown) {
  const [begin, end] = [texts?.bos_token, texts?.eos_token].map((text) => (text ? tokens.indexOf(text) : -1));
  const all = eos.length || end < 0 ? eos : [end];
  const named = all.filter((id) => tokens[id] === (texts?.eos_token ?? tokens[all[0]]));
  return {
    bos: begin < 0 ? bos : begin,
    eos: [...new Set([...named, ...all.filter((id) => !isKnown(id)), ...all])],
  };
}

/**
 * Throw when a chat template would find other special tokens in the file.
 * @param {string} template
 * @param {Parameters<typeof vocabularyMeta>[1]} special  which it finds now
 * @param {string[]} tokens  by id
 * @param {(number | undefined)[]} read  begin and end token that a reader of the file takes
 */
function checkTexts(template, { bos, eos, texts }, tokens, read) {
  const textOf = (/** @type {number | null | undefined} */ id) => tokens[id ?? -1] ?? '';
  const own = [texts?.bos_token ?? textOf(bos), texts?.eos_token ?? textOf(eos[0])];
  for (const [i, key] of ['bos_token', 'eos_token'].entries())
    if (template.includes(key) && own[i] !== textOf(read[i]))
      unsupported(`its chat template has ${show(own[i])} as ${key}, and a reader takes ${show(textOf(read[i]))}`);
}

/**
 * @param {string} why
 * @returns {never}
 */
const unsupported = (why) => fail('unsupported', `the tokenizer cannot be written as GGUF: ${why}`);

/**
 * Texts of the special tokens that a post-processor puts before and after a text.
 * @param {Json} processor
 * @returns {(string | undefined)[]}
 */
function ends(processor) {
  const all = processor.type === 'Sequence' ? processor.processors : [processor];
  const pair = all.find((/** @type {Json} */ p) => /^(Bert|Roberta)Processing$/.test(p.type));
  if (pair) return [pair.cls?.[0], pair.sep?.[0]];
  const single = all.find((/** @type {Json} */ p) => p.type === 'TemplateProcessing')?.single ?? [];
  const at = single.findIndex((/** @type {Json} */ part) => part.Sequence);
  return [single[at - 1]?.SpecialToken?.id, single[at + 1]?.SpecialToken?.id];
}

/**
 * Whether a tokenizer puts a space before a text.
 * @param {Json} json
 */
function hasPrefix({ normalizer, pre_tokenizer: pre }) {
  const all = normalizer?.normalizers ?? [normalizer];
  const isMark = (/** @type {Json} */ n) => n?.type === 'Prepend' || n?.add_dummy_prefix;
  return all.some(isMark) || (pre?.prepend_scheme ?? 'never') !== 'never';
}

/**
 * A SentencePiece vocabulary that was read from a GGUF, from llama2.c or from a file of SentencePiece.
 * @param {import('../vocabulary/sentencepiece_vocab.js').SentencePieces} model
 * @param {Json} json
 */
function pieces(model, json) {
  const [types, scores] = [model.types, model.scores].map((list) => Array.from(list));
  const tokens = model.texts.toArray();
  const { normalizer } = json;
  const charsmap = normalizer.precompiled_charsmap ? bytesOf(normalizer.precompiled_charsmap) : null;
  const more = { unknown_token_id: u32(model.unk), add_space_prefix: bool(hasPrefix(json)) };
  if (normalizer.treat_whitespace_as_suffix) unsupported('it puts a space after a text');
  if (model.kind === 'BPE') {
    if (charsmap || normalizer.remove_extra_whitespaces)
      unsupported('its normalizer is "SentencePiece", and GGUF has none for merges');
    return { kind: 'llama', tokens, types, scores, more };
  }
  if (model.kind !== 'Unigram') unsupported(`its tokens are of kind ${model.kind}`);
  const unused = scores.map((score, id) => (types[id] === UNUSED ? UNUSED_SCORE : score));
  return { kind: 't5', tokens, types, scores: unused, more: { ...more, ...t5Meta(tokens, charsmap, normalizer) } };
}

/**
 * Metadata that only vocabularies of kind t5 have.
 * @param {string[]} tokens
 * @param {number[] | null} charsmap
 * @param {Json} rules  remove_extra_whitespaces
 */
function t5Meta(tokens, charsmap, rules) {
  const padding = tokens.indexOf('<pad>');
  return {
    ...(padding >= 0 && { padding_token_id: u32(padding) }),
    remove_extra_whitespaces: bool(rules.remove_extra_whitespaces === true),
    ...(charsmap && { precompiled_charsmap: u8s(charsmap) }),
    pre: text('default'),
  };
}

/**
 * The tokens of a BPE or a Unigram by id.
 * @param {Json} json
 * @returns {Tokens}
 */
export function tokensOf({ model: { vocab }, added_tokens: added = [] }) {
  /** @type {Tokens} */
  const out = { tokens: [], types: [] };
  const entries = Array.isArray(vocab) ? vocab.map(([token], id) => [token, id]) : Object.entries(vocab);
  for (const [token, id] of entries) {
    out.tokens[id] = token;
    out.types[id] = NORMAL;
  }
  for (const { id, content, special } of added) {
    out.tokens[id] = content;
    out.types[id] = special ? CONTROL : USER_DEFINED;
  }
  for (let id = 0; id < out.tokens.length; id++) {
    out.tokens[id] ??= `[PAD${id}]`;
    out.types[id] ??= UNUSED;
  }
  return out;
}

/**
 * A SentencePiece vocabulary in Hugging Face's form, with merges in place of scores: a token's score is the negative
 * rank of the first merge that makes it.
 * @param {Json} json
 */
function byteFallback(json) {
  const { model } = json;
  const { tokens, types } = tokensOf(json);
  const merges = model.merges.map((/** @type {any} */ m) => (typeof m === 'string' ? m.split(' ') : m).join(''));
  /** @type {Map<string, number>} */
  const ranks = new Map();
  merges.forEach((/** @type {string} */ token, /** @type {number} */ i) => ranks.has(token) || ranks.set(token, i));
  const unk = tokens.indexOf(model.unk_token);
  tokens.forEach((token, id) => {
    if (/^<0x[0-9A-F]{2}>$/.test(token)) types[id] = BYTE;
  });
  if (unk >= 0) types[unk] = UNKNOWN;
  const scores = tokens.map((token, id) => (types[id] === NORMAL ? -(ranks.get(token) ?? merges.length) - 1 : 0));
  const more = {
    ...(unk >= 0 && { unknown_token_id: u32(unk) }),
    add_space_prefix: bool(hasPrefix(json)),
  };
  return { kind: 'llama', tokens, types, scores, more };
}

/**
 * A vocabulary of the kind Unigram, as T5 has it. Unused tokens get the score that llama.cpp's converter gives them.
 * @param {Json} json
 */
function unigram(json) {
  const { model, normalizer, pre_tokenizer: pre } = json;
  if (!Number.isInteger(model.unk_id))
    unsupported(`its unk_id is ${show(model.unk_id)}, expected the token for unknown characters`);
  const { tokens, types } = tokensOf(json);
  const scores = model.vocab.map((/** @type {[string, number]} */ [, score]) => score);
  for (let id = 0; id < tokens.length; id++) scores[id] = types[id] === UNUSED ? UNUSED_SCORE : (scores[id] ?? 0);
  types[model.unk_id] = UNKNOWN;
  const { charsmap, single } = normalizing([normalizer?.normalizers ?? normalizer ?? []].flat());
  const splitting = [pre?.pretokenizers ?? pre ?? []].flat();
  for (const { type } of splitting)
    if (type !== 'Metaspace' && type !== 'WhitespaceSplit') unsupported(`its step ${show(type)} of splitting`);
  const marks = splitting.find(({ type }) => type === 'Metaspace');
  const isMarked =
    marks && (marks.prepend_scheme ?? (marks.add_prefix_space === false ? 'never' : 'always')) !== 'never';
  const isSingle = single || splitting.some(({ type }) => type === 'WhitespaceSplit');
  const more = {
    unknown_token_id: u32(model.unk_id),
    add_space_prefix: bool(isMarked || hasPrefix(json)),
    ...t5Meta(tokens, charsmap, { remove_extra_whitespaces: isSingle }),
  };
  return { kind: 't5', tokens, types, scores, more };
}

/**
 * A WordPiece vocabulary, whose words begin with U+2581 in the file. Readers take it as one of small letters unless it
 * has capitals.
 * @param {Json} json
 */
function wordPiece(json) {
  const { model, normalizer } = json;
  const prefix = model.continuing_subword_prefix ?? PREFIX;
  if (normalizer?.type !== 'BertNormalizer' || prefix !== PREFIX)
    unsupported(`its normalizer is ${show(normalizer?.type)}, expected "BertNormalizer" and pieces after ${PREFIX}`);
  const { tokens: texts, types } = tokensOf(json);
  const [cls, sep] = ends(json.post_processor ?? {});
  const ids = { unknown: model.unk_token, cls, seperator: sep, padding: '[PAD]', mask: '[MASK]' }; // its spelling
  /** @type {Record<string, Value>} */
  const more = {};
  for (const [key, token] of Object.entries(ids))
    if (texts.includes(token)) more[`${key}_token_id`] = u32(texts.indexOf(token));
  const tokens = texts.map((token, id) =>
    types[id] !== NORMAL ? token : token.startsWith(PREFIX) ? token.slice(PREFIX.length) : `\u2581${token}`,
  );
  return { kind: 'bert', tokens, types, scores: null, more };
}

/**
 * What the normalizers of a Unigram vocabulary do.
 * @param {Json[]} steps
 * @returns {{charsmap: number[] | null, single: boolean}} charsmap: SentencePiece's table; single: several spaces count
 *   as one
 */
function normalizing(steps) {
  /** @type {number[] | null} */
  let charsmap = null;
  let single = false;
  for (const step of steps) {
    const pattern = step.pattern?.Regex ?? step.pattern?.String;
    if (step.type === 'Precompiled' && typeof step.precompiled_charsmap === 'string')
      charsmap = bytesOf(step.precompiled_charsmap);
    else if (step.type === 'Replace' && pattern === ' {2,}') single = true;
    else if (!['Prepend', 'Strip'].includes(step.type) && pattern !== ' ')
      unsupported(`its normalizer is ${show(step.type)}, expected SentencePiece's table`);
  }
  return { charsmap, single };
}

/**
 * The bytes of a text in base64.
 * @param {string} base64
 */
function bytesOf(base64) {
  try {
    return Array.from(atob(base64), (c) => c.charCodeAt(0));
  } catch {
    return unsupported(`its table of characters is ${show(base64)}, expected base64`);
  }
}

/**
 * A byte-level BPE. Its split patterns must be those of a name of llama.cpp.
 * @param {Json} json
 */
function byteLevel(json) {
  const { model, pre_tokenizer: pre } = json;
  const [normalizer, ...others] = [json.normalizer?.normalizers ?? json.normalizer ?? []].flat();
  if (others.length || (normalizer && normalizer.type !== 'NFC'))
    unsupported(`its normalizer is ${show(json.normalizer.type)}, expected none`);
  const patterns = (pre?.type === 'Sequence' ? pre.pretokenizers : [pre]).flatMap(patternsOf);
  const key = (/** @type {string[]} */ list) => list.map((p) => p.replace(/\|\\s\+$/, '')).join('\n');
  const known = Object.keys(SPLITS).find((name) => key(SPLITS[name]) === key(patterns));
  if (!known) return unsupported(`its split patterns ${show(patterns)} have no name in llama.cpp`);
  // A word that is a token stays whole only with some of the names; dbrx is Llama 3's pattern without this.
  const whole = WHOLE_WORDS.includes(known);
  if (Boolean(model.ignore_merges) !== whole && known !== 'llama-bpe')
    unsupported(`ignore_merges is ${show(model.ignore_merges ?? false)}, which llama.cpp's ${known} has not`);
  const name = known === 'llama-bpe' && !model.ignore_merges ? PATTERN_ONLY[0] : known;
  const merges = model.merges.map((/** @type {any} */ m) => (typeof m === 'string' ? m : m.join(' ')));
  return {
    kind: 'gpt2',
    ...tokensOf(json),
    scores: null,
    merges,
    more: { pre: text(/** @type {string} */ (name)) },
  };
}

/**
 * The split patterns of one step.
 * @param {Json | null} step
 */
function patternsOf(step) {
  if (step?.type === 'Split' && step.behavior === 'Isolated' && !step.invert && step.pattern?.Regex)
    return [step.pattern.Regex];
  if (step?.type === 'Digits' && step.individual_digits) return ['\\p{N}'];
  if (step?.type === 'ByteLevel' && !step.add_prefix_space) return (step.use_regex ?? true) ? [GPT2_SPLIT] : [];
  return unsupported(`its step ${show(step?.type)} of splitting`);
}
