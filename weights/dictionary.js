// dictionary.js - trains a shipped dictionary and writes its files in int8, with what the page shows of its features
//
//   node weights/dictionary.js MODEL.gguf TEXT.txt POINT FOLDER [seed]
//
// features.json: for each feature its density, largest activation, histogram, and places of the text: [value, quantile,
// index of the place among the tokens, tokens], the strongest first, then some from the middle of the range.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dictionary, load } from '../web/lib/api/index.js';

const [model, text, at, folder, seed = '1'] = process.argv.slice(2);
/** Tokens before and after a place. */
const [BEFORE, AFTER] = [10, 3];
const rounded = (x, digits) => Number(x.toFixed(digits));

/** What the page shows of a feature. */
function shown({ density, histogram, contexts }) {
  const strongest = contexts.filter(({ quantile }) => quantile >= 0.95).slice(0, 4);
  const middle = contexts.filter(({ quantile }) => quantile < 0.95 && quantile > 0.2);
  const place = ({ value, quantile, at: here, tokens }) => {
    const first = Math.max(0, here - BEFORE);
    const ids = tokens.slice(first, here + AFTER + 1).map(({ id }) => id);
    return [rounded(value, 2), rounded(quantile, 2), here - first, ids];
  };
  const places = [...strongest, ...middle.filter((_, i) => i % 2 === 0).slice(0, 3)].map(place);
  return { density: rounded(density, 6), most: rounded(histogram.most, 3), counts: histogram.counts, contexts: places };
}

const loaded = await load(model);
const run = dictionary(loaded, readFileSync(text, 'utf8'), { at, seed: Number(seed) });
for await (const { phase, tokens, of, fvu } of run)
  process.stderr.write(`\r${phase} ${tokens} of ${of}, ${fvu.toFixed(3)} `);
const made = await run.dictionary();
mkdirSync(folder, { recursive: true });
for (const { name, bytes } of await made.files({ dtype: 'int8' })) writeFileSync(join(folder, name), bytes);
const features = [];
for (let i = 0; i < made.size; i++) features.push(shown(await made.feature(i, { contexts: 6, tokens: 1 })));
writeFileSync(join(folder, 'features.json'), JSON.stringify(features));
console.log(JSON.stringify(await made.report(), null, 1));
loaded.dispose();
