// laboratory.test.js - the built page in Chromium where models are compared, built, taken apart, passed on and walked
// through.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { relaxedSimd } from '../node-flags.js';
import { load } from '../../web/lib/index.js';
import { axe, browser, complete, openView, otherWords, resting, server, settled, top, visit } from './built_page.js';
import { quiet } from './quiet.js';

/** A fresh page with its model loaded. */
async function open(hash = '', how = {}) {
  const visitor = await visit({
    hash,
    acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'],
    ...how,
  });
  if (!hash) await settled(visitor.page);
  if (!/view=/.test(hash)) await visitor.page.waitForSelector('.tok', { timeout: 30_000 });
  return visitor;
}

const written = (page) =>
  page
    .locator('.tok:not(.given)')
    .allTextContents()
    .then((list) => list.join(''));
const number = (text) => Number(text.replace(/[^\d.−-]/g, '').replace('−', '-'));

/** Pick one of the shipped models in the dialog. */
async function choose(page, name) {
  await page.locator('.pill').click();
  await page.locator('dialog.models').getByRole('button', { name, exact: true }).click();
  await page.waitForFunction((name) => document.querySelector('.pill').textContent.startsWith(name), name, {
    timeout: 30_000,
  });
}

const compared = (page, name) =>
  page.waitForFunction(
    (name) => document.querySelector('.compare-models thead th:nth-child(3)').textContent === name,
    name,
    { timeout: 30_000 },
  );
const changed = (page) =>
  page.locator('.changes tbody tr').evaluateAll((rows) => rows.map((row) => [...row.cells].map((c) => c.textContent)));

