// patterns.js - where a pattern matches a text, and how a text is split there
import { messageOf, show } from '../../base/errors.js';
import { asMatched } from './character_classes.js';
import { converted } from './oniguruma.js';

/** @import { Component } from './component.js' */
/**
 * Calls `visit` for each match, from left to right. Matches do not overlap, and an empty one never follows another at
 * its end.
 * @typedef {(text: string, visit: (start: number, end: number) => void) => void} Matches
 */

/**
 * @param {string} source  of a regular expression
 * @param {string} [flags]
 * @returns {Matches}
 */
export function regexMatches(source, flags = 'u') {
  const here = new RegExp(source, `${flags}y`);
  const later = new RegExp(source, `${flags}g`);
  return (text, visit) => {
    let last = -1;
    for (let at = 0; at <= text.length;) {
      // most patterns match from each match on; a sticky test makes no object
      here.lastIndex = at;
      let start = at;
      let end;
      if (here.test(text)) end = here.lastIndex;
      else {
        later.lastIndex = at;
        const found = later.exec(text);
        if (!found) return;
        start = found.index;
        end = later.lastIndex;
      }
      if (end === start && end === last) {
        at += /** @type {number} */ (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
        continue;
      }
      visit(start, end);
      at = last = end;
    }
  };
}

/**
 * Matches where a regular expression of the library matches, which does not know the latest characters.
 * @param {string} source
 * @param {string} [flags]
 * @returns {Matches}
 */
export function libraryMatches(source, flags) {
  const matches = regexMatches(source, flags);
  return (text, visit) => matches(asMatched(text), visit);
}

/**
 * @param {string} wanted
 * @returns {Matches}
 */
function textMatches(wanted) {
  return (text, visit) => {
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
      visit(at, at + wanted.length);
  };
}

/**
 * The option `pattern` of a component: `{String: text}`, or `{Regex: pattern of Oniguruma}`.
 * @param {Component} options
 * @returns {Matches}
 */
export function patternOf(options) {
  const { String: text, Regex: regex } = options.json.pattern ?? {};
  if (typeof text === 'string') return text ? textMatches(text) : regexMatches('');
  if (typeof regex !== 'string')
    return options.refuse(`pattern is ${show(options.json.pattern)}, expected {String: text} or {Regex: text}`);
  try {
    const { source, flags } = converted(regex);
    return libraryMatches(source, flags);
  } catch (e) {
    return options.refuse(`the regular expression ${show(regex)}: ${messageOf(e)}`);
  }
}

/**
 * By behaviour, whether two neighbours stay in one piece: each is a match or what lies between matches.
 * @type {Record<string, (before: boolean, after: boolean) => boolean>}
 */
const JOINS = {
  Isolated: () => false,
  Removed: () => false,
  MergedWithPrevious: (before, after) => !before && after,
  MergedWithNext: (before, after) => before && !after,
  Contiguous: (before, after) => before === after,
};
export const BEHAVIORS = Object.keys(JOINS);

/**
 * A step that splits a text. `zero`, here and in pre_tokenise.js: how many of the first units of a piece come from the
 * first character of the whole text; below 1: none.
 * @param {Matches} matches
 * @param {string} behavior
 * @param {boolean} [isInverted]  what lies between matches counts as a match
 * @returns {import('./pre_tokenise.js').Step}
 */
export function splitting(matches, behavior, isInverted = false) {
  const joins = JOINS[behavior];
  const removes = behavior === 'Removed';
  return (text, zero, emit) => {
    let from = 0; // start of the piece
    let at = 0;
    let before = false;
    const part = (/** @type {number} */ end, /** @type {boolean} */ isMatch) => {
      if (from < at && !joins(before, isMatch)) {
        if (!(removes && before)) emit(text.slice(from, at), zero - from);
        from = at;
      }
      before = isMatch;
      at = end;
    };
    matches(text, (start, end) => {
      if (start > at) part(start, isInverted);
      part(end, !isInverted);
    });
    if (at < text.length) part(text.length, isInverted);
    if (from < at && !(removes && before)) emit(text.slice(from), zero - from);
  };
}
