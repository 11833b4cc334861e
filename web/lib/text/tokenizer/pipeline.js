// pipeline.js - the steps of a tokenizer in their order: added tokens, normalizer, pre-tokenizer, model,
// post-processor; and back: texts of tokens, decoder
import { pieceModels } from '../../files/vocabulary/tokenizer_json.js';
import { show } from '../../base/errors.js';
import { TokenFinder, addedTokens } from './added_tokens.js';
import { bpe } from './bpe.js';
import { byteCharacters } from './byte_level.js';
import { component, refuse } from './component.js';
import { decoderOf } from './decode.js';
import { normalizersOf } from './normalise.js';
import { sentencePieceModel } from './pieces.js';
import { postProcessorOf } from './post_process.js';
import { splitterOf } from './pre_tokenise.js';
import { unigram } from './unigram.js';
import { wordLevel, wordPiece } from './word_models.js';

/** @import { Json } from './component.js' */
/** @import { Encoding } from './post_process.js' */
/** @import { Step } from './pre_tokenise.js' */

/** Words whose ids are remembered, and the most units of one. */
const MOST_WORDS = 1 << 14;
const LONGEST_WORD = 64;

const MODELS = { BPE: bpe, Unigram: unigram, WordLevel: wordLevel, WordPiece: wordPiece };

/**
 * The model of a tokenizer.json. Older files do not name its type.
 * @param {any} json
 * @returns {import('./bpe.js').Model}
 */
function modelOf(json) {
  if (pieceModels.has(json)) return sentencePieceModel(json);
  if (json === null || typeof json !== 'object') refuse('there is no model in it');
  const type =
    json.type ??
    (json.merges
      ? 'BPE'
      : Array.isArray(json.vocab)
        ? 'Unigram'
        : json.continuing_subword_prefix !== undefined
          ? 'WordPiece'
          : json.unk_token !== undefined
            ? 'WordLevel'
            : undefined);
  return /** @type {import('./bpe.js').Model} */ (component({ ...json, type }, 'model', MODELS));
}

/**
 * The lengths of one text or two that have at most `most` tokens together: the longer text loses its last ones, then
 * both the same number (longest_first of Hugging Face).
 * @param {number[]} lengths
 * @param {number} most
 * @returns {number[]}
 */
function lengthsWithin(lengths, most) {
  if (lengths.reduce((a, b) => a + b, 0) <= most) return lengths;
  if (lengths.length === 1) return [most];
  const short = Math.min(...lengths);
  const half = Math.floor(most / 2);
  const [a, b] = short + Math.max(short, most - short) > most ? [half, most - half] : [short, most - short];
  return lengths[0] > lengths[1] ? [b, a] : [a, b];
}

export class Pipeline {
  /** Ids of words. @type {Map<string, number[]>} */
  #words = new Map();
  #normalizers;
  #hasFirst;
  #steps;
  #mapsBytes;
  #process;
  #decode;
  #raw;
  #normalized;
  #specialTexts;

  /** @param {Json} json  a tokenizer.json */
  constructor(json) {
    if (json === null || typeof json !== 'object' || Array.isArray(json))
      refuse(`expected an object, found ${show(json)}`);
    this.#normalizers = normalizersOf(json.normalizer);
    const splitter = splitterOf(json.pre_tokenizer);
    this.#steps = splitter?.steps ?? [];
    this.#hasFirst = JSON.stringify(json.pre_tokenizer ?? null).includes('"first"');
    this.#mapsBytes = splitter?.mapsBytes ?? false;
    this.#process = postProcessorOf(json.post_processor);
    this.#decode = decoderOf(json.decoder);
    this.model = modelOf(json.model);
    const { texts } = this.model;
    this.added = addedTokens(json.added_tokens ?? [], texts, texts.count);
    if (!texts.count && !this.added.length) refuse('the vocabulary is empty');
    const normal = (/** @type {string} */ content) => this.#normalize(content);
    const [raw, normalized] = [false, true].map((is) => this.added.filter((token) => token.normalized === is));
    this.#raw = new TokenFinder(raw, (content) => content);
    this.#normalized = new TokenFinder(normalized, normal);
    /** Texts of added tokens by id, as the decoder gets them. */
    this.addedTexts = new Map(
      this.added.map(({ id, content, normalized: is }) => [id, is ? normal(content) : content]),
    );
    this.#specialTexts = new Set(this.added.filter(({ special }) => special).map(({ content }) => content));
  }