test('what changed between two shipped models is told in words, and nothing that is the same in both', async () => {
  const { page, complaints, close } = await open();
  await openView(page, 'experiment');
  await page.locator('#preset').selectOption({ label: 'stories-GPT-2' });
  await compared(page, 'stories-GPT-2');
  const [one, two] = [await load(`${top}weights/stories.gguf`), await load(`${top}weights/stories-gpt2.gguf`)];
  const counts = await page.locator('.compare-models tr.total td').allTextContents();
  assert.deepEqual(counts.slice(0, 2).map(number), [one.parameters.total, two.parameters.total]);
  const list = await changed(page);
  for (const [name, key] of [
    ['d_model', 'dModel'],
    ['layers', 'nLayers'],
    ['heads', 'nHeads'],
    ['d_ff', 'dFf'],
  ]) {
    assert.deepEqual(
      list.find(([title]) => title === name)?.slice(1),
      [String(one.config[key]), String(two.config[key])],
      name,
    );
  }
  assert.deepEqual(list.find(([title]) => title === 'positions')?.slice(1), ['rotary', 'learned']);
  // equal in both: not told, not marked
  assert.equal(one.config.vocabSize, two.config.vocabSize);
  assert.ok(!list.some(([title]) => ['vocabulary', 'head tied', 'final norm'].includes(title)), list.join(' | '));
  assert.equal(await page.locator('.flows .box.head.differs').count(), 0);
  one.dispose();
  two.dispose();
  // a preset leaves open what the loaded model says: both have a final norm and no biases
  await page.locator('#preset').selectOption('llama-7b');
  await compared(page, 'llama-7b');
  const titles = (await changed(page)).map(([title]) => title);
  assert.ok(titles.includes('d_model') && titles.includes('head tied'));
  assert.deepEqual(
    titles.filter((title) => /biases|norm|FFN|positions|theta/.test(title)),
    [],
  );
  assert.deepEqual(await page.locator('.flows .box.norm.differs').allTextContents(), []);
  // the loaded one beside itself
  await page.locator('#preset').selectOption({ label: 'stories-5M' });
  await page.waitForFunction(() => /Both have the same settings/.test(document.querySelector('.changes').textContent));
  assert.equal(await page.locator('.flows .differs, .flows .unlike').count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test('an encoder-decoder with grouped queries, q and k norms and a d_head of its own is built, and writes', async () => {
  const { page, complaints, close } = await open();
  await openView(page, 'experiment');
  await page.locator('#preset').selectOption('tutorial-5');
  await page.locator('#build-kind').selectOption('encoder_decoder');
  for (const [key, value] of [
    ['vocabSize', 300],
    ['dModel', 48],
    ['nLayers', 2],
    ['nHeads', 6],
    ['nKvHeads', 2],
    ['dHead', 16],
    ['slidingWindow', 4],
  ])
    await page.locator(`#build-${key}`).fill(String(value));
  await page.locator('#build-position').selectOption('rope');
  await page.locator('#build-ropeTheta').fill('500');
  await page.locator('#build-qkNorm').check();
  await page.locator('.further summary').press('Enter');
  await page.locator('#build-ropeScaling').selectOption('linear');
  await page.locator('#build-ropeFactor').fill('2.5');
  // as many as the decoder's, since nobody said
  assert.equal(await page.locator('#build-nEncoderLayers').inputValue(), '2');
  await page.locator('#build-nEncoderLayers').fill('3');
  // by hand: q 96 x 48, k and v 32 x 48, o 48 x 96, norms of q and k 16 each in self-attention only; FFN 2 x 48 x 192;
  // LayerNorms 2 x 48
  const attention = 96 * 48 + 2 * 32 * 48 + 48 * 96,
    own = attention + 2 * 16,
    ffn = 2 * 48 * 192,
    norm = 96;
  const total = 300 * 48 + 3 * (own + ffn + 2 * norm) + norm + 2 * (own + attention + ffn + 3 * norm) + norm;
  await page.waitForFunction(
    (total) =>
      Number(document.querySelector('.compare-models tr.total td:nth-child(3)').textContent.replace(/\D/g, '')) ===
      total,
    total,
  );
  await page.getByRole('button', { name: 'Make it with random weights' }).click();
  await page.waitForFunction(() => /random weights/.test(document.querySelector('.pill').textContent));
  await openView(page, 'write');
  await page.waitForSelector('.tok');
  await page.locator('#pace').selectOption('fast');
  await page.locator('#max-tokens').fill('4');
  await page.locator('.go').click();
  await resting(page);
  assert.equal(await page.locator('.tok:not(.given)').count(), 4);
  assert.equal(await page.locator('.error').isVisible(), false);
  assert.match(await page.locator('.anatomy-svg').textContent(), /6 heads, cross-attention[^]*Encoder, 3 blocks/);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('.stream').getByRole('button', { name: 'Save as JSON' }).click(),
  ]);
  const { config } = JSON.parse(readFileSync(await download.path(), 'utf8')).model;
  assert.deepEqual(
    [
      config.kind,
      config.dHead,
      config.nKvHeads,
      config.slidingWindow,
      config.ropeTheta,
      config.ropeScaling,
      config.ropeFactor,
      config.qkNorm,
      config.nEncoderLayers,
    ],
    ['encoder_decoder', 16, 2, 4, 500, 'linear', 2.5, true, 3],
  );
  // its address is all that it takes to have it again, text included
  const idsOf = (page) => page.locator('.tok').evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
  const link = new URL(await copied(page, 'Copy link'));
  const second = await open(link.hash);
  await complete(second.page, 4);
  assert.match(await second.page.locator('.pill').textContent(), /^random weights/);
  assert.deepEqual(await idsOf(second.page), await idsOf(page));
  await second.close();
  const q = new URLSearchParams(link.hash.slice(1));
  for (const bad of [
    { ...JSON.parse(q.get('made')), nKvHeads: 4 },
    { ...JSON.parse(q.get('made')), vocabSize: 1e7 },
    'no description',
  ]) {
    q.set('made', JSON.stringify(bad));
    const third = await open(`#${q}`);
    await third.page.waitForFunction(() =>
      /made with “random weights”/.test(document.querySelector('.told').textContent),
    );
    assert.match(await third.page.locator('.pill').textContent(), /^stories/);
    assert.equal(await third.page.locator('.tok:not(.given)').count(), 0);
    await third.close();
  }
  // what cannot be is refused in a sentence, and nothing is made of it
  await openView(page, 'experiment');
  await page.locator('#build-nKvHeads').fill('4');
  await page.waitForFunction(() =>
    /n_heads 6 is not a multiple of n_kv_heads 4/.test(document.querySelector('.compare-models .wrong').textContent),
  );
  assert.equal(
    await page.getByRole('button', { name: 'Make it with random weights' }).getAttribute('aria-disabled'),
    'true',
  );
  assert.deepEqual(complaints, []);
  await close();
});

/** Walk from the first stop to the last and take down what is said. */
async function walk(page) {
  await page.getByRole('button', { name: 'Guided walk' }).click();
  const said = {};
  for (let i = 1; ; i++) {
    await page.waitForFunction((i) => document.querySelector('.walk .num')?.textContent.startsWith(`${i} of`), i);
    said[await page.locator('#h-walk').textContent()] = await page.locator('.walk p').textContent();
    const last = (await page.locator('.walk .primary').textContent()) === 'Done';
    await page.locator('.walk .primary').click();
    if (last) return said;
  }
}

// The 2017 model adds sinusoids and rescales the stream itself, and reads letter by letter: the walk once said the
// opposite of all three.
test('the guided walk tells of the model that is loaded', async () => {
  const { page, complaints, close } = await open();
  const modern = await walk(page);
  assert.match(
    modern['Tokens and their rows'],
    /cut into \d+ pieces, here words and parts of words, from a fixed list of 2,048[^]*Nothing in them says yet where/,
  );
  assert.match(modern['One scale'], /^Before anything reads[^]*left as it is/);
  assert.match(modern['Query, key, value'], /rotated by an angle/);
  assert.match(modern['The stream'], /nothing overwrites it/);
  assert.match(modern['Back to words'], /the same one as at the beginning/);
  assert.ok(!('Across' in modern));
  await choose(page, 'stories-GPT-2');
  const gpt2 = await walk(page);
  assert.match(gpt2['Tokens and their rows'], /A second row, chosen by the place in the text, is added/);
  assert.doesNotMatch(gpt2['Query, key, value'], /angle/);
  await choose(page, 'dates');
  await openView(page, 'write');
  await resting(page);
  const dates = await walk(page);
  assert.match(
    dates['Tokens and their rows'],
    /The text that it reads is cut into 34 pieces, here single letters, from a fixed list of 257[^]*Sines and cosines/,
  );
  assert.match(dates['One scale'], /^After each sum[^]*the stream itself/);
  assert.match(dates['Across'], /all 34 tokens/);
  assert.match(dates['Back to words'], /a table of its own/);
  assert.doesNotMatch(
    Object.values(dates).join(' '),
    /left as it is|nothing overwrites|never sees letters|rotated by an angle/,
  );
  const config = JSON.parse(readFileSync(`${top}weights/dates/config.json`, 'utf8'));
  await page.locator('#model-file').setInputFiles([
    {
      name: 'config.json',
      mimeType: 'application/json',
      buffer: Buffer.from(
        JSON.stringify({ ...config, use_norm: false, use_residual: false, use_position: false, scale_scores: false }),
      ),
    },
    ...['model.safetensors', 'tokenizer.json'].map((name) => ({
      name,
      mimeType: '',
      buffer: readFileSync(`${top}weights/dates/${name}`),
    })),
  ]);
  await page.waitForFunction(() => !/^dates/.test(document.querySelector('.pill').textContent));
  const bare = await walk(page);
  assert.ok(!('One scale' in bare));
  assert.match(bare['Tokens and their rows'], /Nothing in them says where/);
  assert.match(bare['Scores'], /divide by √16; this one was told not to/);
  assert.match(bare['The stream'], /told not to: each part passes on only what it made/);
  assert.deepEqual(complaints, []);
  await close();
});

test('heads across and parts of the encoder are switched off, from the grid, from the picture and from an address', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/dates/&source=the 1st of may, 1999&prompt=&written=10',
  );
  await page.waitForFunction(
    () => [...document.querySelectorAll('.tok:not(.given)')].map((t) => t.textContent).join('') === '1999-05-01',
  );
  const dates = await load(`${top}weights/dates/`);
  const all = await page.locator('.tok').evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
  const bits = async (edits) => {
    const {
      logits: {
        data,
        shape: [n, size],
      },
    } = await dates.forward(all, { source: 'the 1st of may, 1999', edits });
    let sum = 0;
    for (let p = 0; p + 1 < n; p++) {
      const row = data.subarray(p * size, (p + 1) * size),
        max = row.reduce((a, b) => Math.max(a, b), -Infinity);
      sum += Math.log2(row.reduce((s, x) => s + Math.exp(x - max), 0)) - (row[all[p + 1]] - max) / Math.LN2;
    }
    return sum / (n - 1);
  };
  const shown = async () => {
    const [, figure, power] = /([\d.]+)(?: × 10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+))? bits a token/.exec(
      (await page.locator('.compare .num').filter({ hasText: 'bits a token' }).allTextContents())[1],
    );
    return Number(figure) * 10 ** -Number([...(power ?? '⁰')].map((c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(c)).join(''));
  };
  const closeTo = async (edits, what) => {
    const want = await bits(edits),
      got = await shown();
    assert.ok(Math.abs(got - want) < 0.02 * want + 6e-4, `${what}: shown ${got}, expected ${want}`);
    return want;
  };
  const without = (what) =>
    page.waitForFunction((what) => document.querySelector('.compare')?.textContent.includes(what), what, {
      timeout: 30_000,
    });
  await openView(page, 'experiment');
  await page
    .locator('.switches')
    .getByRole('button', { name: /^encoder layer 2, FFN/ })
    .press('Enter');
  await without('Without encoder layer 2, FFN');
  const first = await closeTo([{ at: 'encoder.1.hook_mlp_out', scale: 0 }], 'an FFN of the encoder');
  assert.ok(first > 2 * (await bits([])), 'it changed nothing');
  // two heads that look across from the first layer, one from the picture
  await page.getByRole('button', { name: 'All on' }).click();
  await openView(page, 'inside');
  await page.getByRole('radio', { name: 'across', exact: true }).click();
  await page.locator('.tile[aria-label="layer 1, head 3"]').click();
  await page.getByRole('button', { name: 'Switch this head off' }).click();
  await openView(page, 'experiment');
  await without('Without layer 1, head 3, across');
  await closeTo([{ at: 'decoder.0.cross_attn.hook_z', head: 2, scale: 0 }], 'a head across');
  await page
    .locator('.switches')
    .getByRole('button', { name: /^layer 1, head 2, across/ })
    .click();
  await without('Without 2 parts');
  const edits = [2, 1].map((head) => ({ at: 'decoder.0.cross_attn.hook_z', head, scale: 0 }));
  const second = await closeTo(edits, 'two heads across');
  assert.ok(second > 0.05, 'they changed nothing');
  await page.waitForFunction(() => /off=x0\.2%2Cx0\.1/.test(location.hash));
  const again = await open(`${new URL(page.url()).hash.replace('off=', 'off=e7.0,')}`);
  await again.page.waitForFunction(
    () => document.querySelector('.compare')?.textContent.includes('Without 2 parts'),
    null,
    { timeout: 30_000 },
  );
  await again.close();
  dates.dispose();
  assert.deepEqual(complaints, []);
  await close();
});

