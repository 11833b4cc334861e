// readme.test.js - the README's HTML page runs unchanged; requests to the CDN are answered with this tree's package
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
const readme = readFileSync(join(top, 'README.md'), 'utf8'),
  { version } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));
const [, html] = /^```html\n([\s\S]*?)^```$/m.exec(readme) ?? assert.fail('the README has no html block');
const folder = temporaryFolder('readme');
let server, browser;

before(async () => {
  writeFileSync(join(folder, 'index.html'), html);
  server = await serve(folder, { isolate: false });
  browser = await launch({ shell: true });
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test("the README's page generates the same text as the library", async () => {
  const cdn = `https://cdn.jsdelivr.net/npm/glassformer@${version}/`,
    types = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
  assert.ok(html.includes(cdn), `the README's page takes another version than ${version}`);
  const context = await browser.newContext(),
    page = await context.newPage();
  context.setDefaultTimeout(PATIENCE);
  const asked = [],
    complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  await context.route(/^https:/, (route) => {
    // also requests of workers
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
  const model = await load(join(top, 'weights/stories-1m.gguf'));
  let story = 'Once upon a time';
  for await (const { text } of model.generate(story, { maxTokens: 60, seed: 1 })) story += text;
  model.dispose();
  await page.goto(server.url);
  await page
    .waitForFunction((n) => document.getElementById('story').textContent.length >= n, story.length)
    .catch(() => {});
  assert.deepEqual(complaints, []);
  assert.equal(await page.locator('#story').textContent(), story);
  assert.ok(
    asked.every((url) => url.startsWith(cdn)),
    asked.join('\n'),
  );
  assert.deepEqual(
    asked
      .map((url) => url.slice(cdn.length))
      .filter(
        (path) =>
          !/^(?:dist\/(?:glassformer|worker)\.js|dist\/wasm\/[\w-]+\.wasm|weights\/stories-1m\.gguf)$/.test(path),
      ),
    [],
  );
  await context.close();
});
