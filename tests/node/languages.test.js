// languages.test.js - the catalogues of the page's languages fit its sentences; `say` puts values in their places
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LABS, openLab } from '../../web/lib/apps/labs/labs.js';
import { LANGUAGES, say, translatedNumbers, withoutNumbers } from '../../web/page/state/base/language.js';
import { TUTORIALS } from '../../web/page/views/claims/tutorial_list.js';
import { fromOne } from '../../web/page/views/labs/from_one.js';
import { CATALOGUES, SENTENCES, UNTAGGED, claimsIn } from '../sentences.js';

const all = new Set(Object.values(SENTENCES).flat());
const values = (/** @type {string} */ text) => (text.match(/\{\d\}/g) ?? []).sort();
const placesOf = (/** @type {string} */ text) => (text.match(/\{\d+\}/g) ?? []).sort();

test('every language but English has a catalogue, and every catalogue is a language', () => {
  assert.deepEqual(['en', ...Object.keys(CATALOGUES)].sort(), Object.keys(LANGUAGES).sort());
});

for (const [language, catalogue] of Object.entries(CATALOGUES)) {
  test(`${language}: every sentence is one of the page, with all its values`, () => {
    assert.deepEqual(
      Object.keys(catalogue).filter((sentence) => !all.has(sentence)),
      [],
    );
    for (const [sentence, translation] of Object.entries(catalogue))
      assert.deepEqual([...new Set(values(translation))], [...new Set(values(sentence))], sentence);
  });

  test(`${language}: every sentence of the page has a translation; node tests/sentences.js ${language} prints the rest`, () => {
    const missing = Object.entries(SENTENCES).flatMap(([file, sentences]) =>
      sentences.filter((sentence) => !(sentence in catalogue)).map((sentence) => `${file}: ${sentence}`),
    );
    assert.deepEqual(missing, []);
  });
}

test('a sentence has at most ten values, and English is as it stands', () => {
  for (const sentence of all) assert.doesNotMatch(sentence, /\{\d\d\}/);
  assert.equal(say`${1} of ${'{0}'}\n`, '1 of {0}\n');
});

test('no words stand in a template without the tag, but for units', () => {
  const bare = UNTAGGED.filter((line) => !/: "(?:px|start)"$/.test(line));
  assert.deepEqual(bare, []);
});

test('what labs find has all its numbers in each language', () => {
  for (const language of Object.keys(LANGUAGES).filter((code) => code !== 'en')) {
    const file = new URL(`../../web/page/languages/labs/found_${language}.json`, import.meta.url);
    for (const [english, text] of Object.entries(JSON.parse(readFileSync(file, 'utf8'))))
      assert.deepEqual(values(text), values(english), english);
  }
  for (const found of ['12.5 % of 3', '78 ± 6 of 100, 0.62 ± 0.03']) assert.equal(translatedNumbers(found), found);
});

test('what the recorded runs of labs found is in the catalogue of each language', () => {
  const found = LABS.flatMap((lab) => {
    const file = new URL(`../../web/lib/apps/labs/results/${lab}.json`, import.meta.url);
    const { claims } = JSON.parse(readFileSync(file, 'utf8'));
    return claims.flatMap(({ measured }) => fromOne(measured).split(' / '));
  });
  for (const language of Object.keys(LANGUAGES).filter((code) => code !== 'en')) {
    const file = new URL(`../../web/page/languages/labs/found_${language}.json`, import.meta.url);
    const catalogue = JSON.parse(readFileSync(file, 'utf8'));
    assert.deepEqual(
      found.filter((measured) => !(withoutNumbers(measured).key in catalogue)),
      [],
    );
  }
});

test('every text of a lab is in the catalogue of labs of each language, and nothing else', async () => {
  const labs = await Promise.all(LABS.map(openLab));
  const texts = labs.flatMap((lab) => [
    ...[lab.title, lab.claim, lab.refutes, lab.change.title, ...lab.look],
    ...lab.claims.flatMap(({ claim, expected }) => [claim, expected]),
  ]);
  for (const language of Object.keys(LANGUAGES).filter((code) => code !== 'en')) {
    const file = new URL(`../../web/page/languages/labs/labs_${language}.json`, import.meta.url);
    const catalogue = JSON.parse(readFileSync(file, 'utf8'));
    assert.deepEqual(Object.keys(catalogue).sort(), [...new Set(texts)].sort(), language);
    for (const [english, text] of Object.entries(catalogue)) assert.ok(text.trim() && text !== english, english);
  }
});

test('every claim of a tutorial is in the catalogue of claims of each language', async () => {
  const opened = await Promise.all(TUTORIALS.map(({ open }) => open()));
  const texts = opened.flatMap(({ sections }, i) => [
    ...[TUTORIALS[i].title, TUTORIALS[i].about],
    ...sections.flatMap(({ title, claims, exercises = [] }) => [
      title,
      ...claims.map(({ claim }) => claim.text),
      ...exercises.map(({ text }) => text),
    ]),
  ]);
  for (const language of Object.keys(LANGUAGES).filter((code) => code !== 'en')) {
    const catalogue = claimsIn(language);
    assert.deepEqual(
      texts.filter((text) => !catalogue[text]),
      [],
    );
    for (const [english, text] of Object.entries(catalogue))
      assert.deepEqual([...new Set(placesOf(text))], [...new Set(placesOf(english))], english);
  }
});
