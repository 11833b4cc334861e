// branches.test.js - the built page in Chromium where another token is chosen: versions of a text, and two of them side
// by side
import assert from 'node:assert/strict';
import { pageTest } from './built_page.js';
import { opened, sum, surprisals } from './expected.js';
import { STORY, accessible, another, counts, fast, hasIds, ids, run, says, shows } from './page_parts.js';

const model = await opened('weights/stories-1m.gguf');

/** A text of 14 tokens, and another token chosen after one of them. */
const token = (page, i) => page.locator('.tok:not(.given)').nth(i);
const back = (page) => page.locator('.branches').getByRole('button', { name: /^Back to/ });

pageTest(
  'two texts that part are set side by side, each with its log-probability',
  `${STORY}&seed=3&written=16`,
  async ({ page }) => {
    const left = await ids(page),
      at = left.length - 12;
    await fast(page, 16);
    const id = await another(page, page.locator('.tok').nth(at - 1));
    const now = await ids(page);
    assert.deepEqual(now.slice(0, at), left.slice(0, at));
    assert.deepEqual([now[at], now[at] === left[at]], [id, false]);
    await page.locator('.branches').getByRole('button', { name: 'Compare' }).press('Enter');
    await counts(page, '.beside .num', 2);
    const bits = [];
    for (const text of [now, left]) bits.push((await surprisals(model, text)).slice(at - 1));
    const said = await page.locator('.beside .num').allTextContents();
    said.forEach((text, i) => {
      const [, log, n] = /^log₂ p = (-[\d.]+) over (\d+) tokens/.exec(text) ?? assert.fail(text);
      assert.equal(Number(n), bits[i].length);
      assert.ok(Math.abs(Number(log) + sum(bits[i])) < 0.06, `${text}, expected ${-sum(bits[i])}`);
    });
    const n = Math.min(bits[0].length, bits[1].length),
      by = sum(bits[1].slice(0, n)) - sum(bits[0].slice(0, n));
    const [, tokens, which, lead] =
      /Over the (\d+) tokens that both have, (this version|the previous version) is more likely, by ([\d.]+) bits/.exec(
        await page.locator('.beside .hint').textContent(),
      );
    assert.deepEqual([Number(tokens), which], [n, by >= 0 ? 'this version' : 'the previous version']);
    assert.ok(Math.abs(Number(lead) - Math.abs(by)) < 0.06);
    // taken up again, the two change places, and the button keeps the focus
    const [first, second] = await page.locator('.beside .story').allTextContents();
    await back(page).press('Enter');
    await shows(page, () => page.locator('.beside .story').first().textContent(), second);
    assert.equal(await page.locator('.beside .story').nth(1).textContent(), first);
    assert.ok(await page.evaluate(() => document.activeElement.matches('.branches button')));
    await accessible(page, 'two versions', '.stream');
  },
);

// Both texts were taken from the place of the last choice but one: a token that was in neither, and another beginning
// in each column.
pageTest(
  'texts left behind at two places are compared from where they part, come back whole, and are gone with Start over',
  STORY,
  async ({ page }) => {
    await fast(page, 14);
    await run(page);
    const first = await ids(page),
      at = (await ids(page, '.given')).length + 4;
    await another(page, token(page, 8));
    const second = await ids(page);
    await another(page, token(page, 3));
    const third = await ids(page);
    assert.deepEqual(third.slice(0, at), first.slice(0, at));
    assert.notEqual(third[at], first[at]);
    await page.locator('.branches').getByRole('button', { name: 'Compare' }).first().click();
    await says(page, '.beside', /The two versions differ/);
    const want = [];
    for (const text of [third, first]) want.push(100 * 2 ** -(await surprisals(model, text))[at - 1]);
    const [here, there] = await page.locator('.beside .branch-at').allTextContents();
    const before = await model.decode(first.slice(0, at));
    assert.equal(here, there);
    assert.ok(here.length > 4 && before.endsWith(here.replace('…', '')), `${here} is no end of ${before}`);
    const said = await page.locator('.beside > .hint').textContent();
    const shares = [...said.matchAll(/ (<?[\d.]+) %/g)].map(([, x]) => parseFloat(x.replace('<', '')));
    shares
      .slice(0, 2)
      .forEach((x, i) => assert.ok(Math.abs(x - want[i]) <= 0.1 + 0.005 * x, `${said}: expected ${want}`));
    for (const [i, text] of [first, second].entries()) {
      await back(page).nth(i).click();
      await hasIds(page, text);
    }
    await page.getByRole('button', { name: 'Start over' }).click();
    await counts(page, '.branches li', 0);
    await run(page);
    await another(page, token(page, 1));
    assert.equal(await page.locator('.beside').isVisible(), false, 'the texts of before are compared');
    assert.equal(await page.locator('.branches [aria-expanded="true"]').count(), 0);
  },
);
