// copied.test.js - programs that the built page copies, run in Node, and the file that it saves
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { relaxedSimd } from '../node-flags.js';
import { serve } from '../../scripts/serve.js';
import { temporaryFolder } from '../temporary.js';
import { pageTest, site } from './built_page.js';
import { top } from './expected.js';
import {
  another,
  atLeast,
  choose,
  copied,
  fast,
  ids,
  makeRandom,
  openView,
  run,
  saved,
  says,
  written,
} from './page_parts.js';

/** What a program prints that was copied from the page. */
async function printed(program) {
  const folder = temporaryFolder('copied');
  writeFileSync(
    join(folder, 'copied.mjs'),
    program.replace("'glassformer'", JSON.stringify(new URL('../../web/lib/api/index.js', import.meta.url).href)),
  );
  const { stdout } = await promisify(execFile)(process.execPath, [...relaxedSimd, join(folder, 'copied.mjs')]);
  return stdout.trim().split('\n');
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

/** The text of each constant of a Python program, which Python reads but does not run. */
const CONSTANTS = `
import ast, json, sys
program = ast.parse(sys.stdin.read())
print(json.dumps([node.value for node in ast.walk(program) if isinstance(node, ast.Constant) and isinstance(node.value, str)]))`;
const python = spawnSync('python3', ['-c', 'import ast']).status === 0;

pageTest(
  'a copied Python program has the names that TransformerLens has, for a model of the page and for two stacks',
  `#model=weights/stories-1m.gguf&prompt=Once upon a time&head=2.1&off=1.3,0.ffn,2.n7&written=4`,
  async ({ page }) => {
    const constants = (program) => {
      if (!python) return null;
      const { status, stdout, stderr } = spawnSync('python3', ['-c', CONSTANTS], { input: program, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
      return JSON.parse(stdout).filter((text) => text.includes('.'));
    };
    const program = await copied(page, 'Copy as Python');
    assert.match(program, /^from transformer_lens import HookedTransformer, HookedTransformerConfig$/m);
    assert.match(program, /n_layers=5,\n {4}n_heads=4,\n {4}d_model=128,\n {4}d_head=32,/);
    assert.match(
      program,
      new RegExp(`^tokens = torch\\.tensor\\(\\[\\[${await ids(page)}\\]\\]\\)  # "Once upon a time`, 'm'),
    );
    assert.match(program, /^pattern = cache\["blocks\.2\.attn\.hook_pattern"\]\[0, 1\]/m);
    assert.match(
      program,
      /\("blocks\.1\.attn\.hook_z", off\(3\)\), \("blocks\.0\.hook_mlp_out", off\(slice\(None\)\)\)/,
    );
    const places = ['attn.hook_pattern', 'attn.hook_z', 'mlp.hook_post', 'hook_mlp_out'];
    for (const name of constants(program) ?? []) assert.ok(places.includes(name.replace(/^blocks\.\d\./, '')), name);
    await choose(page, 'dates');
    await atLeast(page, '.tok:not(.given)', 10);
    const two = await copied(page, 'Copy as Python');
    assert.deepEqual(constants(two) ?? ['decoder.1.cross_attn.hook_pattern'], ['decoder.1.cross_attn.hook_pattern']);
    assert.match(two, /run_with_cache\(source, tokens\)/);
  },
);

pageTest(
  'copied HTML is a figure in any page: of the model and the text, or of the head alone where there are two stacks',
  `#model=weights/stories-1m.gguf&prompt=Once upon a time&head=1.2&written=3`,
  async ({ page }) => {
    const folder = temporaryFolder('copied');
    const other = await serve(folder, { also: { '/dist/': `${top}dist`, '/weights/': `${site}/weights` } });
    /** What the figure says in a page with nothing else. */
    const drawn = async (html) => {
      assert.match(
        html,
        /^<script type="module" src="https:\/\/cdn\.jsdelivr\.net\/npm\/glassformer@[\d.]+\/dist\/elements\.js">/,
      );
      const local = html
        .replace(/https:\/\/cdn[^"]+@[\d.]+\//, './')
        .replaceAll(new URL('weights/', page.url()).href, './weights/');
      writeFileSync(join(folder, 'index.html'), `<!doctype html><meta charset="utf-8"><title>x</title>${local}`);
      const figure = await page.context().newPage();
      await figure.goto(other.url);
      await figure
        .locator('glass-former')
        .getByText(/gives \d+\.\d % of its attention|next token/)
        .first()
        .waitFor();
      const said = await figure
        .locator('glass-former')
        .evaluate(({ shadowRoot }) =>
          [...shadowRoot.querySelectorAll('glass-tokens, glass-attention')]
            .map((part) => part.shadowRoot.textContent)
            .join(),
        );
      await figure.close();
      return said;
    };
    try {
      const figure = await copied(page, 'Copy as HTML');
      assert.match(figure, / text="Once upon a time/);
      assert.match(await drawn(figure), /Once.*upon/);
      await choose(page, 'dates');
      await atLeast(page, '.tok:not(.given)', 10);
      assert.match(await drawn(await copied(page, 'Copy as HTML')), /2.*0.*2.*4/);
    } finally {
      await other.close();
    }
  },
);
