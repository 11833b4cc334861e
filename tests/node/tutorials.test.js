// tutorials.test.js - each claim of the five tutorials, run by the page's code; and a check that each claim fails under
// at least one fault of the engine
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as glassformer from '../../web/lib/api/index.js';
import { openPlace } from '../../web/page/views/claims/claim_place.js';
import { TUTORIALS, flipping, runClaim } from '../../web/page/views/claims/tutorial_list.js';
import { text } from '../../web/page/views/claims/outcome.js';
import { TEXTBOOK } from '../../web/page/text/textbook_pages.js';
import { distance } from '../../web/page/views/claims/arithmetic.js';
import { erf, flat } from '../../web/page/views/claims/double_precision.js';
import { reference } from '../../web/page/views/claims/reference.js';
import { LANGUAGES, withoutNumbers } from '../../web/page/state/base/language.js';
import { claimsIn } from '../sentences.js';
import { golden, openCase, readTensors, shared } from './helpers.js';

/** Names of points and of functions, and the engine's own messages, which are in English. */
const NAMES = /“config: .*”|\b(?:norm|attn|ffn)[\w.]*|\b(?:ln|max|sin)\b/g;
const tutorials = (await Promise.all(TUTORIALS.map(({ open }) => open()))).map(({ sections }) => sections);
const all = tutorials.map((sections) => sections.flatMap(({ claims }) => claims.map(({ claim }) => claim)));

/** What the claims say of their outcomes. @type {Set<string>} */
const said = new Set();
for (const claim of all.flat()) {
  test(`tutorial ${claim.tutorial}: ${claim.text}`, async () => {
    const { expected, found, ok, printed, note } = await claim.run(glassformer);
    assert.ok(ok, `expected ${expected}, found ${found}${note ? ` (${note})` : ''}`);
    assert.ok(expected && found && found !== 'undefined');
    for (const words of [expected, found, printed, note]) if (words) said.add(words);
    if (printed) assert.ok(note, 'a printed figure that the code does not give needs its reason');
  });
}

test('what is found stands in the catalogue of each language', () => {
  const words = [...said].filter((text) => /[a-z]{2}/i.test(text.replace(NAMES, '')));
  for (const language of Object.keys(LANGUAGES).filter((code) => code !== 'en')) {
    const catalogue = claimsIn(language);
    const missing = words.map((text) => withoutNumbers(text).key).filter((key) => !catalogue[key]);
    assert.deepEqual(missing, [], language);
  }
});

test('every claim has a unique id and the number of its tutorial', () => {
  const names = all.flat().map((c) => c.id);
  assert.equal(new Set(names).size, names.length);
  all.forEach((claims, i) => assert.ok(claims.length > 15 && claims.every((c) => c.tutorial === TUTORIALS[i].number)));
});

test('each claim of the files is in one section, and is seen on a page of the textbook with a model that can be made', async () => {
  const folder = new URL('../../web/page/views/claims/runs/', import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const files = await Promise.all(names.map((name) => import(new URL(name, folder))));
  const claimed = all.flat().map(({ id }) => id.replace(/^\d-/, ''));
  assert.deepEqual(claimed.sort(), files.flatMap(({ runs }) => Object.keys(runs)).sort());
  for (const sections of tutorials) {
    for (const { place } of sections.flatMap(({ claims }) => claims)) {
      if (place.page === 'compare') assert.ok(glassformer.PRESETS[place.model], place.model);
      else
        assert.ok(
          TEXTBOOK.some(({ id }) => id === place.page),
          place.page,
        );
      if (typeof place.model === 'string') continue;
      const { preset, ...changes } = place.model;
      const config = glassformer.completeConfig({ ...glassformer.PRESETS[preset], ...changes });
      const page = TEXTBOOK.find(({ id }) => id === place.page);
      assert.ok(page.when?.(config) ?? true, `${place.page} has nothing to show of ${JSON.stringify(place.model)}`);
    }
  }
});

// The page of the textbook was opened beside the model before.
test('what shows a claim is not opened when its model does not come', async (t) => {
  Object.assign(globalThis, { document: { baseURI: 'https://page.test/' } });
  t.after(() => Reflect.deleteProperty(globalThis, 'document'));
  const opened = [];
  const page = { engine: { model: { address: 'weights/stories.gguf' } } },
    calls = { loadModel: async () => {}, answerSource: () => opened.push('text') };
  await openPlace({ page: 'cross', model: 'weights/dates/' }, { page, calls, set: (patch) => opened.push(patch) });
  assert.deepEqual(opened, []);
});

test('tables and exercises have the figures of the tutorials', () => {
  const tables = tutorials.flat().flatMap(({ table }) => (table ? [table(glassformer)] : []));
  const cells = tables.map(({ rows }) => rows.map((row) => row.join(' | ')).join('\n'));
  assert.match(cells[0], /Attention, 1 block \| 2,359,296 \|[^]*One block \| 7,079,424 [^]*Total \| 123,551,232/);
  assert.match(cells[1], /One encoder block \| 33,472 [^]*One decoder block \| 50,240 [^]*Total \| 296,424/);
  assert.match(cells[2], /One block \| 49,408/);
  assert.match(cells[3], /1558M \| 48 \| 25 \| 1,600 \| 50,257 \| 1,024 \| 1,557,611,200/);
  const answers = [...tutorials[0].at(-1).exercises, ...tutorials[4].slice(-2).flatMap(({ exercises }) => exercises)]
    .filter(({ answer }) => answer)
    .map(({ answer }) => answer(glassformer));
  const right = ['Inside', 'pre', '2048', '5', '0', '924,928', '6.91', '1.31e9', '128,000', '512'];
  assert.deepEqual(
    answers.map(({ matches }, i) => matches(right[i]) && !matches('7')),
    right.map(() => true),
  );
});

test('numbers are formatted as the page shows them', () => {
  const written = [
    [0, '0'],
    [38597376, '38,597,376'],
    [0.1, '0.1'],
    [0.0001, '0.0001'],
    [8.5e-7, '8.5 × 10⁻⁷'],
    [99999.5, '100000'],
    [1234.5678, '1235'],
    [-0.25, '-0.25'],
    [3e20, '3 × 10²⁰'],
    [NaN, 'NaN'],
  ];
  assert.deepEqual(
    written.map(([x]) => text(x)),
    written.map(([, said]) => said),
  );
});

test('one flipped byte of a weight file makes claims of every tutorial fail', async () => {
  const bad = flipping(glassformer);
  for (const claims of all) {
    const [reference] = claims.filter((c) => c.id.endsWith('-reference'));
    const { ok, found } = await runClaim(reference, bad);
    assert.equal(ok, false, `${reference.id}: found ${found} after the flip`);
    assert.ok(Number(found.replace('off by ', '')) > 1e-4, found);
  }
});

// ---- faults: each claim must notice a wrong answer of the library

/** How an answer may be wrong. @type {Record<string, (answer: any, before: any) => any>} */
const WRONG = {
  numbers: (answer) => changed(answer, (x, i) => x * [1.3, 0.6, 2.5][i % 3] + 0.05 * (((i * 7919) % 11) - 5) + 0.01),
  shapes: (answer) => changed(answer, (x, _, key) => (key === 'shape' || key === 'out' ? x + 1 : x)),
  before: (_, before) => before,
  refusal: (answer) => answer, // none
};

/** What was answered, with other numbers. @param {any} answer @param {(x: number, i: number, key: string) => number} to */
function changed(answer, to) {
  let i = 0;
  const walk = (value, key) => {
    if (typeof value === 'number') return to(value, i++, key);
    if (ArrayBuffer.isView(value) || Array.isArray(value)) return value.map((each) => walk(each, key));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, walk(each, name)]));
  };
  return walk(answer, '');
}

