// files.test.js - the built page in Chromium with models from the visitor's disk: files, folders, dropped ones, and what
// is refused
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary.js';
import { pageTest, samePage } from './built_page.js';
import { top, withModel } from './expected.js';
import {
  STORY,
  atLeast,
  choose,
  counts,
  fast,
  offer,
  openView,
  read,
  refused,
  run,
  runPrompt,
  says,
  shows,
  written,
} from './page_parts.js';
import { quiet } from './quiet.js';

const shipped = `${top}weights/stories.gguf`;
const storyTest = samePage(STORY);
const parameters = (page) => page.locator('.sizes [data-size="total"] .count').textContent();

storyTest('a broken file is refused in a sentence, and the model still runs', async ({ page }) => {
  for (const [name, content] of [
    ['cut.gguf', readFileSync(shipped).subarray(0, 5000)],
    ['notes.gguf', 'these are not weights'],
  ]) {
    await offer(page, name, content);
    await refused(page);
    const sentence = await page.locator('.error [role="alert"]').innerText();
    assert.ok(sentence.includes(name), `the sentence does not name the file: ${sentence}`);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.locator('.error').waitFor({ state: 'hidden' });
  }
  await runPrompt(page, 'The cat', { tokens: 8 });
  assert.ok((await written(page)) >= 1);
});

storyTest('a file from disk is loaded here, and its name is text whatever it says', async ({ page, requests }) => {
  const before = requests.length,
    name = '<b>a<i>'; // as long as the name in the file
  const bytes = readFileSync(shipped);
  bytes.write(name, bytes.indexOf('stories', bytes.indexOf('general.name')));
  await offer(page, '<img src=x onerror=window.broken=1>.gguf', bytes);
  await says(page, '.pill', new RegExp(name));
  await runPrompt(page, '<img src=x onerror=window.broken=1> said the fox', { tokens: 4 });
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.match(await page.locator('.text').innerText(), /<img src=x onerror=window\.broken=1>/);
  assert.deepEqual(
    requests.slice(before).filter((url) => !/\/assets\/|\/icon\.svg$/.test(url)), // the icon comes with each address
    [],
    'opening a local file asked the network for something',
  );
});

storyTest('every kind of architecture is drawn and counted as it is', async ({ page }) => {
  for (const [name, words] of Object.entries({
    gpt2_n_inner: ['Embedding + position', 'LayerNorm', 'GELU-tanh FFN', 'Scores (tied head)'],
    llama_gqa_f16: ['RMSNorm', 'SwiGLU'],
    t1_3layer_odd: ['Final RMSNorm', 'SwiGLU'],
    t3_literal: ['GELU-erf FFN'],
    t2_encdec_padmask: ['heads, cross-attention', 'Encoder, 2 blocks', 'ReLU FFN'],
  })) {
    const files = ['config.json', 'model.safetensors'].map((file) => `${top}tests/golden/cases/${name}/${file}`);
    const total = await withModel(`tests/golden/cases/${name}/`, async ({ parameters }) => parameters.total);
    await page.locator('#model-file').setInputFiles(files);
    await openView(page, 'count');
    await shows(page, async () => read(await page.locator('.parameters .total .count').textContent()), total, name);
    assert.equal(await page.locator('.parameters h2 .wrong').count(), 0, name);
    await openView(page, 'inside');
    for (const word of words) await page.locator('.stage', { hasText: word }).first().waitFor();
    await openView(page, 'write');
    await fast(page, 3);
    await atLeast(page, '.tok.given', 1);
    if (!/encdec/.test(name)) await counts(page, '.tok:not(.given)', 0); // that one begins by itself
    await run(page);
    assert.ok((await written(page)) >= 1);
    assert.equal(await page.locator('.error').isVisible(), false, name);
  }
});

storyTest('keys that no tensor tells are asked for, and the file is loaded with them', async ({ page }) => {
  const file = (name) => `${top}tests/golden/cases/${name}/model.safetensors`;
  const total = await withModel('tests/golden/cases/gpt2_n_inner/', async ({ parameters }) => parameters.total);
  await page.locator('#model-file').setInputFiles(file('llama_gqa_f16'));
  await page.locator('.missing-keys').getByLabel('model_type').selectOption('llama');
  assert.equal(await page.locator('.missing-keys input').count(), 4);
  await page.locator('#model-file').setInputFiles(file('gpt2_n_inner'));
  const key = page.locator('.missing-keys').getByLabel('n_head', { exact: true }); // the file before asks for others
  await key.fill('5');
  await key.press('Enter');
  await says(page, '.error [role="alert"]', /n_embd 48 is not divisible|not divisible|5/);
  assert.equal(await page.locator('.missing-keys').count(), 0);
  await page.locator('#model-file').setInputFiles(file('gpt2_n_inner'));
  await key.fill('3');
  await key.press('Enter');
  await shows(page, async () => read(await parameters(page)), total, 'the told model');
  assert.equal(await page.locator('.error').isVisible(), false);
});

