// decode.js - the decoders of a tokenizer.json: how the texts of tokens become one text
import { textOfCharacters } from './byte_level.js';
import { component } from './component.js';
import { replaced } from './normalise.js';
import { patternOf } from './patterns.js';
import { metaspaceOptions } from './pre_tokenise.js';

/** @import { Component } from './component.js' */
/** @typedef {(tokens: string[]) => string[]} Decoder */

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A text with `to` in place of each `from`, of which an empty one stands around every character.
 * @param {string} text
 * @param {string} from
 * @param {string} to
 */
const replaceAll = (text, from, to) => (from ? text.split(from) : ['', ...text, '']).join(to);

/**
 * English texts without the spaces that WordPiece puts between words and punctuation.
 * @param {string} text
 */
const cleanedUp = (text) =>
  [
    [' .', '.'],
    [' ?', '?'],
    [' !', '!'],
    [' ,', ','],
    [" ' ", "'"],
    [" n't", "n't"],
    [" 'm", "'m"],
    [' do not', " don't"],
    [" 's", "'s"],
    [" 've", "'ve"],
    [" 're", "'re"],
  ].reduce((all, [from, to]) => all.split(from).join(to), text);

/** @type {Record<string, (options: Component) => Decoder>} */
const DECODERS = {
  BPEDecoder(options) {
    const suffix = options.text('suffix', '</w>');
    return (tokens) => tokens.map((token, i) => replaceAll(token, suffix, i === tokens.length - 1 ? '' : ' '));
  },
  ByteFallback: () => withBytes(wholeText),
  ByteLevel(options) {
    for (const name of ['add_prefix_space', 'trim_offsets', 'use_regex']) options.flag(name, true);
    return (tokens) => [textOfCharacters(tokens)];
  },
  ByteFallbackEach: () => withBytes(textOfEach), // SentencePiece vocabularies have it, see sentencepiece_vocab.js
  CTC(options) {
    const pad = options.text('pad_token', '<pad>');
    const delimiter = options.text('word_delimiter_token', '|');
    const cleanup = options.flag('cleanup', true);
    const textOf = (/** @type {string} */ token) => {
      const text = replaceAll(token, pad, '');
      return cleanup ? replaceAll(cleanedUp(text), delimiter, ' ') : text;
    };
    return (tokens) =>
      tokens
        .filter((token, i) => i === 0 || token !== tokens[i - 1])
        .map(textOf)
        .filter(Boolean);
  },
  Fuse: () => (tokens) => [tokens.join('')],
  Metaspace(options) {
    const { mark, scheme } = metaspaceOptions(options);
    return (tokens) => tokens.map((token, i) => token.replaceAll(mark, i === 0 && scheme !== 'never' ? '' : ' '));
  },
  Replace(options) {
    const matches = patternOf(options);
    const content = options.text('content');
    return (tokens) => tokens.map((token) => replaced(token, matches, content));
  },
  Sequence(options) {
    const steps = options.list('decoders').map((each) => decoderOf(each) ?? options.refuse('one is null'));
    return (tokens) => steps.reduce((all, step) => step(all), tokens);
  },
  Strip(options) {
    const content = options.character('content');
    const [start, stop] = [options.count('start', 0), options.count('stop', 0)];
    return (tokens) => tokens.map((token) => stripped(token, content, start, stop));
  },
  WordPiece(options) {
    const prefix = options.text('prefix', '##');
    const cleanup = options.flag('cleanup', true);
    return (tokens) =>
      tokens.map((token, i) => {
        const text = i === 0 ? token : token.startsWith(prefix) ? token.slice(prefix.length) : ` ${token}`;
        return cleanup ? cleanedUp(text) : text;
      });
  },
};

/**
 * A text without `content` at its ends, `start` and `stop` times at most.
 * @param {string} text
 * @param {string} content  one character
 * @param {number} start
 * @param {number} stop
 */
function stripped(text, content, start, stop) {
  let [from, to] = [0, text.length];
  for (let n = 0; n < start && text.startsWith(content, from); n++) from += content.length;
  for (let n = 0; n < stop && text.endsWith(content, to) && to > 0; n++) to -= content.length;
  return text.slice(from, to);
}

/**
 * The text of bytes; null where they are not UTF-8.
 * @param {number[]} bytes
 */
function textOf(bytes) {
  try {
    return utf8.decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}

/** In the Rust library one wrong byte makes all its neighbours U+FFFD. @param {number[]} bytes */
function wholeText(bytes) {
  const text = textOf(bytes);
  return text === null ? bytes.map(() => '\ufffd') : [text];
}

/** In SentencePiece each byte that is part of no character is U+FFFD. @param {number[]} bytes */
function textOfEach(bytes) {
  let out = '';
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at];
    const size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const character = at + size > bytes.length ? null : textOf(bytes.slice(at, at + size));
    at += character === null ? 1 : size;
    out += character ?? '\ufffd';
  }
  return [out];
}

/**
 * Texts with those of neighbouring byte tokens in place of these.
 * @param {(bytes: number[]) => string[]} textsOf
 * @returns {Decoder}
 */
const withBytes = (textsOf) => (tokens) => {
  /** @type {string[]} */
  const out = [];
  /** @type {number[]} */
  let bytes = [];
  const flush = () => {
    if (bytes.length) out.push(...textsOf(bytes));
    bytes = [];
  };
  for (const token of tokens) {
    const byte = /^<0x([\da-fA-F]{2}|\+[\da-fA-F])>$/.exec(token);
    if (byte) bytes.push(parseInt(byte[1], 16));
    else {
      flush();
      out.push(token);
    }
  }
  flush();
  return out;
};

/**
 * @param {any} json  `decoder` of a tokenizer.json
 * @returns {Decoder | null}
 */
export const decoderOf = (json) => component(json, 'decoder', DECODERS);