/**
 * The library, the nth of whose answers is wrong.
 * @param {string} wrong
 * @param {number} n
 */
function faulty(wrong, n) {
  let answers = 0;
  const before = new Map();
  const answered = (name, value) => {
    if (value instanceof Promise)
      return value.then(
        (result) => answered(name, result),
        (error) => {
          if (wrong === 'refusal' && answers++ === n) return { dispose() {} };
          throw error;
        },
      );
    if (value === undefined) return value;
    if (typeof value === 'object' && !/^(Object|Array|\w+Array)$/.test(value?.constructor.name ?? ''))
      return watched(value);
    const said = answers++ === n ? WRONG[wrong](value, before.get(name) ?? value) : value;
    before.set(name, value);
    return said;
  };
  const watched = (of) =>
    new Proxy(of, {
      get(target, name) {
        const value = target[name];
        if (typeof name === 'symbol' || /^(PRESETS|toSafetensors)$/.test(name)) return value; // what is put in
        return typeof value === 'function' ? (...a) => answered(name, value.apply(target, a)) : answered(name, value);
      },
    });
  return { library: watched({ ...glassformer }), count: () => answers };
}

test('every claim fails when one of the answers that it asks for is wrong', async () => {
  const blind = [];
  for (const claim of all.flat().filter((c) => !c.slow)) {
    let noticed = false;
    for (let n = 0, count = 1; n < count && !noticed; n++)
      for (const wrong of Object.keys(WRONG)) {
        const { library, count: asked } = faulty(wrong, n);
        noticed ||= !(await runClaim(claim, library)).ok;
        count = Math.max(count, asked());
      }
    if (!noticed) blind.push(claim.id);
  }
  assert.deepEqual(blind, []);
});

// ---- the reference implementation agrees with PyTorch's values

test("the reference's erf agrees with a published table", () => {
  // from a table: Abramowitz and Stegun, 7.1
  for (const [x, y] of [
    [0, 0],
    [0.5, 0.5204998778],
    [1, 0.8427007929],
    [1.5, 0.9661051465],
    [2, 0.995322265],
    [2.4, 0.9993114861],
    [3, 0.9999779095],
  ]) {
    assert.ok(Math.abs(erf(x) - y) < 1e-9 && Math.abs(erf(-x) + y) < 1e-9, `erf(${x}) = ${erf(x)}`);
  }
});

/** Compare the reference with logits recorded from PyTorch. @param {string} name @param {string} root */
function agrees(name, root) {
  test(
    `the reference agrees with PyTorch: ${name}`,
    { skip: !existsSync(join(root, name)) && 'no shared reference data beside the project' },
    () => {
      const { folder, about, config, array } = openCase(name, root);
      const tensors = Object.fromEntries(
        Object.entries(readTensors(join(folder, 'model.safetensors'))).map(([k, t]) => [
          k.replace(/^transformer\./, ''),
          t,
        ]),
      );
      const logits = reference(tensors, config, about.input_ids, { source: about.src_ids });
      const off = distance(array('logits'), flat(logits));
      assert.ok(off < 5e-5, `off by ${off}`);
    },
  );
}
for (const name of ['t1_3layer_odd', 'gpt2_n_inner']) agrees(name, golden);
for (const name of ['t1_modern', 't1_untied', 't1_classic', 't2_encdec_causal', 't2_notebook_nomask'])
  agrees(name, shared ? join(shared, 'cases') : '/nowhere');
for (const name of ['t3_block', 't5_gpt', 'gpt2_prefix']) agrees(name, shared ? join(shared, 'cases') : '/nowhere');
