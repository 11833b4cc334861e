// write_dictionaries.js - every dictionary of this folder, read and written again by this package, with what it encodes
// and decodes; and two that it trains. check_written.py reads them with SAELens.
//
//   node tests/golden/dictionaries/write_dictionaries.js OUT
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Dictionary, dictionary, load } from '../../../web/lib/api/index.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const out = process.argv[2];
const { ids, dictionaries } = JSON.parse(readFileSync(`${here}expected.json`, 'utf8'));
const model = await load(`${here}model/`, { dtype: 'f32', kvDtype: 'f32' });

/** @param {string} name @param {import('../../../web/lib/api/index.js').Model} model @param {number[]} ids @param {Dictionary} made */
async function write(name, model, ids, made) {
  mkdirSync(`${out}/${name}`, { recursive: true });
  for (const { name: file, bytes } of await made.files()) writeFileSync(`${out}/${name}/${file}`, bytes);
  const acts = (await made.encode(ids)).map(({ features }) => {
    const row = new Array(made.size).fill(0);
    for (const { feature, value } of features) row[feature] = value;
    return row;
  });
  const { captured } = await model.forward(ids, { capture: [made.at] });
  const { data, shape } = captured[made.at];
  writeFileSync(`${out}/${name}/encoded.json`, JSON.stringify({ shape, x: Array.from(data), acts }));
}

for (const name of Object.keys(dictionaries))
  await write(name, model, ids, await Dictionary.load(`${here}${name}/`, { model }));
model.dispose();
const stories = await load(`${here}../../../weights/stories-1m.gguf`, { dtype: 'f32', kvDtype: 'f32' });
const text = readFileSync(`${here}../text/stories.txt`, 'utf8').split(/\n\n+/);
const train = { size: 96, k: 6, tokens: 500, epochs: 6, batch: 64, tokenTable: false, from: 0, threads: 1 };
const points = {
  trained: { at: 'blocks.2.hook_resid_post' },
  trained_transcoder: { at: 'blocks.2.ln2.hook_normalized', out: 'blocks.2.hook_mlp_out' },
};
for (const [name, at] of Object.entries(points)) {
  const made = await dictionary(stories, text, { ...at, ...train }).dictionary();
  await write(name, stories, (await stories.encode(text[1])).slice(0, 24), made);
}
stories.dispose();
