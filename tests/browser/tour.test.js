// tour.test.js - the tour of the first screen in Chromium: five steps by keyboard, each does what it says, and the last has
// the text of the model without the division, as the library writes it
import assert from 'node:assert/strict';
import { load } from '../../web/lib/api/index.js';
import { pageTest, visitTest } from './built_page.js';
import { opened, top } from './expected.js';
import { atLeast, copied, counts, says, settled, written } from './page_parts.js';
import { quiet } from './quiet.js';

const MODEL = 'weights/stories-1m-q4_0.gguf';
const PROMPT = 'Once upon a time, a little fox found a';
const HASH = `#model=${MODEL}&prompt=${encodeURIComponent(PROMPT)}`;
const TOKENS = 40;

const step = (page, i) => says(page, '.tour-foot', new RegExp(`^\\s*${i} of 5`));
/** What is lit, and whether the box leaves it free. */
const lit = (page) =>
  page.evaluate(() => {
    const [place, box] = ['.textbook-here', '.tour'].map((name) =>
      document.querySelector(name)?.getBoundingClientRect(),
    );
    return place && box
      ? { panel: document.querySelector('.textbook-here').dataset.panel, top: place.top, box: box.top }
      : null;
  });

pageTest('five steps are gone through by keyboard, and each does something', HASH, async ({ page }) => {
  await page.waitForSelector('.row-habits:has-text("previous token")');
  const show = page.getByRole('button', { name: 'Show me how it works' });
  await show.press('Enter');
  await step(page, 1);
  await atLeast(page, '.tok:not(.given)', 8);
  assert.equal((await lit(page)).panel, 'stream');
  await quiet(page);
  assert.equal(await written(page), 8);
  await page.waitForFunction(() => document.activeElement.matches('.tour .primary'));

  await page.keyboard.press('Enter');
  await step(page, 2);
  await page.waitForSelector('.heads.textbook-here');
  await says(page, '.tour .words', /the habit of this one is “previous token”/);
  assert.ok((await page.locator('.arcs path').count()) > 0);

  await page.keyboard.press('Enter');
  await step(page, 3);
  await page.waitForSelector('.anatomy.textbook-here');
  await counts(page, '.tok:not(.given)', 9);

  await page.keyboard.press('Enter');
  await step(page, 4);
  await page.waitForSelector('.next.textbook-here');

  await page.keyboard.press('Enter');
  await step(page, 5);
  await page.waitForSelector('.tour [data-role="broken"]');
  assert.equal(await page.locator('.next').isVisible(), false);
  const texts = await page
    .locator('.tour .story')
    .evaluateAll((list) => list.map((p) => p.lastChild.textContent.trim()));
  const healthy = await opened(MODEL);
  const broken = await load(`${top}${MODEL}`, { switches: { scaleScores: false } });
  const ids = await healthy.encode(PROMPT);
  for (const [i, model] of [healthy, broken].entries()) {
    let text = '';
    for await (const one of model.generate(ids, { temperature: 0, maxTokens: TOKENS })) text += one.text;
    assert.equal(texts[i].replace(/\s+/g, ' '), text.trim().replace(/\s+/g, ' '));
  }
  broken.dispose();
  assert.notEqual(texts[0], texts[1]);
  const pair = await copied(page, 'Copy this');
  for (const part of [PROMPT, ...texts, 'http']) assert.ok(pair.includes(part), `${part} is not copied: ${pair}`);

  await page.getByRole('button', { name: 'Go deeper: 20 pages' }).press('Enter');
  await says(page, '#h-textbook', /^Token$/);
  assert.equal(await page.locator('.tour').count(), 0);
});

pageTest('Escape leaves the tour, and the button that opened it has the focus', HASH, async ({ page }) => {
  await page.getByRole('button', { name: 'Show me how it works' }).press('Enter');
  await step(page, 1);
  await page.waitForFunction(() => document.activeElement.matches('.tour .primary'));
  await page.keyboard.press('Escape');
  await counts(page, '.tour', 0);
  assert.ok(await page.evaluate(() => document.activeElement.matches('.prompt .show')));
  assert.equal(await page.locator('.textbook-here').count(), 0);
});

pageTest(
  'on a phone the box takes at most two fifths of the window, and what it is about stands above it',
  { hash: HASH, width: 390, height: 844 },
  async ({ page }) => {
    await page.getByRole('button', { name: 'Show me how it works' }).click();
    for (let i = 1; i <= 5; i++) {
      await step(page, i);
      if (i === 5) await page.waitForSelector('.tour [data-role="broken"]');
      await quiet(page);
      const { height } = await page.locator('.tour').boundingBox();
      assert.ok(height <= 0.4 * 844 + 1, `step ${i}: ${height} px`);
      const here = await lit(page);
      if (i < 5) assert.ok(here && here.top >= 0 && here.top < here.box - 100, `step ${i}: ${JSON.stringify(here)}`);
      if (i < 5) await page.locator('.tour .primary').click();
    }
    const ends = await page
      .locator('.tour :is(.story, .texts + button)')
      .evaluateAll((list) => list.map((part) => part.getBoundingClientRect().bottom));
    const foot = await page.locator('.tour-foot').boundingBox();
    assert.ok(Math.max(...ends) <= foot.y, `texts and Copy end at ${ends}, the buttons begin at ${foot.y}`);
  },
);

visitTest(
  'the tour goes on by itself where motion is welcome, and Pause holds it',
  { hash: HASH, reducedMotion: 'no-preference' },
  async ({ page }) => {
    await page.waitForSelector('.tok');
    await page.clock.install();
    await page.getByRole('button', { name: 'Show me how it works' }).click();
    await step(page, 1);
    await page.clock.fastForward(9500);
    await step(page, 2);
    await page.locator('.tour').getByRole('button', { name: 'Pause' }).click();
    await page.clock.fastForward(30_000);
    await step(page, 2);
  },
);

// The steps talk of words and compare stories, which a model of dates does not write.
visitTest('a model of dates offers that of the stories first', { hash: '#model=weights/dates/' }, async ({ page }) => {
  await page.waitForSelector('.tok');
  const before = await page.locator('.pill').textContent();
  await page.getByRole('button', { name: 'Show me how it works' }).press('Enter');
  await says(page, '.tour .words', /^\s*A model of stories/);
  assert.equal(await page.locator('.pill').textContent(), before);
  await page.waitForFunction(() => document.activeElement.matches('.tour .primary'));
  await page.keyboard.press('Enter');
  await step(page, 1);
  await settled(page);
  await atLeast(page, '.tok:not(.given)', 8);
});