const copied = async (page, name) => {
  await page.getByRole('button', { name, exact: true }).click();
  await page.getByRole('button', { name: 'Copied', exact: true }).waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
};

/** What a program prints that was copied from the page. */
async function printed(program) {
  const folder = mkdtempSync(join(tmpdir(), 'glassformer-copied-'));
  try {
    writeFileSync(
      join(folder, 'copied.mjs'),
      program.replace("'glassformer'", JSON.stringify(new URL('../../web/lib/index.js', import.meta.url).href)),
    );
    const { stdout } = await promisify(execFile)(process.execPath, [...relaxedSimd, join(folder, 'copied.mjs')]);
    return stdout.trim().split('\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('a copied program prints the text of the page, that of a branch, and the text without the parts that are off', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=12',
  );
  await complete(page, 12);
  await openView(page, 'experiment');
  await page.getByRole('button', { name: /^layer 1, FFN/ }).click();
  await page.waitForFunction(() => /Without layer 1, FFN/.test(document.querySelector('.compare').textContent));
  const without = await page.locator('.compare .story').nth(1).textContent();
  await openView(page, 'write');
  const tokens = await page.locator('.tok:not(.given)').evaluateAll((list) => list.map((t) => t.textContent.trim()));
  const lines = await printed(await copied(page, 'Copy as JavaScript'));
  assert.deepEqual(
    lines.slice(0, 12).map((line) => JSON.parse(/^(".*") after reading \d+$/.exec(line)[1]).trim()),
    tokens,
  );
  assert.equal(
    lines
      .slice(12)
      .map((line) => JSON.parse(line))
      .join(''),
    without,
  );
  // another token chosen: no seed gives this text, its ids do
  await page.locator('#pace').selectOption('fast');
  await page.locator('#max-tokens').fill('12');
  await page.locator('.tok.given').last().click();
  await page.waitForFunction(
    () => document.querySelector('.bar.on') && /entropy/.test(document.querySelector('#h-next').textContent),
  );
  const before = await page.locator('.tok').evaluateAll((list) =>
    list
      .slice(0, -10)
      .map((t) => t.dataset.id)
      .join(),
  );
  await (await otherWords(page)).first().click();
  await page.waitForFunction((before) => {
    // it goes on from there
    const ids = [...document.querySelectorAll('.tok')].map((t) => t.dataset.id);
    return document.querySelectorAll('.tok:not(.given)').length > 1 && !ids.join().startsWith(before);
  }, before);
  await resting(page);
  const ids = await page.locator('.tok').evaluateAll((list) => list.map((t) => t.dataset.id));
  const again = await printed(await copied(page, 'Copy as JavaScript'));
  assert.deepEqual(
    again.slice(0, ids.length).map((line) => /^(\d+) reads \d+$/.exec(line)[1]),
    ids,
  );
  // the file says the same, and more
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('.stream').getByRole('button', { name: 'Save as JSON' }).click(),
  ]);
  const saved = JSON.parse(readFileSync(await download.path(), 'utf8'));
  assert.deepEqual(
    saved.tokens.map((t) => String(t.id)),
    ids,
  );
  assert.deepEqual(saved.off, [{ at: 'blocks.0.hook_mlp_out', scale: 0 }]);
  assert.deepEqual(
    [saved.branches.length, saved.fromSeedAlone, saved.model.address],
    [1, false, 'weights/stories-1m.gguf'],
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('a program copied from two stacks, and one from a model built here, run as they are', async () => {
  const { page, complaints, close } = await open('#model=weights/dates/&source=3 JAN 2001&prompt=&t=0&written=10');
  await complete(page, 10);
  const date = (await printed(await copied(page, 'Copy as JavaScript')))
    .map((line) => JSON.parse(/^(".*") after/.exec(line)[1]))
    .join('');
  assert.equal(date, '2001-01-03');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('.stream').getByRole('button', { name: 'Save as JSON' }).click(),
  ]);
  assert.equal(JSON.parse(readFileSync(await download.path(), 'utf8')).source, '3 JAN 2001');
  await openView(page, 'experiment');
  await page.locator('#preset').selectOption('tutorial-5');
  await page.locator('#build-kind').selectOption('encoder_decoder');
  await page.getByRole('button', { name: 'Make it with random weights' }).click();
  await page.waitForFunction(
    () => /random weights/.test(document.querySelector('.pill').textContent) && document.querySelector('.tok'),
  );
  await openView(page, 'write');
  await page.locator('#pace').selectOption('fast');
  await page.locator('#max-tokens').fill('3');
  await page.locator('.go').click();
  await resting(page);
  const program = await copied(page, 'Copy as JavaScript');
  assert.match(program, /await create\(\{/);
  assert.equal((await printed(program)).length, await page.locator('.tok:not(.given)').count());
  assert.deepEqual(complaints, []);
  await close();
});

// It once opened stories-1M with another text, unsaid.
test('an address of a model that is not here keeps what holds, and says so', async () => {
  const { page, close } = await open();
  await page.locator('#model-file').setInputFiles({
    name: 'mine.gguf',
    mimeType: 'application/octet-stream',
    buffer: readFileSync(`${top}weights/stories-1m.gguf`),
  });
  await page.waitForFunction(() => /^mine\.gguf/.test(document.querySelector('.pill').textContent));
  await page.locator('#pace').selectOption('fast');
  await page.locator('#max-tokens').fill('5');
  await page.getByLabel('Prompt', { exact: true }).fill('The cat');
  await page.getByLabel('Prompt', { exact: true }).press('Enter');
  await resting(page);
  const link = new URL(await copied(page, 'Copy link'));
  await close();
  assert.match(link.hash, /from=mine\.gguf&prompt=The\+cat/);
  assert.doesNotMatch(link.hash, /written=|ids=|model=|head=/);
  const second = await open(link.hash);
  await second.page.waitForFunction(() => /made with “mine\.gguf”/.test(document.querySelector('.told').textContent));
  assert.equal(await second.page.getByRole('button', { name: 'Load that model' }).isVisible(), false);
  assert.match(await second.page.locator('.text').innerText(), /The cat$/);
  await second.close();
  // one that lies elsewhere is not asked for until the visitor does
  const away = 'https://models.example/far.gguf';
  const context = await browser.newContext({ reducedMotion: 'reduce', serviceWorkers: 'block' });
  const third = await context.newPage();
  const asked = [];
  await third.route('https://models.example/**', (route) => {
    asked.push(route.request().url());
    return route.fulfill({
      body: readFileSync(`${top}weights/stories-1m.gguf`),
      headers: { 'access-control-allow-origin': '*' },
    });
  });
  await third.goto(`${server.url}#model=${encodeURIComponent(away)}&prompt=The+cat&ids=1.2.3&head=4.4`);
  await third.waitForFunction(
    () => /not on this page/.test(document.querySelector('.told')?.textContent) && document.querySelector('.tok'),
  );
  assert.equal(await third.locator('.tok:not(.given)').count(), 0);
  assert.deepEqual(asked, []);
  await third.getByRole('button', { name: 'Load that model' }).click();
  await third.waitForFunction(() => /^far\.gguf/.test(document.querySelector('.pill').textContent));
  assert.deepEqual([...new Set(asked)], [away]);
  assert.equal(await third.locator('.told').isVisible(), false);
  await context.close();
});

test('a folder is chosen, and one is dropped; what lies in folders of it is left alone', async () => {
  const { page, complaints, close } = await open();
  const folder = join(mkdtempSync(join(tmpdir(), 'glassformer-folder-')), 'my dates');
  for (const name of ['onnx', 'notes']) mkdirSync(join(folder, name), { recursive: true });
  for (const name of ['config.json', 'model.safetensors', 'tokenizer.json'])
    copyFileSync(`${top}weights/dates/${name}`, join(folder, name));
  writeFileSync(join(folder, 'onnx', 'config.json'), '{"model_type": "of another"}');
  for (const name of ['one.txt', 'two.txt']) writeFileSync(join(folder, 'notes', name), 'no model');
  await page.locator('#model-folder').setInputFiles(folder);
  await page.waitForFunction(
    () => /^my dates · 233,601 parameters/.test(document.querySelector('.pill').textContent),
    null,
    { timeout: 30_000 },
  );
  await choose(page, 'stories-1M');
  const devtools = await page.context().newCDPSession(page);
  await quiet(page);
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    // a browser drops only where the page has said that it takes files
    if (type === 'drop') await page.waitForFunction(() => document.body.classList.contains('dropping'));
    await devtools.send('Input.dispatchDragEvent', {
      type,
      x: 400,
      y: 300,
      data: { items: [], files: [folder], dragOperationsMask: 1 },
    });
  }
  await page.waitForFunction(
    () => /^my dates · 233,601 parameters/.test(document.querySelector('.pill').textContent),
    null,
    { timeout: 30_000 },
  );
  assert.match(await page.locator('[data-role="about"]').textContent(), /^encoder-decoder/);
  // one without a model is refused in a sentence
  await page.locator('#model-folder').setInputFiles(join(folder, 'notes'));
  await page.waitForFunction(() => !document.querySelector('.error').hidden);
  assert.match(
    await page.locator('.error [role="alert"]').textContent(),
    /there is no config\.json.*my dates is still here and works/,
  );
  rmSync(join(folder, '..'), { recursive: true, force: true });
  assert.deepEqual(complaints, []);
  await close();
});

