// class_link.test.js - a link for a class: what it hides stands nowhere in the document, in no view, under no name
import assert from 'node:assert/strict';
import { pageTest } from './built_page.js';
import { opened } from './expected.js';
import { accessible, copied, openShare, openView, says, written } from './page_parts.js';
import { quiet } from './quiet.js';

const MODEL = 'weights/stories-1m-q4_0.gguf';
const PROMPT = 'The dog saw a big red';
const model = await opened(MODEL);
const address = (hidden) =>
  `#model=${MODEL}&t=0&prompt=${encodeURIComponent(PROMPT)}&head=1.0&ask=What+follows%3F&hide=${hidden}`;

/** The whole document in each view, hidden parts, names and pictures included; a stage of the anatomy open. */
async function everything(page, stage) {
  const found = [];
  for (const view of ['write', 'inside', 'count', 'experiment', 'learn']) {
    await openView(page, view);
    await quiet(page);
    if (view === 'inside') {
      if (!(await page.locator('.inspector').count()))
        await page.locator(`.anatomy .stage[data-part="${stage}"]`).press('Enter');
      await page.evaluate(() => document.querySelector('#lens, .lens')?.scrollIntoView()); // read once it is seen
      await quiet(page);
    }
    found.push(await page.evaluate(() => document.documentElement.outerHTML));
  }
  await openView(page, 'write');
  return found.join('\n').replace(/<script[^]*?<\/script>|<style[^]*?<\/style>/g, '');
}
/** Each of these is in the open page, and in none of the views where they are hidden. */
const hidesAll = (name, hidden, stage, answers) =>
  pageTest(name, address(hidden), async ({ page }) => {
    await page.waitForSelector('.tok');
    const secrets = await answers();
    const before = await everything(page, stage);
    for (const secret of secrets) assert.doesNotMatch(before, secret);
    await openShare(page);
    assert.deepEqual(await page.locator('#share button').allTextContents(), [
      'Copy link',
      'Link for a class',
      'Present',
    ]);
    await page.keyboard.press('Escape');
    if (hidden === 'next') {
      await page.locator('.go').press('Enter');
      await quiet(page);
      assert.equal(await written(page), 0);
    }
    await page.getByRole('button', { name: 'Show what is hidden' }).press('Enter');
    const shown = await everything(page, stage);
    for (const secret of secrets) assert.match(shown, secret);
  });

const ids = await model.encode(PROMPT);

hidesAll('what follows is hidden in every view: bars, anatomy, lens, text', 'next', 'logits', async () => {
  const { logits } = await model.forward(ids);
  const row = logits.data.slice(-logits.shape[1]);
  const word = (await model.decode([row.indexOf(Math.max(...row))])).trim();
  assert.ok(!PROMPT.includes(word) && word.length > 2, word);
  return [new RegExp(`\\b${word}\\b`)];
});

hidesAll('where heads look is hidden: matrix, small heads, habits, the anatomy’s dots', 'heads', 'heads', async () => {
  const { captured } = await model.forward(ids, { capture: ['blocks.1.attn.hook_pattern'] });
  const { data, shape } = captured['blocks.1.attn.hook_pattern'];
  const row = data.slice((shape[1] - 1) * shape[2], shape[1] * shape[2]);
  return [new RegExp(`\\b${(100 * Math.max(...row)).toFixed(1)} %`), /data-part="weight"/, /class="[^"]*\btile\b/];
});

hidesAll('numbers of parameters are hidden: table, stages, the model’s name', 'parameters', 'ffn', async () => {
  const { rows, total } = model.parameters;
  const inFfn = rows.filter((row) => row.component === 'ffn').reduce((sum, row) => sum + row.count, 0);
  return [total, inFfn, inFfn / model.config.nLayers].map((n) => new RegExp(n.toLocaleString('en')));
});

pageTest(
  'a link that hides what follows ends its text at the chosen token',
  `#model=${MODEL}&t=0&prompt=${encodeURIComponent(PROMPT)}&written=6&at=${ids.length + 1}`,
  async ({ page }) => {
    await page.waitForFunction((n) => document.querySelectorAll('.tok').length === n, ids.length + 6);
    await quiet(page);
    await openShare(page);
    await page.getByRole('button', { name: 'Link for a class' }).press('Enter');
    const dialog = page.locator('dialog.class-link');
    await dialog.getByLabel('what follows the chosen token').check();
    const link = new URL(await copied(page, 'Copy the link'));
    assert.equal(new URLSearchParams(link.hash.slice(1)).get('written'), '2');
  },
);

pageTest(
  'a worksheet of textbook questions is made, opened by its link, answered with hints and a check, and printed alone',
  `#model=${MODEL}&t=0&prompt=${encodeURIComponent(PROMPT)}`,
  async ({ page }) => {
    await openView(page, 'learn');
    await page.locator('.contents').getByRole('button', { name: 'Link for a class' }).press('Enter');
    const dialog = page.locator('dialog.class-link');
    await dialog.getByText('Questions of the textbook', { exact: true }).click();
    for (const title of ['Heads', 'Mixing']) await dialog.getByLabel(title, { exact: true }).check();
    const link = await copied(page, 'Copy the link');
    await page.goto('about:blank');
    await page.goto(link);
    const [heads, mixing] = [0, 1].map((i) => page.locator('.worksheet li').nth(i));
    await heads.getByRole('button', { name: 'Hint' }).click();
    await heads.getByText('It is called d_head').waitFor();
    for (const [answer, verdict] of [
      ['7', /^Not yet/],
      [String(model.config.dHead), /^Right/],
    ]) {
      await heads.getByLabel('your answer').fill(answer);
      await heads.getByLabel('your answer').press('Enter');
      await heads.locator('.verdict').filter({ hasText: verdict }).waitFor();
    }
    await says(page, '.worksheet summary', /1 of 2 questions answered/);
    await accessible(page, 'worksheet', '.assignment');
    await mixing.getByRole('button', { name: 'Textbook: Mixing' }).click();
    await says(page, '#h-textbook', /^Mixing$/);
    await page.evaluate(() => {
      window.print = () => (document.title = 'printed');
    });
    await page.getByRole('button', { name: 'Print the worksheet' }).click();
    await page.waitForFunction(() => document.title === 'printed');
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('.card:visible').count(), 1);
    assert.match(await page.locator('body').innerText(), new RegExp(`${PROMPT}.*Question.*Question`, 's'));
    assert.doesNotMatch(await page.locator('body').innerText(), /Check|Hint|Right/);
  },
);
