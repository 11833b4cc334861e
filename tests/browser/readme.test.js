// readme.test.js - the HTML pages of README and guide run unchanged; requests to the CDN are answered with this tree's
// package
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PATIENCE } from '../patience.js';
import { temporaryFolder } from '../temporary.js';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { load } from '../../web/lib/api/index.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));
const cdn = `https://cdn.jsdelivr.net/npm/glassformer@${version}/`,
  types = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
const folder = temporaryFolder('readme');
let server, browser;

before(async () => {
  for (const [name, document] of Object.entries({ figure: 'README.md', story: 'docs/guide.md' })) {
    const text = readFileSync(join(top, document), 'utf8');
    const [, html] = /^```html\n(<!doctype html>[\s\S]*?)^```$/m.exec(text) ?? assert.fail(`${document} has no page`);
    assert.ok(html.includes(cdn), `the page of ${document} takes another version than ${version}`);
    writeFileSync(join(folder, `${name}.html`), html);
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
