// encoder_sources.js - assigns options that hold an entry for each of several inputs to the sequences of one call
import { isSequenceList } from './generation_options.js';
import { fail } from '../base/errors.js';

/** Options that may hold one entry for each sequence, and what these are called. */
const LISTS = { mask: 'rows', tokenTypes: 'rows', pair: 'texts', edits: 'lists' };

/**
 * The options of each of n sequences. The i-th gets the i-th source (and mask) of a list, or the single source, and its
 * own mask, token types, second text and edits.
 * @template {Record<string, any>} O
 * @param {O} o  the options of the call
 * @param {number} n
 * @returns {O[]}
 */
export function optionsPerSequence(o, n) {
  const sources = o.source !== undefined && isSequenceList(o.source) ? Array.from(o.source) : null;
  if (sources && sources.length !== n) fail('bad-option', `there are ${sources.length} sources for ${n} sequences`);
  if (sources && o.sourceMask && o.sourceMask.length !== n)
    fail('bad-option', `there are ${o.sourceMask.length} source masks for ${n} sequences`);
  const lists = Object.entries(LISTS).filter(([name]) => o[name] && (name !== 'edits' || Array.isArray(o.edits[0])));
  for (const [name, entries] of lists) {
    if (typeof o[name] === 'string') fail('bad-option', `${name} is one text, there are ${n} sequences`);
    if (o[name].length !== n) fail('bad-option', `${name} has ${o[name].length} ${entries}, there are ${n} sequences`);
  }
  return Array.from({ length: n }, (_, i) => ({
    ...o,
    ...(sources && { source: sources[i], sourceMask: o.sourceMask?.[i] }),
    ...Object.fromEntries(lists.map(([name]) => [name, o[name][i]])),
  }));
}
