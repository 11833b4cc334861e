// readme.test.js - the HTML pages of the documents run unchanged; requests to the CDN are answered with this tree's package,
// those to the Hub with a small model
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PATIENCE } from '../patience.js';
import { temporaryFolder } from '../temporary.js';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { load } from '../../web/lib/api/index.js';
import { pickle, plainOps } from '../node/checkpoint_files.js';
import { CHAT_FOLDER } from '../node/documented.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));
const cdn = `https://cdn.jsdelivr.net/npm/glassformer@${version}/`,
  types = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
const HUB = 'https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct/resolve/main/';
/** Documents with pages, and the names of these. */
const PAGES = [
  ['README.md', 'figure'],
  ['docs/guide.md', 'story'],
  ['docs/start.md', 'start', 'numbers'],
  ['docs/tutorials/nanogpt.md', 'nanogpt'],
  ['docs/tutorials/chat.md', 'chat'],
];
const folder = temporaryFolder('readme');
let server, browser;

before(async () => {
  for (const [document, ...names] of PAGES) {
    const text = readFileSync(join(top, document), 'utf8');
    const pages = Array.from(text.matchAll(/^```html\n(<!doctype html>[\s\S]*?)^```$/gm), ([, html]) => html);
    assert.equal(pages.length, names.length, `pages of ${document}`);
    for (const [i, html] of pages.entries()) {
      assert.ok(html.includes(cdn), `a page of ${document} takes another version than ${version}`);
      writeFileSync(join(folder, `${names[i]}.html`), html);
    }
  }
  server = await serve(folder, { isolate: false });
  browser = await launch({ shell: true });
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** A page whose requests to the CDN are answered, also those of its workers. @param {string} name */
async function opened(name) {
  const context = await browser.newContext(),
    page = await context.newPage();
  context.setDefaultTimeout(PATIENCE);
  const asked = [],
    complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  await context.route(/^https:/, (route) => {
    const url = route.request().url(),
      file = join(top, url.slice(cdn.length));
    asked.push(url);
    const ofHub = url.startsWith(HUB) && CHAT_FOLDER[url.slice(HUB.length)];
    if (ofHub) return route.fulfill({ body: ofHub, headers: { 'access-control-allow-origin': '*' } });
    if (!url.startsWith(cdn) || !existsSync(file)) return route.fulfill({ status: 404 });
    return route.fulfill({
      body: readFileSync(file),
      headers: {
        'access-control-allow-origin': '*',
        'content-type': types[extname(file)] ?? 'application/octet-stream',
      },
    });
  });
  await page.goto(`${server.url}${name}.html`);
  return { context, page, asked, complaints };
}

test("the README's figure draws the model of its address", async () => {
  const { context, page, asked, complaints } = await opened('figure');
  await page.waitForFunction(() => {
    const former = document.querySelector('glass-former')?.shadowRoot;
    return former?.querySelector('glass-next')?.shadowRoot?.querySelectorAll('tbody tr').length === 10;
  });
  assert.deepEqual(complaints, []);
  const paths = asked.map((url) => url.slice(cdn.length));
  assert.ok(paths.includes('weights/stories-1m.gguf') && asked.every((url) => url.startsWith(cdn)), paths.join('\n'));
  await context.close();
});

test("the guide's page generates the same text as the library", async () => {
  const { context, page, asked, complaints } = await opened('story');
  const model = await load(join(top, 'weights/stories-1m.gguf'));
  let story = 'Once upon a time';
  for await (const { text } of model.generate(story, { maxTokens: 60, seed: 1 })) story += text;
  model.dispose();
  await page
    .waitForFunction((n) => document.getElementById('story').textContent.length >= n, story.length)
    .catch(() => {});
  assert.deepEqual(complaints, []);
  assert.equal(await page.locator('#story').textContent(), story);
  const strange = asked.filter(
    (url) =>
      !url.startsWith(cdn) ||
      !/^(?:dist\/(?:glassformer|worker)\.js|dist\/wasm\/[\w-]+\.wasm|weights\/stories-1m\.gguf)$/.test(
        url.slice(cdn.length),
      ),
  );
  assert.deepEqual(strange, []);
  await context.close();
});

test('the figures of the start draw a model, and numbers of the page', async () => {
  for (const [name, tokens] of Object.entries({ start: 11, numbers: 3 })) {
    const { context, page, complaints } = await opened(name);
    await page.waitForFunction(
      (n) => document.querySelector('glass-attention')?.shadowRoot?.textContent.includes(`(${n - 1})`),
      tokens,
    );
    assert.deepEqual(complaints, []);
    await context.close();
  }
});

test('the page of the nanoGPT tutorial writes with a converted checkpoint and draws it', async () => {
  const source = ['ckpt.pt', 'meta.pkl'].map((file) => join(top, 'tests/golden/pytorch/nanogpt', file));
  execFileSync('node', [
    join(top, 'web/lib/apps/cli/cli.js'),
    'convert',
    source[0],
    join(folder, 'model.gguf'),
    '--type',
    'Q8_0',
    '--no-tokenizer',
  ]);
  const characters = Array.from('abcdefghijklmnopqrstuvwxyz .,!?\n:;-&3');
  const stoi = Object.fromEntries(characters.map((c, i) => [c, i]));
  writeFileSync(join(folder, 'meta.pkl'), pickle(plainOps({ vocab_size: 37, stoi })));
  const { context, page, complaints } = await opened('nanogpt');
  await page.waitForFunction(() => document.querySelector('glass-attention')?.shadowRoot?.querySelector('button'));
  assert.equal((await page.locator('#text').textContent()).length, 12, 'its context is full');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('the chat of its tutorial answers a message', async () => {
  const { context, page, complaints } = await opened('chat');
  await page.getByText('Ready').waitFor();
  await page.getByRole('textbox').fill('hello');
  await page.getByRole('button').click();
  await page.waitForFunction(() => document.querySelectorAll('#log p').length === 3);
  assert.equal(await page.locator('#log p').nth(1).textContent(), 'hello');
  await page.waitForFunction(() => document.querySelectorAll('#log p')[2].textContent.length > 0);
  assert.deepEqual(complaints, []);
  await context.close();
});
