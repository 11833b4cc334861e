// documentation.test.js - the built documentation in Chromium: every page opens, figures are drawn, search needs no network
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { PATIENCE } from '../patience.js';
import { top } from './engines/fixture.js';

const folder = `${top}site/docs`;
let server, browser, context;
/** What pages have said, and requests that failed or left the site. */
const said = [];

before(async () => {
  assert.ok(existsSync(`${folder}/index.html`), 'the documentation is not built: run ./build.sh site');
  server = await serve(`${top}site`, { isolate: false });
  browser = await launch({ shell: true });
  context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(PATIENCE);
  context.on('weberror', (error) => said.push(error.error().message));
  context.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  context.on('request', (request) => {
    if (/^http/.test(request.url()) && !request.url().startsWith(server.url)) said.push(request.url());
  });
  context.on('response', (response) => response.status() >= 400 && said.push(`${response.status()} ${response.url()}`));
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** @param {string} path  of a page */
async function opened(path) {
  const page = await context.newPage();
  await page.goto(`${server.url}docs/${path}`);
  return page;
}

test('every page has its heading, and asks for nothing that is not there or elsewhere', async () => {
  const pages = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.html') && name !== '404.html');
  assert.ok(pages.length > 30, `${pages.length} pages`);
  const page = await context.newPage();
  for (const name of pages) {
    await page.goto(`${server.url}docs/${name}`);
    await page.locator('h1').first().waitFor();
  }
  await page.close();
  assert.deepEqual(said, []);
});

test('the figures of the start are drawn by the model beside the page', async () => {
  const page = await opened('start.html');
  await page.locator('glass-attention button').first().waitFor();
  await page.locator('glass-next tbody tr').nth(9).waitFor();
  const heads = await page.locator('glass-attention').first().locator('button').count();
  assert.equal(heads, 20, 'five layers of four heads');
  await page.close();
  assert.deepEqual(said, []);
});

test('the search finds a code of an error, without a network', async () => {
  const page = await opened('index.html');
  await page
    .getByRole('button', { name: /search/i })
    .first()
    .click();
  await page.locator('.VPLocalSearchBox input').fill('capture-too-large');
  await page.locator('.VPLocalSearchBox .result').first().waitFor();
  await context.setOffline(true);
  await page.locator('.VPLocalSearchBox input').fill('isolation headers');
  await page
    .locator('.VPLocalSearchBox .result')
    .filter({ hasText: /Isolation headers/i })
    .first()
    .waitFor();
  await context.setOffline(false);
  await page.close();
});
