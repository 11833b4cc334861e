// judge_dictionary.js - the table of a shipped dictionary's card: what its features do, beside random ones
//
//   node weights/judge_dictionary.js MODEL.gguf FOLDER TEXT.txt [FEATURE ...]
//
// Without features it lists the forty with the largest activations, with the places that features.json has of them. For
// each feature it prints a row of the card: the sum of the probabilities of the five tokens that its direction raises
// most, in percent, before an edit, after it, and the mean after the same edit with the directions of three random
// features. Added: four times its largest activation at the last position of twelve texts. Removed: its value at the
// twelve places of the texts where it is strongest. The texts are those behind the ones that the dictionary learned
// from and was tested with.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Dictionary, load } from '../web/lib/api/index.js';
import { randomOf } from '../web/lib/train/masked_tokens.js';

const [modelPath, folder, textPath, ...asked] = process.argv.slice(2);
const [STRONGEST, TOKENS, TEXTS, LENGTH, RANDOM, DOSE, READ, HELD_OUT] = [40, 5, 12, 40, 3, 4, 20000, 4200];

const model = await load(modelPath);
const features = await Dictionary.load(`${folder}/`, { model });
const tokenizer = await model.tokenizer;
const shown = JSON.parse(readFileSync(join(folder, 'features.json'), 'utf8'));
const word = (/** @type {number} */ id) => tokenizer.idToText(id);
const place = (/** @type {[number, number, number, number[]]} */ [value, , at, ids]) =>
  `${value} ${ids.map((id, i) => (i === at ? `[${word(id)}]` : word(id))).join('')}`.replace(/\n/g, '/');

/** The ids of texts that the dictionary has not read, at most READ tokens. */
function unread() {
  const { rows } = features.provenance;
  let tokens = 0;
  const out = [];
  for (const text of readFileSync(textPath, 'utf8').split('<|endoftext|>')) {
    const ids = tokenizer.encode(text.trim()).slice(0, model.contextLength);
    tokens += ids.length;
    if (tokens > rows + HELD_OUT + READ) break;
    if (tokens - ids.length > rows + HELD_OUT && ids.length > LENGTH) out.push(ids);
  }
  return out;
}

/** The sum of the probabilities of tokens behind ids, in percent. */
async function share(ids, tokens, edits) {
  const { data } = (await model.forward(ids, { logits: 'last', edits })).logits;
  const most = data.reduce((a, b) => Math.max(a, b), -Infinity);
  const all = data.reduce((sum, x) => sum + Math.exp(x - most), 0);
  return tokens.reduce((sum, { id }) => sum + (100 * Math.exp(data[id] - most)) / all, 0);
}

const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
const columns = (rows) => [0, 1, 2].map((i) => mean(rows.map((row) => row[i])).toFixed(1)).join(', ');

/** Before an edit, after it, and with random features, at the last position of each text: [texts][3]. */
async function compared(feature, others, promoted, places) {
  const rows = [];
  for (const { ids, add } of places) {
    const edited = (one) => share(ids, promoted, [{ dictionary: features, feature: one, add, position: 'last' }]);
    const random = [];
    for (const other of others) random.push(await edited(other));
    rows.push([await share(ids, promoted, []), await edited(feature), mean(random)]);
  }
  return rows;
}

if (!asked.length) {
  const order = shown.map((_, i) => i).sort((a, b) => shown[b].most - shown[a].most);
  for (const i of order.slice(0, STRONGEST)) {
    const { promoted } = await features.feature(i, { tokens: TOKENS });
    console.log(
      `${i}: density ${shown[i].density}, raises ${promoted.map(({ text }) => JSON.stringify(text)).join(' ')}`,
    );
    for (const context of shown[i].contexts) console.log(`   ${place(context)}`);
  }
} else {
  const texts = unread();
  const active = [];
  for (const ids of texts) active.push(await features.encode(ids));
  const random = randomOf(1);
  for (const feature of asked.map(Number)) {
    const { promoted } = await features.feature(feature, { tokens: TOKENS });
    const others = Array.from({ length: RANDOM }, () => random() % features.size);
    const add = DOSE * shown[feature].most;
    const added = texts.slice(0, TEXTS).map((ids) => ({ ids: ids.slice(0, LENGTH), add }));
    const places = active
      .flatMap((positions, t) =>
        positions.map(({ features: found }, at) => ({
          ids: texts[t].slice(0, at + 1),
          add: -(found.find((one) => one.feature === feature)?.value ?? 0),
        })),
      )
      .filter((one) => one.add < 0)
      .sort((a, b) => a.add - b.add);
    const up = await compared(feature, others, promoted, added);
    const down = await compared(feature, others, promoted, places.slice(0, TEXTS));
    const above = up.filter(([, own, other]) => own > other).length;
    const [strongest] = shown[feature].contexts;
    console.log(
      `| ${feature} | ${place(strongest).replace(/^\S+ /, '')} | ${columns(up)} | ${columns(down)} |` +
        `  (above random in ${above} of ${up.length} texts; ${places.length} places)`,
    );
  }
}
model.dispose();