pageTest('a folder is chosen, and one is dropped; what lies in folders of it is left alone', {}, async ({ page }) => {
  const folder = join(temporaryFolder('folder'), 'my dates');
  for (const name of ['onnx', 'notes']) mkdirSync(join(folder, name), { recursive: true });
  for (const name of ['config.json', 'model.safetensors', 'tokenizer.json'])
    copyFileSync(`${top}weights/dates/${name}`, join(folder, name));
  writeFileSync(join(folder, 'onnx', 'config.json'), '{"model_type": "of another"}');
  for (const name of ['one.txt', 'two.txt']) writeFileSync(join(folder, 'notes', name), 'no model');
  await page.locator('#model-folder').setInputFiles(folder);
  await says(page, '.pill', /^my dates · 233,601 parameters/);
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
  await says(page, '.pill', /^my dates · 233,601 parameters/);
  assert.match(await page.locator('[data-role="about"]').getAttribute('title'), /^encoder-decoder/);
  // one without a model is refused in a sentence
  await page.locator('#model-folder').setInputFiles(join(folder, 'notes'));
  await refused(page);
  assert.match(
    await page.locator('.error [role="alert"]').textContent(),
    /there is no config\.json.*my dates is still loaded/,
  );
});

/** Drop what is no file list of a real one, but reads like it. */
const drop = (page, where, how) =>
  page.evaluate(
    ([where, how]) => {
      const file = new File(['some words'], 'notes');
      if (how === 'unreadable file')
        file.text = () => Promise.reject(new DOMException('The file is gone.', 'NotFoundError'));
      const entry = {
        isDirectory: /folder/.test(how),
        name: file.name,
        createReader: () => ({
          readEntries: (done, failed) =>
            how === 'unreadable folder' ? failed(new DOMException('The folder is gone.', 'NotFoundError')) : done([]),
        }),
      };
      const event = new Event('drop', { bubbles: true, cancelable: true });
      Object.defineProperty(event, 'dataTransfer', {
        value: { files: [file], items: [{ webkitGetAsEntry: () => entry }], types: ['Files'] },
      });
      document.querySelector(where).dispatchEvent(event);
    },
    [where, how],
  );

storyTest('a folder without a model, and an unreadable file, are refused with a message', async ({ page }) => {
  const refused = async (/** @type {RegExp} */ words) => {
    await page.waitForFunction(
      (source) => new RegExp(source).test(document.querySelector('.error [role="alert"]').textContent),
      words.source,
    );
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.waitForFunction(() => document.querySelector('.error').hidden);
  };
  const folder = temporaryFolder('folder');
  mkdirSync(join(folder, 'inner'));
  writeFileSync(join(folder, 'inner', 'config.json'), '{}');
  await page.locator('#model-folder').setInputFiles(folder);
  await refused(/^glassformer-folder-\S* contains no files itself/);
  await drop(page, 'main', 'folder');
  await refused(/^notes contains no files itself/);
  await drop(page, 'main', 'unreadable folder');
  await refused(/^notes could not be read: The folder is gone/);
  await openView(page, 'train');
  await page.waitForSelector('#train-text');
  const before = await page.locator('#train-text').inputValue();
  for (const [how, words] of [
    ['folder', 'notes is a folder'],
    ['unreadable file', 'notes could not be read: The file is gone.'],
  ]) {
    await drop(page, '#train-text', how);
    await page.locator('.train .wrong').filter({ hasText: words }).waitFor();
  }
  assert.equal(await page.locator('#train-text').inputValue(), before);
  assert.equal(await page.locator('.error').isVisible(), false);
  await drop(page, '#train-text', 'file');
  await page.waitForFunction(
    () =>
      document.querySelector('#train-text').value === 'some words' &&
      !document.querySelector('.train .wrong').textContent,
  );
});

// Of an encoder-decoder as files nothing was written, while the shipped one begins by itself.
pageTest('an encoder-decoder chosen as its three files writes as the shipped one does', STORY, async ({ page }) => {
  const files = ['config.json', 'model.safetensors', 'tokenizer.json'].map((name) => `${top}weights/dates/${name}`);
  await page.locator('#model-file').setInputFiles(files);
  await says(page, '.pill', /^model\.safetensors/);
  await atLeast(page, '.tok:not(.given)', 1);
});
