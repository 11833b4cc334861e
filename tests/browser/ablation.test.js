// ablation.test.js - the built page in Chromium where parts of a model are switched off: the loss beside the untouched
// run, and what is written, against the library in Node
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { open, pageTest } from './built_page.js';
import { SAMPLER, bitsPerToken, opened, tensor, top, withModel } from './expected.js';
import { STORY, atLeast, ids, inAddress, openView, read, says, shows } from './page_parts.js';
import { quiet } from './quiet.js';

const model = await opened('weights/stories-1m.gguf');

/** Bits a token of the untouched run and of the cut one. */
const shown = async (page) =>
  (await page.locator('.compare .num').filter({ hasText: 'bits per token' }).allTextContents()).map(read);
/** The page's losses are those of the library with and without these edits. */
async function losses(page, model, options, edits, what) {
  const all = await ids(page),
    got = await shown(page),
    want = [await bitsPerToken(model, all, options), await bitsPerToken(model, all, { ...options, edits })];
  assert.equal(got.length, 2, what);
  got.forEach((x, i) =>
    assert.ok(
      Math.abs(x - want[i]) < 0.006 * Math.max(1, want[i]) + 0.02 * (want[i] < 0.1),
      `${what}: shown ${x}, expected ${want[i]}`,
    ),
  );
  return want;
}
const part = (page, name) => page.locator('.switches').getByRole('button', { name });
const without = (page, what) => says(page, '.compare', new RegExp(`Without ${what}`));

pageTest(
  'a part or a neuron is switched off, and the loss beside the untouched run is the library’s',
  `${STORY}&seed=3&written=12`,
  async ({ page }) => {
    const all = await ids(page);
    await page.locator('.stage', { hasText: 'SwiGLU' }).click();
    const first = page.locator('.anatomy .neurons button').first();
    await first.waitFor();
    const layer = Number(/layer (\d+)/.exec(await page.locator('.anatomy-svg').textContent())?.[1]) - 1;
    const index = Number((await first.textContent()).split(' ')[0]);
    const at = Number(await page.locator('.tok.here').getAttribute('data-position'));
    const point = `blocks.${layer}.mlp.hook_post`;
    const { data, shape } = await tensor(model, all, point);
    const [, width] = shape;
    const row = data.subarray(at * width, (at + 1) * width);
    assert.equal(
      index,
      row.reduce((b, x, i) => (Math.abs(x) > Math.abs(row[b]) ? i : b), 0),
    );
    await first.click();
    await page.locator('dialog.unit').getByRole('button', { name: 'Switch off' }).click();
    await page.locator('dialog.unit').getByRole('button', { name: 'See what changes' }).click();
    await page.waitForSelector('.compare .story');
    assert.match(
      await page.locator('.ablate .neurons').textContent(),
      new RegExp(`layer ${layer + 1}, neuron ${index}, off`),
    );
    await losses(page, model, {}, [{ at: point, index, scale: 0 }], 'a neuron');
    await page.locator('.ablate .neurons button').click();
    await says(page, '.compare', /Everything is on/);
    await part(page, /^layer 2, FFN/).click();
    await without(page, 'layer 2, FFN');
    const [whole, cut] = await losses(page, model, {}, [{ at: 'blocks.1.hook_mlp_out', scale: 0 }], 'an FFN');
    assert.ok(cut > whole);
    // from the panel of a head
    await page.getByRole('button', { name: 'Turn everything on' }).click();
    await openView(page, 'inside');
    await page.locator('.tile[aria-label="layer 2, head 3"]').click();
    await page.getByRole('button', { name: 'Switch this head off' }).click();
    await page.locator('#view-experiment').waitFor(); // while it is hidden, the top of what it holds is 0
    await page.waitForFunction(() => Math.abs(document.querySelector('#ablate').getBoundingClientRect().top) < 200);
    await page.locator('.switches button[aria-pressed="true"][title^="layer 2, head 3"]').waitFor();
  },
);

const DATES = '#model=weights/dates/&source=the 1st of may, 1999&prompt=&written=10';
pageTest(
  'heads across and parts of the encoder are switched off, from the grid, from the picture and from an address',
  DATES,
  async ({ page }) => {
    const source = 'the 1st of may, 1999';
    await withModel('weights/dates/', async (dates) => {
      const across = (head) => ({ at: 'decoder.0.cross_attn.hook_z', head, scale: 0 });
      await openView(page, 'experiment');
      await part(page, /^encoder layer 2, FFN/).press('Enter');
      await without(page, 'encoder layer 2, FFN');
      const [all, cut] = await losses(page, dates, { source }, [{ at: 'encoder.1.hook_mlp_out', scale: 0 }], 'an FFN');
      assert.ok(cut > 2 * all, 'it changed nothing');
      // two heads that look across from the first layer, one from the picture
      await page.getByRole('button', { name: 'Turn everything on' }).click();
      await openView(page, 'inside');
      await page.getByRole('radio', { name: 'across', exact: true }).click();
      await page.locator('.tile[aria-label="layer 1, head 3"]').click();
      await page.getByRole('button', { name: 'Switch this head off' }).click();
      await without(page, 'layer 1, head 3, across');
      await losses(page, dates, { source }, [across(2)], 'a head across');
      await part(page, /^layer 1, head 2, across/).click();
      await without(page, '2 parts');
      const [, two] = await losses(page, dates, { source }, [across(2), across(1)], 'two heads across');
      assert.ok(two > 0.05, 'they changed nothing');
    });
    await inAddress(page, 'off=x0.2%2Cx0.1');
    const again = await open(new URL(page.url()).hash.replace('off=', 'off=e7.0,'));
    await openView(again.page, 'experiment');
    await without(again.page, '2 parts');
    await again.close();
  },
);

