// dictionary_options.js - checks the options of dictionary()
import { checkedOptions, flag, optional, signal, text } from '../../base/checks.js';
import { fail } from '../../base/errors.js';
import { count, within } from '../../run/generation_options.js';

/** @import { OptionCheck } from '../../base/checks.js' */

/** @type {Record<string, OptionCheck>} */
const OPTIONS = {
  at: text,
  out: text,
  size: within(1, 1 << 20, true),
  k: within(1, 4096, true),
  tokenTable: flag,
  from: within(0, 1 << 20, true),
  tokens: within(16, 1e8, true),
  heldOut: within(0, 1e7, true),
  epochs: within(1, 1e4, true),
  batch: within(1, 1 << 16, true),
  lr: within(0, 10),
  decay: within(0, 1),
  seed: count,
  threads: within(1, 64, true),
  worker: optional((value) => value),
  signal,
};

/**
 * The options of dictionary() with their defaults. The learning rate is that of the pilot at widths 128 and 256.
 * @param {any} given
 * @returns {Record<string, any> & {at: string, from: number}}
 */
export function dictionaryOptions(given) {
  const o = checkedOptions('dictionary', given, OPTIONS);
  if (!o.at) fail('bad-option', 'dictionary needs the option at: the name of a point');
  return {
    size: 1024,
    k: 16,
    tokenTable: true,
    from: 1,
    tokens: 100000,
    heldOut: 4000,
    epochs: 5,
    batch: 512,
    decay: 0.3,
    seed: 1,
    ...o,
    at: o.at,
  };
}
