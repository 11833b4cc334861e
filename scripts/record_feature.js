// record_feature.js - reads a text and changes a feature of it as the view Features does, and writes what the page shows
// before a visitor has loaded the dictionary: web/page/views/features/feature_example.json
//
//   node scripts/record_feature.js
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Dictionary, load } from '../web/lib/api/index.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const folder = `${top}weights/dictionaries/stories`;
const TEXT = 'Once upon a time, there was a little dog named Max. Max saw a big tree and wagged his';
const CONTEXTS = 4; // of each part of the range
const RANDOM = 100; // the feature beside which the strongest one of the last token is judged
const DOSE = 1.5; // multiples of the feature's largest activation
const TOKENS = 50;
const DIGITS = 4; // of each number: more cannot be seen

const model = await load(`${top}weights/stories.gguf`);
const dictionary = await Dictionary.load(folder, { model });
const tokenizer = await model.tokenizer;
const tokens = await dictionary.encode(TEXT);
const { feature } = tokens.at(-1).features[0];
const about = await dictionary.feature(feature, { tokens: 8 });
const { contexts, ...shown } = JSON.parse(readFileSync(`${folder}/features.json`, 'utf8'))[feature];
const parts = [contexts.filter(([, quantile]) => quantile >= 0.95), contexts.filter(([, quantile]) => quantile < 0.95)];
const some = parts.flatMap((part) => part.slice(0, CONTEXTS));
const add = DOSE * shown.most;
const texts = [];
for (const edited of [null, feature, RANDOM]) {
  const edits = edited === null ? undefined : [{ dictionary, feature: edited, add }];
  texts.push((await model.complete(TEXT, { edits, maxTokens: TOKENS, temperature: 0 })).text);
}
const listed = (list) => list.map(({ id, text }) => ({ id, text }));
const recorded = {
  tokens: tokens.slice(1).map(({ id, text, features }) => ({ id, text, features: features.slice(0, 8) })),
  about: { feature, promoted: listed(about.promoted), suppressed: listed(about.suppressed) },
  shown: { ...shown, contexts: some },
  words: Object.fromEntries(some.flatMap(([, , , ids]) => ids.map((id) => [id, tokenizer.idToText(id)]))),
  asked: { feature, random: RANDOM, dose: add },
  texts,
};
const shortened = (_, value) => (typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value);
const json = JSON.stringify(recorded, shortened);
writeFileSync(`${top}web/page/views/features/feature_example.json`, `${json}\n`);
console.log(`feature ${feature}, ${json.length} characters`);
model.dispose();
