// walk.test.js - the guided walk through the views of the built page in Chromium
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pageTest } from './built_page.js';
import { top } from './expected.js';
import { STORY, choose, makeRandom, openView, resting, says, shows } from './page_parts.js';
import { quiet } from './quiet.js';

const at = async (page, i) => {
  await says(page, '.walk .num', new RegExp(`^${i} of `));
  await page.waitForFunction(() => document.activeElement.matches('.walk .primary'));
};
const begin = async (page) => {
  await openView(page, 'write');
  await page.getByRole('button', { name: 'Show me how it works' }).press('Enter');
};

/** Walk from the first stop to the last by keyboard and take down what is said. */
async function walk(page) {
  await begin(page);
  const said = {};
  for (let i = 1; ; i++) {
    await at(page, i);
    said[await page.locator('#h-walk').textContent()] = await page.locator('.walk p').textContent();
    const last = (await page.locator('.walk .primary').textContent()) === 'Done';
    await page.keyboard.press('Enter');
    if (!last) continue;
    await page.waitForSelector('.walk', { state: 'hidden' });
    return said;
  }
}

// The 2017 model adds sinusoids and rescales the stream itself, and reads letter by letter: the walk once said the
// opposite of all three.
pageTest(
  'the guided walk goes from stop to stop by keyboard and tells of the model that is loaded',
  {},
  async ({ page }) => {
    const modern = await walk(page);
    assert.equal(Object.keys(modern).length, 12);
    assert.match(modern['Tokens and their rows'], /a fixed list of 2,048/);
    assert.match(modern['One scale'], /^Before anything reads/);
    assert.match(modern['Query, key, value'], /rotated by an angle/);
    await choose(page, 'stories-GPT-2');
    const gpt2 = await walk(page);
    assert.match(gpt2['Tokens and their rows'], /the place in the text, is added/);
    assert.doesNotMatch(gpt2['Query, key, value'], /angle/);
    await choose(page, 'dates');
    await openView(page, 'write');
    await resting(page);
    const dates = await walk(page);
    assert.match(
      dates['Tokens and their rows'],
      /34 pieces, here single letters, from a fixed list of 257[^]*Sines and cosines/,
    );
    assert.match(dates['One scale'], /^After each sum/);
    assert.match(dates['Across'], /all 34 tokens/);
    assert.match(dates['Back to words'], /a table of its own/);
    const all = Object.values(dates).join(' ');
    assert.doesNotMatch(all, /left as it is|nothing overwrites|never sees letters|rotated by an angle/);
    const config = JSON.parse(readFileSync(`${top}weights/dates/config.json`, 'utf8'));
    const switches = { use_norm: false, use_residual: false, use_position: false, scale_scores: false };
    const file = (name, buffer) => ({ name, mimeType: '', buffer });
    await page
      .locator('#model-file')
      .setInputFiles([
        file('config.json', Buffer.from(JSON.stringify({ ...config, ...switches }))),
        ...['model.safetensors', 'tokenizer.json'].map((name) =>
          file(name, readFileSync(`${top}weights/dates/${name}`)),
        ),
      ]);
    await says(page, '.pill', /^(?!dates)/);
    const bare = await walk(page);
    assert.ok(!('One scale' in bare));
    assert.match(bare['Tokens and their rows'], /Nothing in them says where/);
    assert.match(bare['Scores'], /divide by √16; this one was told not to/);
    assert.match(bare['The stream'], /told not to/);
  },
);

pageTest('a model with fewer stops of the walk leads back from its last', STORY, async ({ page }) => {
  await begin(page);
  const num = () => page.locator('.walk .num').textContent();
  await page.waitForSelector('.walk .primary');
  const all = Number(/\d+$/.exec(await num()));
  for (let i = 1; i < all; i++) {
    await at(page, i);
    await page.locator('.walk .primary').click();
  }
  await at(page, all);
  await makeRandom(page, 'tutorial-3', 'encoder');
  await quiet(page);
  const [, now, of] = /^(\d+) of (\d+)$/.exec(await num());
  assert.ok(Number(of) < all && now === of, `${now} of ${of}, ${all} before`);
  await page.locator('.walk').getByRole('button', { name: 'Back' }).click();
  await shows(page, num, `${Number(of) - 1} of ${of}`);
});

for (const [width, height] of [
  [320, 256],
  [1280, 256],
]) {
  pageTest(
    `the guided walk fits a window of ${width} x ${height}`,
    { hash: STORY, width, height },
    async ({ page }) => {
      await page.getByRole('button', { name: 'Show me how it works' }).click();
      await page.waitForSelector('.walk .primary');
      const boxes = () =>
        page.evaluate(() =>
          ['.walk', '#h-walk', '.walk .primary'].map((name) => {
            const { top, bottom } = document.querySelector(name).getBoundingClientRect();
            return { name, top: Math.round(top), bottom: Math.round(bottom) };
          }),
        );
      for (let i = 1; i <= 4; i++) {
        await page.waitForFunction(
          (n) =>
            document.querySelector('.walk .num').textContent.startsWith(`${n} of`) &&
            document.activeElement.matches('.walk .primary'),
          i,
        );
        for (const { name, top, bottom } of await boxes())
          assert.ok(top >= 0 && bottom <= height, `${name} reaches from ${top} to ${bottom}`);
        // every line of the text can be scrolled between the upper edge and the buttons
        const last = await page.evaluate(() => {
          const walk = document.querySelector('.walk');
          walk.scrollTop = walk.scrollHeight;
          return {
            text: walk.querySelector('p').getBoundingClientRect().bottom,
            foot: walk.querySelector('.walk-foot').getBoundingClientRect().top,
          };
        });
        assert.ok(last.text <= last.foot + 1, `the text ends at ${last.text}, the buttons begin at ${last.foot}`);
        await page.locator('.walk .primary').press('Enter');
      }
    },
  );
}
