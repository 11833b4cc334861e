#!/usr/bin/env node
// induction.js - the induction score of every head of a decoder: how much it attends to what followed the present token
// the last time
//
//   node weights/induction.js MODEL.gguf
//
// A sequence is the begin token and 64 random tokens, twice (Olsson et al. 2022). The score is the mean attention from
// the tokens of the second copy to the token after their first occurrence, over four sequences. Uniform attention would
// give 0.01, a perfect induction head 1.
import { load } from '../web/lib/index.js';
import { addTo, mean, ranked, weightOf, zeros } from '../web/lib/labs/measures.js';

const LENGTH = 64;
const SEEDS = [1, 2, 3, 4];

/**
 * @param {number} seed
 * @param {number} vocabSize
 * @returns {number[]} LENGTH ids from 1 to vocabSize - 1, by mulberry32
 */
function randomTokens(seed, vocabSize) {
  return Array.from({ length: LENGTH }, (_, i) => {
    let x = Math.imul(seed * LENGTH + i + 1, 0x6d2b79f5);
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return 1 + (((x ^ (x >>> 14)) >>> 0) % (vocabSize - 1));
  });
}

/**
 * @param {import('../web/lib/index.js').Model} model
 * @returns {Promise<number[][]>} [layer][head]
 */
async function scores(model) {
  const { nLayers, nHeads, vocabSize } = model.config;
  const table = zeros(nLayers, nHeads);
  const queries = Array.from({ length: LENGTH }, (_, i) => LENGTH + 1 + i);
  for (const seed of SEEDS) {
    const tokens = randomTokens(seed, vocabSize);
    const { captured } = await model.forward([0, ...tokens, ...tokens], { capture: ['*.attn.hook_pattern'] });
    addTo(table, (layer, head) => {
      const pattern = captured[`blocks.${layer}.attn.hook_pattern`];
      return mean(queries.map((query) => weightOf(pattern, head, query, query - LENGTH + 1))) / SEEDS.length;
    });
  }
  return table;
}

const [file] = process.argv.slice(2);
if (!file) {
  console.error('usage: node weights/induction.js MODEL.gguf');
  process.exit(2);
}
const model = await load(file);
const table = await scores(model);
table.forEach((row, layer) => console.log(`layer ${layer}: ${row.map((x) => x.toFixed(3)).join(' ')}`));
const [best] = ranked(table);
console.log(`best: layer ${best.layer}, head ${best.head}, ${best.value.toFixed(3)}`);
model.dispose();