pageTest(
  'what is switched off is written beside the healthy text, which stays',
  '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=12',
  async ({ page }) => {
    const texts = () => page.locator('.side-by-side .story').allTextContents();
    /** The healthy and the broken text, which are written at the same time, become these. */
    const become = (...want) => shows(page, async () => (await texts()).join('\n'), want.join('\n'));
    const prompt = 'Once upon a time';
    const expected = (options, edits = [], switches = undefined) =>
      withModel(
        'weights/stories-1m.gguf',
        async (api) => {
          let text = prompt;
          for await (const step of api.generate(prompt, { ...options, edits, maxTokens: 48 })) text += step.text;
          return text;
        },
        switches && { switches },
      );
    const likeliest = { temperature: 0 };
    const sampled = { ...SAMPLER, seed: 3 };
    const press = (name) => page.locator('.ideas').getByRole('button', { name }).press('Enter');
    await openView(page, 'experiment');
    await page.waitForSelector('.ideas');
    // it opens with the idea left out whose absence shows most plainly
    await become(await expected(likeliest), await expected(likeliest, [], { scaleScores: false }));
    await press('without ÷ √d');
    await page.locator('.side-by-side').waitFor({ state: 'detached' });

    await press('without positions');
    await become(await expected(likeliest), await expected(likeliest, [], { usePosition: false }));
    await says(page, '.live .outcome', /differ from token \d+ on/);
    // where they part is marked, from there on
    const changed = (await page.locator('.side-by-side .changed').allTextContents()).join('');
    assert.ok(changed && (await texts())[1].endsWith(changed));
    const same = await page.locator('[data-role="broken"] span:not(.given):not(.changed)').count();
    await says(page, '.live .outcome', new RegExp(`differ from token ${same + 1} on`));

    // a second idea: only the broken text is written again
    await page
      .locator('[data-role="healthy"] span')
      .last()
      .evaluate((e) => (e.dataset.kept = 'yes'));
    await press('without ÷ √d');
    const both = await expected(likeliest, [], { usePosition: false, scaleScores: false });
    await quiet(page, `document.querySelectorAll('.side-by-side .story')[1]?.textContent === ${JSON.stringify(both)}`);
    assert.equal(await page.locator('[data-role="healthy"] [data-kept]').count(), 1, 'the healthy text did not stay');

    // parts that are off in the grid count too, and the seed draws the same numbers for both
    await press('without positions');
    await press('without ÷ √d');
    await page.getByRole('button', { name: /^layer 1, FFN/ }).click();
    await page.locator('#live-choosing').selectOption('seed');
    const cut = await expected(sampled, [{ at: 'blocks.0.hook_mlp_out', scale: 0 }]);
    await become(await expected(sampled), cut);
    assert.match(await page.locator('.live').textContent(), /Also off, from “Switch parts off”: layer 1, FFN\./);

    await page.getByRole('button', { name: 'Turn everything on' }).click();
    await says(page, '.live .outcome', /Nothing is off/);
  },
);

pageTest(
  'the grid of parts is one tab stop, and arrow keys move over it',
  '#model=weights/dates/&source=3 JAN 2001&prompt=&t=0&written=10',
  async ({ page }) => {
    await openView(page, 'experiment');
    await page.waitForSelector('.switches button');
    assert.equal(await page.locator('.switches button[tabindex="0"]').count(), 1);
    const at = () => page.evaluate(() => document.activeElement.textContent.split(':')[0].trim());
    await page.locator('.switches button[tabindex="0"]').focus();
    const visited = [await at()];
    for (const key of 'ArrowRight ArrowDown ArrowDown End ArrowUp ArrowUp ArrowUp Home ArrowUp'.split(' ')) {
      await page.keyboard.press(key);
      visited.push(await at());
    }
    const dates = JSON.parse(readFileSync(`${top}weights/dates/config.json`, 'utf8'));
    const heads = dates.num_attention_heads ?? dates.n_heads;
    assert.deepEqual(visited, [
      'encoder layer 1, head 1',
      'encoder layer 1, head 2',
      'encoder layer 2, head 2',
      'layer 1, head 2',
      `layer 2, head ${heads}, across`,
      `layer 2, head ${heads}`,
      `layer 1, head ${heads}, across`,
      `layer 1, head ${heads}`,
      'encoder layer 1, head 1',
      'encoder layer 1, head 1',
    ]);
    assert.equal(await page.locator('.switches [aria-pressed="true"]').count(), 0, 'an arrow key switched a part off');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Tab');
    assert.equal(await at(), 'Measure every part');
    await page.keyboard.press('Shift+Tab');
    assert.equal(await at(), 'encoder layer 1, head 2');
    await page.keyboard.press('Space');
    await says(page, '.compare', /Without encoder layer 1, head 2/);
  },
);

const WRITES = { hash: `${STORY.replace('pace=fast', 'pace=reading')}&past=1` };

// A head was hatched, "Everything is on", and nothing happened until the text had ended.
pageTest(
  'a part that is switched off while the page writes pauses the text and is measured',
  WRITES,
  async ({ page }) => {
    await page.locator('.go').press('Enter');
    await atLeast(page, '.tok:not(.given)', 5);
    await openView(page, 'experiment');
    await page.locator('.switches button').nth(2).press('Enter');
    await says(page, '.ablate', /Next token after the whole text/);
  },
);