  /**
   * The text of a token as the decoder gets it; undefined without such a token.
   * @param {number} id
   */
  tokenText(id) {
    return this.addedTexts.get(id) ?? this.model.texts.text(id);
  }

  /**
   * @param {number[]} ids
   * @param {boolean} skipsSpecial
   * @returns {string}
   */
  decode(ids, skipsSpecial) {
    const all = ids.map((id) => this.tokenText(id) ?? '');
    const tokens = skipsSpecial ? all.filter((text) => !this.#specialTexts.has(text)) : all;
    if (!tokens.length) return '';
    return this.#decode ? this.#decode(tokens).join('') : tokens.join(' ');
  }

  /**
   * @param {string[]} texts  one or two
   * @param {boolean} addSpecialTokens
   * @param {number} [most]  tokens of the result: longer texts are truncated at their end
   * @returns {Encoding}
   */
  encode(texts, addSpecialTokens, most = Infinity) {
    const parts = texts.map((text, i) => {
      /** @type {number[]} */
      const ids = [];
      this.#cut(text, ids);
      return { ids, types: new Array(ids.length).fill(i) };
    });
    const added = this.#process(
      parts.map(() => ({ ids: [], types: [] })),
      addSpecialTokens,
    ).reduce((n, { ids }) => n + ids.length, 0);
    lengthsWithin(
      parts.map(({ ids }) => ids.length),
      Math.max(0, most - added),
    ).forEach((n, i) => (parts[i].ids.length = parts[i].types.length = n));
    const all = this.#process(parts, addSpecialTokens);
    return all.length === 1 ? all[0] : { ids: all.flatMap(({ ids }) => ids), types: all.flatMap(({ types }) => types) };
  }

  /**
   * @param {string} text
   * @param {number[]} out
   */
  #cut(text, out) {
    const whole = /\p{Surrogate}/u.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
    const onToken = (/** @type {number} */ id) => out.push(id);
    this.#raw.cut(
      whole,
      (from, to) => {
        const part = whole.slice(from, to);
        const normal = this.#normalize(part);
        const zero = from > 0 ? 0 : this.#zero(part);
        this.#normalized.cut(
          normal,
          (start, end) => this.#split(normal.slice(start, end), zero - start, 0, out),
          onToken,
        );
      },
      onToken,
    );
  }

  /**
   * How many of the first units of a text, normalised, come from its first character: those that are left when it is
   * normalised alone. Only the scheme "first" of Metaspace asks for this.
   * @param {string} text
   */
  #zero(text) {
    if (!this.#hasFirst) return 0;
    const sizeOfFirst = (/** @type {string} */ part) => (Number(part.codePointAt(0)) > 0xffff ? 2 : 1);
    let zero = sizeOfFirst(text);
    for (const step of this.#normalizers) {
      const all = step(text);
      const alone = step.zero ? '' : (step.first ?? step)(text.slice(0, zero));
      let same = 0;
      while (same < alone.length && alone[same] === all[same]) same++;
      zero = step.zero?.(text, zero) ?? (!same && alone && all && step.keepsFirst ? sizeOfFirst(all) : same);
      text = all;
    }
    return zero;
  }

  /** @param {string} text */
  #normalize(text) {
    return this.#normalizers.reduce((all, step) => step(all), text);
  }

  /**
   * @param {string} text
   * @param {number} zero
   * @param {number} step  place of the next step
   * @param {number[]} out
   */
  #split(text, zero, step, out) {
    if (step === this.#steps.length) this.#tokenise(text, out);
    else this.#steps[step](text, zero, (piece, left) => this.#split(piece, left, step + 1, out));
  }

  /**
   * @param {string} word
   * @param {number[]} out
   */
  #tokenise(word, out) {
    const known = this.#words.get(word);
    if (known) {
      for (const id of known) out.push(id);
      return;
    }
    const text = this.#mapsBytes ? byteCharacters(word) : word;
    if (word.length > LONGEST_WORD) return this.model.tokenise(text, out);
    /** @type {number[]} */
    const ids = [];
    this.model.tokenise(text, ids);
    if (this.#words.size >= MOST_WORDS) this.#words.clear();
    this.#words.set(` ${word}`.slice(1), ids); // a copy: a slice would keep the whole text
    for (const id of ids) out.push(id);
  }
}