/** The library's loss of a text in bits a token, and how its beginning goes on. */
async function tried(api, ids, given, options = {}) {
  const {
    logits: {
      data,
      shape: [n, size],
    },
  } = await api.forward(ids, options);
  let bits = 0;
  for (let p = 0; p + 1 < n; p++) {
    const row = data.subarray(p * size, (p + 1) * size),
      max = row.reduce((a, b) => Math.max(a, b), -Infinity);
    bits += Math.log2(row.reduce((sum, x) => sum + Math.exp(x - max), 0)) - (row[ids[p + 1]] - max) / Math.LN2;
  }
  let text = '';
  for await (const step of api.generate(given, { ...options, temperature: 0, maxTokens: 24 })) text += step.text;
  return { bits: bits / (n - 1), text: text.trim() };
}
const figure = (text) => {
  const [, digits, power] = /^([\d.]+)(?: × 10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?$/.exec(text) ?? assert.fail(text);
  return Number(digits) * 10 ** -Number([...(power ?? '⁰')].map((c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(c)).join(''));
};
const broken = (page) =>
  page.locator('.broken tbody tr').evaluateAll((rows) => rows.map((row) => [...row.cells].map((c) => c.textContent)));
const tryAll = async (page) => {
  await openView(page, 'experiment');
  await quiet(page); // while a text is written nothing is tried
  await page.getByRole('button', { name: 'Break it, one idea at a time' }).click();
  await page.waitForFunction(
    () => document.querySelectorAll('.broken tbody tr').length > 4 && document.querySelector('.break progress').hidden,
    null,
    { timeout: 60_000 },
  );
  return broken(page);
};
const IDEAS = {
  'without the mask': 'causal',
  'without ÷ √d': 'scaleScores',
  'without positions': 'usePosition',
  'without the residual stream': 'useResidual',
  'without norms in the blocks': 'useNorm',
  'without the final norm': 'useFinalNorm',
};

test('each idea is left out by itself, on a fixed text, and on the text above where that is chosen', async () => {
  const { page, complaints, close } = await open('#model=weights/stories-1m.gguf&prompt=The cat&seed=3&written=20');
  await complete(page, 20);
  const rows = await tryAll(page);
  const fixed = /“([^]+)”/.exec(await page.locator('.break .hint').textContent())[1];
  assert.ok(fixed.length > 100);
  for (const [name, bits, text] of rows) {
    const key = Object.entries(IDEAS).find(([title]) => name.startsWith(title))?.[1];
    const api = await load(`${top}weights/stories-1m.gguf`, key && { switches: { [key]: false } });
    const want = await tried(api, await api.encode(fixed), await api.encode(fixed.slice(0, fixed.indexOf('.') + 1)));
    api.dispose();
    assert.ok(Math.abs(figure(bits) - want.bits) < 0.01 * want.bits, `${name}: ${bits}, expected ${want.bits}`);
    assert.equal(text, want.text || '(no text)', name);
  }
  assert.equal(rows.length, 7);
  await page.locator('#break-text').selectOption('own');
  assert.equal(await page.locator('.broken').isVisible(), false, 'the figures of another text are still there');
  const own = await tryAll(page);
  assert.notEqual(own[0][1], rows[0][1]);
  const api = await load(`${top}weights/stories-1m.gguf`);
  const all = await page.locator('.tok').evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
  assert.ok(Math.abs(figure(own[0][1]) - (await tried(api, all, all.slice(0, 3))).bits) < 0.006);
  api.dispose();
  assert.deepEqual(complaints, []);
  await close();
});

test('an encoder-decoder and a model built here are broken too; an encoder is told why not', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/dates/&source=the 1st of may, 1999&prompt=&t=0&written=10',
  );
  await complete(page, 10);
  const rows = await tryAll(page);
  const all = await page.locator('.tok').evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
  for (const [name, bits, text] of rows) {
    const key = Object.entries(IDEAS).find(([title]) => name.startsWith(title))?.[1];
    const dates = await load(`${top}weights/dates/`, key && { switches: { [key]: false } });
    const want = await tried(dates, all, all.slice(0, 1), { source: 'the 1st of may, 1999' });
    dates.dispose();
    assert.ok(Math.abs(figure(bits) - want.bits) < 0.06 * want.bits, `${name}: ${bits}, expected ${want.bits}`);
    assert.equal(text, want.text || '(no text)', name);
  }
  assert.equal(rows.length, 6, 'it has no final norm to leave out');
  await page.locator('#preset').selectOption('tutorial-3'); // its context holds 16 tokens
  const build = page.getByRole('button', { name: 'Make it with random weights' });
  await build.click();
  await page.waitForFunction(
    () => /random weights/.test(document.querySelector('.pill').textContent) && document.querySelector('.tok'),
  );
  const random = await tryAll(page);
  assert.ok(
    random.every(([, bits]) => Math.abs(figure(bits) - 8) < 1),
    `256 tokens, all alike, are 8 bits: ${random.map(([, bits]) => bits).join(', ')}`,
  );
  await openView(page, 'write');
  assert.ok((await page.locator('.tok').count()) <= 8, 'the prompt leaves no room to write');
  await openView(page, 'experiment');
  await page.locator('#build-kind').selectOption('encoder');
  await build.click();
  await page.waitForFunction(() => /An encoder predicts no token/.test(document.querySelector('.break').textContent));
  assert.equal(await page.getByRole('button', { name: 'Break it, one idea at a time' }).isVisible(), false);
  assert.match(await page.locator('.ablate h2').textContent(), /predicts no token/);
  assert.deepEqual(complaints, []);
  await close();
});

