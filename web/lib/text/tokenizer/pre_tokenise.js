// pre_tokenise.js - the pre-tokenizers of a tokenizer.json: how a normalised text is split into words
import { byteCharacters } from './byte_level.js';
import { NUMBER, PUNCTUATION, SPACE, WORD } from './character_classes.js';
import { component } from './component.js';
import { BEHAVIORS, libraryMatches, patternOf, regexMatches, splitting } from './patterns.js';

/** @import { Component } from './component.js' */
/**
 * Splits or changes a piece of a text, and calls `emit` with each result from left to right.
 * @typedef {(text: string, zero: number, emit: (text: string, zero: number) => void) => void} Step
 */
/** @typedef {{steps: Step[], mapsBytes?: boolean}} Splitter  mapsBytes: bytes become characters after the steps */

const GPT2_WORDS = libraryMatches(
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+|" +
    '\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+',
);
/** @param {string} inside  of a class */
const each = (inside) => regexMatches(`[${inside}]`);

/**
 * A step that changes a text before it is split.
 * @param {(text: string, zero: number) => string} change  which keeps the length of what follows a start
 * @param {Step | null} split
 * @returns {Step}
 */
const changing = (change, split) => (text, zero, emit) => {
  const changed = change(text, zero);
  const added = zero > 0 ? zero + changed.length - text.length : zero;
  if (split) split(changed, added, emit);
  else emit(changed, added);
};

/** @type {Record<string, (options: Component) => Splitter>} */
const SPLITTERS = {
  BertPreTokenizer: () => ({
    steps: [splitting(each(SPACE), 'Removed'), splitting(each(PUNCTUATION), 'Isolated')],
  }),
  ByteLevel(options) {
    const split = options.flag('use_regex', true) ? splitting(GPT2_WORDS, 'Isolated') : null;
    options.flag('trim_offsets', true);
    const prefixed = (/** @type {string} */ text) => (text[0] === ' ' ? text : ` ${text}`);
    const first = options.flag('add_prefix_space', true) ? changing(prefixed, split) : split;
    return { steps: first ? [first] : [], mapsBytes: true };
  },
  CharDelimiterSplit: delimiter,
  Delimiter: delimiter,
  Digits: (options) => ({
    steps: [splitting(each(NUMBER), options.flag('individual_digits') ? 'Isolated' : 'Contiguous')],
  }),
  FixedLength(options) {
    const pieces = regexMatches(`[^]{1,${options.count('length', 1, 5)}}`);
    return { steps: [splitting(pieces, 'Isolated')] };
  },
  Metaspace: (options) => ({ steps: [metaspace(options)] }),
  Punctuation: (options) => ({
    steps: [splitting(each(PUNCTUATION), options.word('behavior', BEHAVIORS, 'Isolated'))],
  }),
  Sequence(options) {
    const all = options.list('pretokenizers').map((json) => splitterOf(json) ?? options.refuse('one is null'));
    const mapsBytes = all.at(-1)?.mapsBytes;
    const steps = all.flatMap((splitter, i) =>
      splitter.mapsBytes && i < all.length - 1 ? [...splitter.steps, toBytes] : splitter.steps,
    );
    return { steps, mapsBytes };
  },
  Split: (options) => ({
    steps: [splitting(patternOf(options), options.word('behavior', BEHAVIORS), options.flag('invert', false))],
  }),
  Whitespace: () => ({
    steps: [splitting(libraryMatches(`[${WORD}]+|[^${WORD}${SPACE}]+`), 'Removed', true)],
  }),
  WhitespaceSplit: () => ({ steps: [splitting(each(SPACE), 'Removed')] }),
};

/** @param {Component} options @returns {Splitter} */
function delimiter(options) {
  const code = options.character('delimiter').codePointAt(0)?.toString(16);
  return { steps: [splitting(each(`\\u{${code}}`), 'Removed')] };
}

/** @type {Step} */
const toBytes = (text, zero, emit) =>
  emit(byteCharacters(text), zero > 0 ? byteCharacters(text.slice(0, zero)).length : zero);

/**
 * The options of Metaspace, which is a decoder, too.
 * @param {Component} options
 */
export function metaspaceOptions(options) {
  const mark = options.character('replacement', '\u2581');
  const old = options.flag('add_prefix_space', true);
  const scheme = options.word('prepend_scheme', ['first', 'never', 'always'], old ? 'always' : 'never');
  if (!old && scheme !== 'never') options.refuse(`add_prefix_space is false, and prepend_scheme is "${scheme}"`);
  return { mark, scheme, splits: options.flag('split', true) };
}

/** @param {Component} options @returns {Step} */
function metaspace(options) {
  const { mark, scheme, splits } = metaspaceOptions(options);
  const code = mark.codePointAt(0)?.toString(16);
  const marks = splits ? splitting(each(`\\u{${code}}`), 'MergedWithNext') : null;
  const prepended = changing(
    (text, zero) =>
      scheme === 'never' || text.startsWith(mark) || (scheme === 'first' && zero < 1) ? text : mark + text,
    marks,
  );
  return (text, zero, emit) =>
    prepended(text.replaceAll(' ', mark), zero > 0 ? text.slice(0, zero).replaceAll(' ', mark).length : zero, emit);
}

/**
 * @param {any} json  `pre_tokenizer` of a tokenizer.json
 * @returns {Splitter | null}
 */
export const splitterOf = (json) => component(json, 'pre_tokenizer', SPLITTERS);
