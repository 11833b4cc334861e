// bench_page.test.js - the benchmark as a page (tests/bench/anywhere.js) fills its table, in Chromium
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PATIENCE } from '../patience.js';
import { temporaryFolder } from '../temporary.js';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { writeFolder } from '../bench/build_page.js';
import { bytesPerToken, modelFile } from '../bench/models.js';

const top = fileURLToPath(new URL('../..', import.meta.url));

test('the page of the benchmark fills its table and copies it', async () => {
  const folder = temporaryFolder('bench-test');
  const path = join(folder, modelFile(folder, '3M', 'q4_k_m'));
  const models = [{ name: '3M', dtype: 'q4_k_m', path, bytes: bytesPerToken('3M', 'q4_k_m', 64) }];
  await writeFolder(join(folder, 'page'), join(top, 'dist/index.js'), join(folder, 'no wllama'), models);
  const server = await serve(join(folder, 'page'), { isolate: false }); // one thread: one row
  const browser = await launch({});
  try {
    const page = await (await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })).newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.goto(server.url);
    await page.getByRole('button', { name: 'Measure' }).click();
    await page.getByText('Done', { exact: true }).waitFor();
    const [row] = await page.locator('tbody tr').all();
    const cells = await row.locator('td').allTextContents();
    assert.deepEqual(cells.slice(0, 2), ['3M q4_k_m', 'glassformer, 1 thread']);
    assert.equal(cells.length, 9);
    for (const figure of cells.slice(2)) assert.ok(Number(figure) > 0, `${figure} is a positive number`);
    await page.getByRole('button', { name: 'Copy the table' }).click();
    await page.getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.includes(`| ${cells.join(' | ')} |`), copied);
  } finally {
    await browser.close();
    await server.close();
  }
});