test('two texts that part are set side by side, each with its log-probability', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=16&pace=fast',
  );
  await complete(page, 16);
  const ids = () => page.locator('.tok').evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
  const left = await ids();
  const at = left.length - 12;
  await page.locator('#max-tokens').fill('16');
  await page
    .locator('.tok')
    .nth(at - 1)
    .click();
  await page.waitForFunction(
    () => document.querySelector('.bar.on') && /entropy/.test(document.querySelector('#h-next').textContent),
  );
  await (await otherWords(page)).first().click();
  await resting(page);
  const now = await ids();
  assert.deepEqual(now.slice(0, at), left.slice(0, at));
  assert.notEqual(now[at], left[at]);
  const compare = page.locator('.branches').getByRole('button', { name: 'Compare' });
  await compare.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('.beside .num').length === 2);
  const api = await load(`${top}weights/stories-1m.gguf`);
  const bitsFrom = async (all) => {
    const {
      logits: {
        data,
        shape: [n, size],
      },
    } = await api.forward(all);
    return Array.from({ length: n - at }, (_, i) => {
      const row = data.subarray((at + i - 1) * size, (at + i) * size),
        max = row.reduce((a, b) => Math.max(a, b), -Infinity);
      return Math.log2(row.reduce((sum, x) => sum + Math.exp(x - max), 0)) - (row[all[at + i]] - max) / Math.LN2;
    });
  };
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const bits = [await bitsFrom(now), await bitsFrom(left)];
  api.dispose();
  const said = await page.locator('.beside .num').allTextContents();
  said.forEach((text, i) => {
    const [, log, n] = /^log₂ p = (-[\d.]+) over (\d+) tokens/.exec(text) ?? assert.fail(text);
    assert.equal(Number(n), bits[i].length);
    assert.ok(Math.abs(Number(log) + sum(bits[i])) < 0.06, `${text}, expected ${-sum(bits[i])}`);
  });
  const n = Math.min(bits[0].length, bits[1].length);
  const by = sum(bits[1].slice(0, n)) - sum(bits[0].slice(0, n));
  const [, tokens, which, lead] =
    /Over the (\d+) tokens that both have, (this version|the previous version) is more likely, by ([\d.]+) bits/.exec(
      await page.locator('.beside .hint').textContent(),
    );
  assert.deepEqual([Number(tokens), which], [n, by >= 0 ? 'this version' : 'the previous version']);
  assert.ok(Math.abs(Number(lead) - Math.abs(by)) < 0.06);
  // taken up again, the two change places, and the button keeps the focus
  const [first, second] = await page.locator('.beside .story').allTextContents();
  await page
    .locator('.branches')
    .getByRole('button', { name: /^Back to/ })
    .press('Enter');
  await page.waitForFunction((text) => document.querySelector('.beside .story')?.textContent === text, second);
  assert.equal(await page.locator('.beside .story').nth(1).textContent(), first);
  assert.ok(await page.evaluate(() => document.activeElement.matches('.branches button')));
  await page.evaluate(axe);
  assert.deepEqual(await page.evaluate(async () => (await window.axe.run('.stream')).violations.map((v) => v.id)), []);
  assert.deepEqual(complaints, []);
  await close();
});

