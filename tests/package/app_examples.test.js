// app_examples.test.js - docs/examples run with the packed tarball: in Node, with Vite, with React, and a plain page
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { PATIENCE } from '../patience.js';
import { temporaryFolder } from '../temporary.js';
import { unpacked } from './unpacked.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const examples = join(top, 'docs/examples');
const folder = temporaryFolder('app-examples');
let browser, package_;

before(async () => {
  package_ = unpacked(folder, ['react', 'react-dom', 'scheduler']);
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

/** A page of a folder, with what it said; both end with the test. An example draws its seed: here it is always 1. */
async function opened(t, root) {
  const server = await serve(root);
  t.after(() => server.close());
  const page = await browser.newPage();
  t.after(() => page.close());
  page.setDefaultTimeout(PATIENCE);
  const said = [];
  page.on('pageerror', (error) => said.push(error.message));
  await page.addInitScript(() => {
    crypto.getRandomValues = (numbers) => numbers.fill(1);
  });
  await page.goto(server.url);
  return { page, said };
}

/** What Vite builds of an example. */
async function application(t, name) {
  const root = join(folder, name.replace(/\W/g, '-'));
  mkdirSync(join(root, 'public'), { recursive: true });
  copyFileSync(join(package_, 'weights/stories-1m.gguf'), join(root, 'public/stories-1m.gguf'));
  copyFileSync(join(examples, name), join(root, name));
  writeFileSync(
    join(root, 'index.html'),
    `<!doctype html><meta charset="utf-8"><title>x</title><script type="module" src="./${name}"></script>\n`,
  );
  await build({ root, configFile: false, logLevel: 'error', build: { target: 'es2022' } });
  return opened(t, join(root, 'dist'));
}

describe('docs/examples', () => {
  test('each is under 40 lines', () => {
    for (const name of readdirSync(examples))
      if (name !== 'nearest.js') assert.ok(readFileSync(join(examples, name), 'utf8').split('\n').length <= 40, name);
  });

  test('node.js prints a value of the schema and the part of a logit', () => {
    copyFileSync(join(examples, 'node.js'), join(folder, 'node.js'));
    const text = execFileSync(process.execPath, ['node.js'], { cwd: folder, encoding: 'utf8' });
    assert.match(text, /^a (cat|dog|bird) of \d+\nthe logit of Lily is -?\d+\.\d; most of it comes from \S+/);
  });

  test('vite.js draws a row for each token', async (t) => {
    const { page, said } = await application(t, 'vite.js');
    await page.waitForSelector('table tr:nth-child(9)');
    assert.deepEqual(said, []);
  });

  test('react.jsx writes a story, which can be written again', async (t) => {
    const { page, said } = await application(t, 'react.jsx');
    await page.getByRole('button', { name: 'Write' }).click();
    await page.waitForFunction(() => document.querySelector('p')?.textContent.length > 100);
    await page.getByRole('button', { name: 'Write' }).waitFor();
    assert.deepEqual(said, []);
  });

  test('chat.jsx answers two messages in turn', async (t) => {
    const { page, said } = await application(t, 'chat.jsx');
    for (const [text, paragraphs] of [
      ['Once upon a time', 2],
      ['One day', 4],
    ]) {
      await page.getByRole('textbox').fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
      await page
        .locator('p')
        .nth(paragraphs - 1)
        .waitFor();
      await page.getByRole('button', { name: 'Send' }).waitFor();
      const shown = await page.locator('p').allTextContents();
      assert.equal(shown.length, paragraphs);
      assert.match(shown.at(-2), new RegExp(`^user ${text}$`));
      assert.match(shown.at(-1), /^assistant .{20}/s);
    }
    assert.deepEqual(said, []);
  });

  test('page.html writes a story', async (t) => {
    const root = join(folder, 'page');
    mkdirSync(root);
    const html = readFileSync(join(examples, 'page.html'), 'utf8');
    writeFileSync(
      join(root, 'index.html'),
      html.replaceAll('https://cdn.jsdelivr.net/npm/glassformer@0.1.0/', './package/'),
    );
    cpSync(package_, join(root, 'package'), { recursive: true });
    const { page, said } = await opened(t, root);
    await page.waitForFunction(() => document.querySelector('form')?.onsubmit);
    await page.getByRole('button', { name: 'Write' }).click();
    await page.waitForFunction(() => document.querySelector('#story').textContent.length > 100);
    assert.deepEqual(said, []);
  });
});
