// tutorials.test.js - the panel "Same numbers as the tutorial" in the built page: its results equal Node's, and a
// flipped byte makes claims fail.
import assert from 'node:assert/strict';
import * as glassformer from '../../web/lib/api/index.js';
import { TUTORIALS, runClaim } from '../../web/page/views/claims/tutorial_list.js';
import { samePage } from './built_page.js';
import { STORY, counts, inAddress, openView, says } from './page_parts.js';

const learnTest = samePage({ hash: STORY, view: 'learn' });

/** Show the claims and exercises of a tutorial. */
const unfold = (page, number) =>
  page.locator(`[data-tutorial="${number}"] .claims`).evaluate((details) => {
    details.open = true;
  });

/** Press Run and wait for the sentence at the end. */
async function runTutorial(page, number) {
  await page.getByRole('button', { name: `Run tutorial ${number}` }).press('Enter');
  const result = page.locator(`[data-tutorial="${number}"] .result`);
  await page.waitForFunction(
    (n) =>
      / s$/.test(document.querySelector(`[data-tutorial="${n}"] .result`).textContent) &&
      document.querySelector(`[data-tutorial="${n}"] .go-tutorial button`).getAttribute('aria-disabled') === 'false',
    number,
  );
  return result.textContent();
}

/** What the table says: claim, state, expected, found. */
const table = (page, number) =>
  page.locator(`[data-tutorial="${number}"] tr[data-claim]`).evaluateAll((list) =>
    list.map((row) => ({
      id: row.dataset.claim,
      state: row.dataset.state,
      expected: row.cells[1].textContent,
      found: row.cells[2].textContent,
      word: row.cells[3].firstElementChild.textContent,
      colour: getComputedStyle(row.cells[2]).color,
      more: row.cells[0].textContent,
    })),
  );

learnTest('each claim of each tutorial has the same result as in Node', async ({ page }, t) => {
  for (const { number, open: claimsOf } of TUTORIALS) {
    const said = await runTutorial(page, number);
    const shown = await table(page, number),
      claims = (await claimsOf()).sections.flatMap((section) => section.claims.map(({ claim }) => claim));
    assert.deepEqual(
      shown.map((row) => row.id),
      claims.map((c) => c.id),
    );
    for (const [i, { id, state, expected, found, more }] of shown.entries()) {
      if (claims[i].slow) {
        assert.equal(state, 'waiting');
        continue;
      }
      const here = await runClaim(claims[i], glassformer);
      assert.deepEqual(
        { id, state, expected, found },
        { id, state: here.printed ? 'printed' : 'same', expected: here.expected, found: here.found },
      );
      if (here.printed)
        for (const part of [`The tutorial prints: ${here.printed}`, String(here.note)])
          assert.ok(more.includes(part), more);
    }
    assert.match(said, /^✓ all \d+ as expected/);
    t.diagnostic(said);
  }
});

learnTest('a claim that takes seconds runs separately', async ({ page }) => {
  await unfold(page, 5);
  await page.getByRole('button', { name: /^Run this one.*The whole walk/ }).press('Enter');
  await page.waitForFunction(() => document.querySelector('[data-claim="5-walk"]').dataset.state !== 'waiting');
  const row = (await table(page, 5)).find((r) => r.id === '5-walk');
  assert.equal(row.state, 'same', row.found);
  assert.match(row.found, /logits \(4, 128, 32000\)/);
});

// tests/node/tutorials.test.js flips a byte for every tutorial.
learnTest(
  'one flipped byte makes claims fail, in words and colour; the intact file makes them pass again',
  async ({ page }) => {
    await page.getByLabel('Flip one byte in every weight file first').check();
    const said = await runTutorial(page, 4),
      bad = await table(page, 4);
    const red = bad.filter((row) => row.state === 'differs'),
      calm = bad.filter((row) => row.state === 'same');
    assert.match(said, /^✕ \d+ of \d+ differ/, said);
    assert.ok(
      red.some((row) => row.id === '4-reference'),
      'the reference did not notice',
    );
    assert.ok(calm.length > 5, 'counts need no weights and stay right');
    for (const row of red) {
      assert.equal(row.word, '✕ differs');
      assert.notEqual(row.colour, calm[0].colour);
    }
    assert.equal(Number(said.match(/\d+/)[0]), red.length);
    await page.getByLabel('Flip one byte in every weight file first').uncheck();
    assert.match(await runTutorial(page, 4), /^✓ all/);
    assert.ok((await table(page, 4)).every((row) => row.state !== 'differs'));
  },
);

learnTest('“Show me” opens the page that shows a claim, with a model that has it', async ({ page }) => {
  const show = async (number, claim) => {
    await openView(page, 'learn');
    const row = page.locator(`[data-claim="${claim}"]`);
    if (!(await row.isVisible())) await page.locator(`[data-tutorial="${number}"] summary`).press('Enter');
    const link = row.getByRole('link', { name: 'Show me' });
    assert.match(await link.getAttribute('href'), /^#/);
    await link.press('Enter');
  };
  await show(1, '1-post-highway');
  await says(page, '#h-textbook', /^Norm$/);
  await says(page, '.pill', /^random weights/);
  await says(page, '.textbook .idea', /^After each sum/);
  await show(2, '2-cross');
  await says(page, '#h-textbook', /^Cross-attention$/);
  await says(page, '.pill', /^dates/);
  await show(1, '1-embedding');
  await says(page, '.compare-models', /Token embedding.*38,597,376/s);
  await inAddress(page, 'view=experiment', 'preset=modern-124m');
});

learnTest('exercises are done on the page: questions are checked, random ids become a prompt', async ({ page }) => {
  await unfold(page, 1);
  const question = page.locator('[data-tutorial="1"] .question').first();
  for (const [typed, verdict] of [
    ['outside', /^Not yet/],
    ['inside', /^Right: inside/],
  ]) {
    await question.getByRole('textbox').fill(typed);
    await question.getByRole('textbox').press('Enter');
    await question.getByText(verdict).waitFor();
  }
  await unfold(page, 5);
  await page.getByRole('button', { name: 'Take 32 random ids as the prompt' }).press('Enter');
  await page.locator('#view-write:not([hidden])').waitFor();
  await counts(page, '.tok.given', 32);
});
