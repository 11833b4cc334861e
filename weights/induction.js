#!/usr/bin/env node
// induction.js - prints the induction score of every head of a decoder: how much it attends to what followed the present
// token the last time
//
//   node weights/induction.js MODEL.gguf
//
// The mean attention from the second copy of 64 random tokens to the token after their first occurrence (Olsson et al.
// 2022), as headScores measures it. Uniform attention would give 0.01, a perfect induction head 1.
import { load } from '../web/lib/api/index.js';
import { ranked } from '../web/lib/apps/labs/measures.js';

const [file] = process.argv.slice(2);
if (!file) {
  console.error('usage: node weights/induction.js MODEL.gguf');
  process.exit(2);
}
const model = await load(file);
const table = (await model.headScores()).map((heads) => heads.map(({ induction }) => induction));
table.forEach((row, layer) => console.log(`layer ${layer}: ${row.map((x) => x.toFixed(3)).join(' ')}`));
const [best] = ranked(table);
console.log(`best: layer ${best.layer}, head ${best.head}, ${best.value.toFixed(3)}`);
model.dispose();
