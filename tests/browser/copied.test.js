// copied.test.js - what the built page copies and saves, and the figure that it copies in another page.
// tests/node/programs_page.test.js runs the programs.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '../../scripts/serve.js';
import { temporaryFolder } from '../temporary.js';
import { pageTest, site } from './built_page.js';
import { top } from './expected.js';
import { atLeast, choose, copied, ids, saved } from './page_parts.js';

pageTest(
  'copied HTML is a figure in any page: of the model and the text, or of the head alone where there are two stacks',
  `#model=weights/stories-1m.gguf&prompt=Once upon a time&head=1.2&off=0.ffn&written=3`,
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
      assert.match(await copied(page, 'Copy as JavaScript'), /^import \{ load \} from 'glassformer';/);
      assert.match(await copied(page, 'Copy as Python'), /^import torch$/m);
      const file = await saved(page);
      assert.deepEqual(
        file.tokens.map((t) => t.id),
        await ids(page),
      );
      assert.deepEqual(file.off, [{ at: 'blocks.0.hook_mlp_out', scale: 0 }]);
      assert.deepEqual([file.branches, file.fromSeedAlone, file.model.address], [[], true, 'weights/stories-1m.gguf']);
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
