// copied.test.js - programs that the built page copies, run in Node, and the file that it saves
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { relaxedSimd } from '../node-flags.js';
import { pageTest } from './built_page.js';
import { another, copied, fast, ids, makeRandom, openView, run, saved, says, written } from './page_parts.js';

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

pageTest(
  'a copied program prints the text of the page, that of a branch, and the text without the parts that are off',
  '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=12',
  async ({ page }) => {
    await openView(page, 'experiment');
    await page.getByRole('button', { name: /^layer 1, FFN/ }).click();
    await says(page, '.compare', /Without layer 1, FFN/);
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
    await fast(page, 12);
    await another(page, page.locator('.tok.given').last());
    const all = await ids(page);
    const again = await printed(await copied(page, 'Copy as JavaScript'));
    assert.deepEqual(
      again.slice(0, all.length).map((line) => Number(/^(\d+) reads \d+$/.exec(line)[1])),
      all,
    );
    // the file says the same, and more
    const file = await saved(page);
    assert.deepEqual(
      file.tokens.map((t) => t.id),
      all,
    );
    assert.deepEqual(file.off, [{ at: 'blocks.0.hook_mlp_out', scale: 0 }]);
    assert.deepEqual(
      [file.branches.length, file.fromSeedAlone, file.model.address],
      [1, false, 'weights/stories-1m.gguf'],
    );
  },
);

pageTest(
  'a program copied from two stacks, and one from a model built here, run as they are',
  '#model=weights/dates/&source=3 JAN 2001&prompt=&t=0&written=10',
  async ({ page }) => {
    const date = (await printed(await copied(page, 'Copy as JavaScript')))
      .map((line) => JSON.parse(/^(".*") after/.exec(line)[1]))
      .join('');
    assert.equal(date, '2001-01-03');
    assert.equal((await saved(page)).source, '3 JAN 2001');
    await makeRandom(page, 'tutorial-5', 'encoder_decoder');
    await openView(page, 'write');
    await fast(page, 3);
    await run(page);
    const program = await copied(page, 'Copy as JavaScript');
    assert.match(program, /await create\(\{/);
    assert.equal((await printed(program)).length, await written(page));
  },
);