test('the map of memory names every region, and the cache of two texts is predicted by hand', async () => {
  const { page, complaints, close } = await open('#model=weights/dates/&source=3 JAN 2001&prompt=&t=0&written=10');
  await complete(page, 10);
  await openView(page, 'count');
  await page.waitForFunction(() =>
    /kv cache of 11 tokens and 10 of the source/.test(document.querySelector('.memory').textContent),
  );
  const predicted = await page.locator('.memory tr', { hasText: 'kv cache of' }).locator('td').first().textContent();
  assert.equal(number(predicted.replaceAll(',', '')), 2 * 2 * 64 * 4 * (11 + 10)); // k and v, two layers, d_model, f32
  const kinds = await page.locator('.map .piece').evaluateAll((list) => list.map((e) => e.className));
  assert.deepEqual(kinds, ['piece base', 'piece weights', 'piece kv', 'piece kv-free', 'piece scratch', 'piece free']);
  assert.deepEqual(complaints, []);
  await close();
});

test('the values of a stage are there as a table, a few columns at a time', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=8',
  );
  await complete(page, 8);
  await page.locator('.stage', { hasText: 'SwiGLU' }).press('Enter');
  await page.getByRole('radio', { name: 'activated gate × up', exact: true }).press('Enter');
  await page.locator('.values .as-table summary').press('Enter');
  const api = await load(`${top}weights/stories-1m.gguf`);
  const all = await page.locator('.tok').evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
  const point = /(blocks\.\d\.mlp\.hook_post)/.exec(await page.locator('.values .cell').textContent())[1];
  const {
    data,
    shape: [n, width],
  } = (await api.forward(all, { capture: [point] })).captured[point];
  api.dispose();
  const shown = async (from) => {
    await page.waitForFunction(
      (text) => document.querySelector('.values .takes output').textContent === text,
      `${from} to ${Math.min(width, from + 16) - 1} of ${width}`,
    );
    const rows = await page
      .locator('.values tbody tr')
      .evaluateAll((list) =>
        list.map((row) => [...row.querySelectorAll('td')].map((c) => Number(c.textContent.replace('−', '-')))),
      );
    assert.deepEqual([rows.length, rows[0].length], [n, Math.min(16, width - from)]);
    rows.forEach((row, p) =>
      row.forEach((x, i) =>
        assert.ok(
          Math.abs(x - data[p * width + from + i]) < 2e-4,
          `position ${p}, number ${from + i}: ${x}, expected ${data[p * width + from + i]}`,
        ),
      ),
    );
  };
  await shown(0);
  await page.getByRole('button', { name: 'Next numbers' }).press('Enter');
  await shown(16);
  await page.getByRole('button', { name: 'Previous numbers' }).press('Enter');
  await shown(0);
  await page.evaluate(axe);
  assert.deepEqual(await page.evaluate(async () => (await window.axe.run('.anatomy')).violations.map((v) => v.id)), []);
  assert.deepEqual(complaints, []);
  await close();
});

