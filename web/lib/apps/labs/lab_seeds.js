// lab_seeds.js - the claims of a lab over several seeds: the mean of each number with its interval, and three verdicts

/** @import { Claim } from './labs.js' */

/** The 97.5 % quantile of Student's t distribution, by degrees of freedom from 1 on; beyond the list 1.96. */
const T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145];

/** Numbers of a sentence; those of heads, such as 4.1, and of frequencies are names. */
const NUMBERS = /(?<!head (?:\d+\.)?\d*|frequencies [\d, ]*)\d+(?:\.\d+)?/g;

/**
 * Mean and half of its 95 % confidence interval, from Student's t distribution.
 * @param {number[]} x  at least 2
 */
export function interval(x) {
  const mean = x.reduce((a, b) => a + b, 0) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (x.length - 1);
  return { mean, half: (T[x.length - 2] ?? 1.96) * Math.sqrt(variance / x.length) };
}

/**
 * What was measured with each seed as one sentence, whose numbers that differ are means with their intervals. Where the
 * sentences differ in words, such as the names of heads, it has all of them.
 * @param {string[]} texts
 */
export function joinedTexts(texts) {
  const [first] = texts;
  if (texts.every((text) => text === first)) return first;
  const words = texts.map((text) => text.replace(NUMBERS, '#'));
  if (words.some((text) => text !== words[0])) return [...new Set(texts)].join(' / ');
  const numbers = texts.map((text) => text.match(NUMBERS) ?? []);
  let at = 0;
  return first.replace(NUMBERS, (number) => {
    const all = numbers.map((list) => list[at]);
    at++;
    if (all.every((other) => other === number)) return number;
    const digits = Math.max(...all.map((text) => (text.split('.')[1] ?? '').length));
    const { mean, half } = interval(all.map(Number));
    return `${mean.toFixed(digits)} ± ${half.toFixed(digits)}`;
  });
}

/**
 * The claims over all seeds. A claim holds, or does not, where every seed says so.
 * @param {number[]} seeds
 * @param {Claim[][]} runs  the claims of each seed
 * @returns {Claim[]}
 */
export function joinedClaims(seeds, runs) {
  return runs[0].map((claim, i) => {
    const each = runs.map((claims, k) => ({ seed: seeds[k], measured: claims[i].measured, holds: !!claims[i].holds }));
    const held = each.filter(({ holds }) => holds).length;
    return {
      ...claim,
      measured: joinedTexts(each.map(({ measured }) => measured)),
      holds: held === each.length ? true : held ? null : false,
      runs: each,
    };
  });
}
