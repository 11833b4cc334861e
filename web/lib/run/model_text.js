// model_text.js - text and token ids of a loaded model: its tokenizer, its vocabulary, the inputs of its calls
import { checkSingleMask } from './generation_options.js';
import { checkedIds } from '../base/checks.js';
import { fail, show } from '../base/errors.js';

/** @import { Config } from '../engine/config/config.js' */
/** @import { Tokenizer } from '../text/tokenizer.js' */
/** @import { Ids } from '../api/index.js' */

/** What a loaded model does without its engine. */
export class ModelText {
  /** @type {Map<number, string>} */
  #texts = new Map();

  /**
   * @param {Config} config
   * @param {Tokenizer | null} tokenizer
   * @param {import('../files/source.js').Special} special  tokens that begin and end a text
   */
  constructor(config, tokenizer, special) {
    this.config = config;
    this.tokenizer = tokenizer;
    this.special = special;
  }

  /**
   * The ids of a text. Throws `no-tokenizer` without a tokenizer.
   * @param {string} text
   * @param {{addSpecialTokens?: boolean}} [options]
   * @returns {number[]}
   */
  encode(text, options) {
    return this.withRows(this.tokenizerForText().encode(text, options));
  }

  /** The tokenizer. Throws `no-tokenizer` without one. */
  tokenizerForText() {
    return (
      this.tokenizer ?? fail('no-tokenizer', 'this model came without a tokenizer: give token ids instead of text')
    );
  }

  /**
   * The text of ids. Throws `no-tokenizer` without a tokenizer.
   * @param {number[]} ids
   * @returns {string}
   */
  decode(ids) {
    if (!this.tokenizer) fail('no-tokenizer', 'this model came without a tokenizer: ids cannot be decoded');
    return this.tokenizer.decode(ids);
  }

  /**
   * The ids of a text, each of which has a row in the embedding: a tokenizer may know more tokens than the model.
   * @param {number[]} ids
   */
  withRows(ids) {
    const { vocab_size: size, encoder_vocab_size: ofEncoder } = this.config;
    const most = Math.max(size, ofEncoder);
    const without = ids.find((id) => id >= most);
    if (without !== undefined)
      fail(
        'bad-token',
        `the text holds ${show(this.tokenizer?.idToText(without))}, the token ${without}, ` +
          `which the tokenizer has and the model has not: its embedding has ${most} rows`,
      );
    return ids;
  }

  /**
   * The tokens of a text or of ids, each with its text. Throws `no-tokenizer` without a tokenizer.
   * @param {string | number[]} input
   * @param {{addSpecialTokens?: boolean, alone?: boolean}} [options]
   */
  tokens(input, { alone = false, ...options } = {}) {
    const tokenizer = this.tokenizerForText();
    const ids = typeof input === 'string' ? tokenizer.encode(input, options) : input;
    const stream = tokenizer.stream();
    return ids.map((id) => ({ id, text: alone ? tokenizer.idToText(id) : stream.push(id) }));
  }

  /** The vocabulary for a Tokenizer on the caller's side; null without one. */
  tokenizerText() {
    return this.tokenizer && this.tokenizer.toText();
  }

  /**
   * The text of one token alone; '' without a tokenizer.
   * @param {number} id
   */
  tokenText(id) {
    if (!this.tokenizer) return '';
    const text = this.#texts.get(id) ?? this.tokenizer.idToText(id);
    this.#texts.set(id, text);
    return text;
  }

  /**
   * A decoder for the tokens that follow a prompt; null without a tokenizer.
   * @param {number[]} prompt
   */
  decoder(prompt) {
    return this.tokenizer ? this.tokenizer.stream(prompt) : null;
  }

  /**
   * The ids of an input, checked. A target of an encoder-decoder that is a text or empty begins with the model's first
   * tokens, and has no last one. Any other empty input is refused.
   * @param {string | Ids} input
   * @param {string} what  name of the input, for messages
   * @param {boolean} [addSpecialTokens]
   * @returns {number[]} at least one
   */
  ids(input, what, addSpecialTokens = true) {
    const isTarget = this.config.kind === 'encoder_decoder' && !what.startsWith('source') && addSpecialTokens;
    const { bos, start = bos === null ? [] : [bos] } = this.special;
    const isBegun = isTarget && typeof input === 'string' && !!this.special.start;
    const ids =
      typeof input !== 'string'
        ? checkedIds(Array.from(input), what, this.vocabularyOf(what))
        : input || this.config.kind === 'encoder'
          ? this.encode(input, { addSpecialTokens: addSpecialTokens && !isBegun })
          : [];
    if (isTarget && (isBegun || !ids.length) && start.length) return [...start, ...ids];
    return ids.length ? ids : fail('empty-prompt', `the ${what} is empty: ${show(input)} has no tokens`);
  }

  /**
   * How many tokens an input may name: the encoder of two stacks may have a vocabulary of its own.
   * @param {string} what  name of the input
   */
  vocabularyOf(what) {
    const { vocab_size: size, encoder_vocab_size: ofEncoder } = this.config;
    return (what.startsWith('source') && ofEncoder) || size;
  }

  /**
   * A mask, checked.
   * @param {ArrayLike<number> | undefined} mask
   * @param {number} n  positions of the sequence
   * @param {string} what  name of the option
   * @returns {ArrayLike<number> | null} null without a mask
   */
  mask(mask, n, what) {
    if (mask === undefined || mask === null) return null;
    checkSingleMask(mask, what);
    if (mask.length !== n) fail('bad-option', `${what} has ${mask.length} entries, the sequence has ${n} positions`);
    if (!Array.from(mask).some(Boolean)) fail('bad-option', `${what} hides every position`);
    return mask;
  }
}