// The lanes' ribbons once shared a class with the diagram of two models, whose style showed what was hidden.
test('the picture of a pass has a lane for each token and no more, and all keys where there is no mask', async () => {
  const { page, complaints, close } = await open('#model=weights/stories-1m.gguf&prompt=The cat');
  const drawn = (selector) =>
    page.locator(selector).evaluateAll((list) => list.filter((e) => getComputedStyle(e).display !== 'none').length);
  await page.locator('.anatomy').scrollIntoViewIfNeeded();
  await page.waitForFunction(
    () => document.querySelectorAll('.tok').length === 3 && document.querySelector('.anatomy-svg .lane'),
  );
  await page.waitForFunction(
    () =>
      [...document.querySelectorAll('.anatomy-svg .lane')].filter((e) => getComputedStyle(e).display !== 'none')
        .length === 3,
  );
  assert.equal(await drawn('.anatomy-svg .lane-flow'), 3);
  assert.equal(await drawn('.anatomy-svg .dot:not(.early)'), 9);
  assert.equal(await drawn('.anatomy-svg .dot.masked'), 3);
  await openView(page, 'experiment');
  await page.locator('#preset').selectOption('tutorial-3');
  await page.locator('#build-kind').selectOption('encoder');
  await page.getByRole('button', { name: 'Make it with random weights' }).click();
  await page.waitForFunction(() => /random weights/.test(document.querySelector('.pill').textContent));
  await openView(page, 'write');
  await page.waitForFunction(() => document.querySelectorAll('.tok').length === 7);
  await page.locator('.anatomy').scrollIntoViewIfNeeded();
  await page.waitForFunction(
    () =>
      [...document.querySelectorAll('.anatomy-svg .lane')].filter((e) => getComputedStyle(e).display !== 'none')
        .length === 7,
  );
  assert.equal(await drawn('.anatomy-svg .dot:not(.early)'), 49);
  assert.equal(await page.locator('.anatomy-svg .dot.masked').count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

for (const [colorScheme, device, width, height] of /** @type {['light' | 'dark', string, number, number][]} */ ([
  ['light', 'phone', 390, 844],
  ['dark', 'desktop', 1440, 900],
])) {
  test(`axe-core finds nothing where models are compared, broken and walked through: ${colorScheme}, ${device}`, async () => {
    const { page, close } = await open(
      '#model=weights/dates/&source=3 JAN 2001&prompt=&t=0&written=10&off=e0.ffn,x1.1',
      { width, height, colorScheme },
    );
    await complete(page, 10);
    await openView(page, 'experiment');
    await page.waitForFunction(() => /Without 2 parts/.test(document.querySelector('.compare')?.textContent), null, {
      timeout: 30_000,
    });
    await page.locator('#preset').selectOption({ label: 'stories-GPT-2' });
    await compared(page, 'stories-GPT-2');
    await page.locator('.further summary').press('Enter');
    await tryAll(page);
    const clean = async (what) => {
      await quiet(page);
      assert.deepEqual(
        await page.evaluate(async () =>
          (await window.axe.run()).violations.map(
            (v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`,
          ),
        ),
        [],
        what,
      );
      assert.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
        `the page scrolls sideways: ${what}`,
      );
    };
    await page.evaluate(axe);
    await clean('experiments');
    if (width < 544) await openView(page, 'learn'); // the phone's header has no room for the button
    await page.getByRole('button', { name: width < 544 ? /walk through the views/ : 'Guided walk' }).press('Enter');
    await page.waitForSelector('.walk .primary');
    await clean('guided walk');
    await close();
  });
}

test('what is switched off is written beside the healthy text, which stays', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=12',
  );
  await complete(page, 12);
  const texts = () => page.locator('.side-by-side .story').allTextContents();
  const isWritten = (outcome) =>
    quiet(
      page,
      `document.querySelectorAll('.side-by-side .story').length === 2 &&
      ${outcome}.test(document.querySelector('.live .outcome').textContent)`,
    );
  const expected = async (options, edits = [], switches = undefined) => {
    const api = await load(`${top}weights/stories-1m.gguf`, switches && { switches });
    let text = 'Once upon a time';
    for await (const step of api.generate('Once upon a time', { ...options, edits, maxTokens: 48 })) text += step.text;
    api.dispose();
    return text;
  };
  const likeliest = { temperature: 0 };
  const sampled = { temperature: 0.8, topK: 40, topP: 0.95, seed: 3 };
  const press = (name) => page.locator('.ideas').getByRole('button', { name }).press('Enter');
  await openView(page, 'experiment');
  await page.waitForSelector('.ideas');
  assert.equal(await page.locator('.side-by-side').count(), 0);

  await press('without positions');
  await isWritten('/differ from token \\d+ on/');
  const healthy = await expected(likeliest);
  assert.deepEqual(await texts(), [healthy, await expected(likeliest, [], { usePosition: false })]);
  // where they part is marked, from there on
  const changed = (await page.locator('.side-by-side .changed').allTextContents()).join('');
  assert.ok(changed && (await texts())[1].endsWith(changed));

  // a second idea: only the broken text is written again
  await page
    .locator('[data-role="healthy"] span')
    .last()
    .evaluate((e) => (e.dataset.kept = 'yes'));
  await press('without ÷ √d');
  const both = await expected(likeliest, [], { usePosition: false, scaleScores: false });
  await quiet(page, `document.querySelectorAll('.side-by-side .story')[1]?.textContent === ${JSON.stringify(both)}`);
  assert.equal(await page.locator('[data-role="healthy"] [data-kept]').count(), 1, 'the healthy text did not stay');

  // parts that are off in the grid count too, and the seed draws the same numbers for both
  await press('without positions');
  await press('without ÷ √d');
  await page.getByRole('button', { name: /^layer 1, FFN/ }).click();
  await page.locator('#live-choosing').selectOption('seed');
  const cut = await expected(sampled, [{ at: 'blocks.0.hook_mlp_out', scale: 0 }]);
  await quiet(page, `document.querySelectorAll('.side-by-side .story')[1]?.textContent === ${JSON.stringify(cut)}`);
  assert.deepEqual(await texts(), [await expected(sampled), cut]);
  assert.match(await page.locator('.live').textContent(), /Also off, from “Switch parts off”: layer 1, FFN\./);

  await page.getByRole('button', { name: 'All on' }).click();
  await page.waitForFunction(() => /Nothing is off/.test(document.querySelector('.live .outcome').textContent));
  assert.deepEqual(complaints, []);
  await close();
});

test('the grid of parts is one tab stop, and arrow keys move over it', async () => {
  const { page, complaints, close } = await open('#model=weights/dates/&source=3 JAN 2001&prompt=&t=0&written=10');
  await complete(page, 10);
  await openView(page, 'experiment');
  await page.waitForSelector('.switches button');
  assert.equal(await page.locator('.switches button[tabindex="0"]').count(), 1);
  const at = () => page.evaluate(() => document.activeElement.textContent.split(':')[0].trim());
  await page.locator('.switches button[tabindex="0"]').focus();
  const visited = [await at()];
  for (const key of [
    'ArrowRight',
    'ArrowDown',
    'ArrowDown',
    'End',
    'ArrowUp',
    'ArrowUp',
    'ArrowUp',
    'Home',
    'ArrowUp',
  ]) {
    await page.keyboard.press(key);
    visited.push(await at());
  }
  const dates = JSON.parse(readFileSync(`${top}weights/dates/config.json`, 'utf8'));
  const heads = dates.num_attention_heads ?? dates.n_heads;
  assert.deepEqual(visited, [
    'encoder layer 1, head 1',
    'encoder layer 1, head 2',
    'encoder layer 2, head 2',
    'layer 1, head 2',
    `layer 2, head ${heads}, across`,
    `layer 2, head ${heads}`,
    `layer 1, head ${heads}, across`,
    `layer 1, head ${heads}`,
    'encoder layer 1, head 1',
    'encoder layer 1, head 1',
  ]);
  assert.equal(await page.locator('.switches [aria-pressed="true"]').count(), 0, 'an arrow key switched a part off');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Tab');
  assert.equal(await at(), 'Measure every part');
  await page.keyboard.press('Shift+Tab');
  assert.equal(await at(), 'encoder layer 1, head 2');
  await page.keyboard.press('Space');
  await page.waitForFunction(() =>
    /Without encoder layer 1, head 2/.test(document.querySelector('.compare').textContent),
  );
  assert.deepEqual(complaints, []);
  await close();
});
