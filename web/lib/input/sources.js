// sources.js - assigns the option `source` of encoder-decoders to the sequences of one call
import { isSequenceList } from './options.js';
import { fail } from '../base/errors.js';

/**
 * The options of each of n sequences. The i-th gets the i-th source (and mask) of a list, or the single source.
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
  return Array.from({ length: n }, (_, i) =>
    sources ? { ...o, source: sources[i], sourceMask: o.sourceMask?.[i] } : { ...o },
  );
}
