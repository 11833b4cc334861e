// tutorials.test.js - the panel "Same numbers as the tutorial" in the built page: its results equal Node's, and a
// flipped byte makes claims fail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as glassformer from '../../web/lib/index.js';
import { TUTORIALS, runClaim } from '../../web/page/claims/index.js';
import { axe, openView, visit } from './built_page.js';

async function open(how = {}) {
  const visitor = await visit(how);
  await visitor.page.waitForSelector('.tok', { timeout: 60_000 });
  await openView(visitor.page, 'learn');
  await visitor.page.locator('#tutorials').scrollIntoViewIfNeeded();
  return visitor;
}

/** Press Run and wait for the sentence at the end. */
async function run(page, number) {
  await page.getByRole('button', { name: `Run tutorial ${number}` }).press('Enter');
  const result = page.locator(`[data-tutorial="${number}"] .result`);
  await page.waitForFunction(
    (n) =>
      / s$/.test(document.querySelector(`[data-tutorial="${n}"] .result`).textContent) &&
      document.querySelector(`[data-tutorial="${n}"] .go-tutorial button`).getAttribute('aria-disabled') === 'false',
    number,
    { timeout: 120_000 },
  );
  return result.textContent();
}

/** What the table says: claim, state, expected, found. */
const table = (page, number) =>
  page.locator(`[data-tutorial="${number}"] tbody tr`).evaluateAll((list) =>
    list.map((row) => ({
      id: row.dataset.claim,
      state: row.dataset.state,
      expected: row.cells[1].textContent,
      found: row.cells[2].textContent,
      word: row.cells[3].textContent,
      colour: getComputedStyle(row.cells[2]).color,
      more: row.cells[0].textContent,
    })),
  );

for (const { number, title, open: claimsOf } of TUTORIALS) {
  test(`tutorial ${number}, ${title}: each claim has the same result as in Node`, async (t) => {
    const { page, complaints, close } = await open();
    const said = await run(page, number);
    const shown = await table(page, number),
      { claims } = await claimsOf();
    assert.deepEqual(
      shown.map((row) => row.id),
      claims.map((c) => c.id),
    );
    for (const [i, claim] of claims.entries()) {
      if (claim.slow) {
        assert.equal(shown[i].state, 'waiting');
        continue;
      }
      const here = await runClaim(claim, glassformer);
      assert.equal(
        shown[i].state,
        here.printed ? 'printed' : 'same',
        `${claim.id}: expected ${shown[i].expected}, found ${shown[i].found}`,
      );
      assert.equal(shown[i].expected, here.expected);
      assert.equal(shown[i].found, here.found, claim.id);
      if (here.printed)
        assert.ok(
          shown[i].more.includes(`The tutorial prints: ${here.printed}`) && shown[i].more.includes(String(here.note)),
          shown[i].more,
        );
    }
    assert.match(said, /^✓ all \d+ as expected/);
    t.diagnostic(said);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('a claim that takes seconds runs separately', async () => {
  const { page, close } = await open();
  await page.locator('[data-tutorial="5"] summary').press('Enter');
  await page.getByRole('button', { name: /^Run this one.*The whole walk/ }).press('Enter');
  await page.waitForFunction(() => document.querySelector('[data-claim="5-walk"]').dataset.state !== 'waiting', null, {
    timeout: 240_000,
  });
  const row = (await table(page, 5)).find((r) => r.id === '5-walk');
  assert.equal(row.state, 'same', row.found);
  assert.match(row.found, /logits \(4, 128, 32000\)/);
  await close();
});

test('one flipped byte makes claims fail, in words and colour; the intact file makes them pass again', async () => {
  const { page, close } = await open();
  for (const number of [1, 2, 3, 4, 5]) {
    await page.getByLabel('Flip one byte in every weight file first').check();
    const said = await run(page, number),
      bad = await table(page, number);
    const red = bad.filter((row) => row.state === 'differs'),
      calm = bad.filter((row) => row.state === 'same');
    assert.match(said, /^✕ \d+ of \d+ differ/, said);
    assert.ok(
      red.some((row) => row.id === `${number}-reference`),
      `tutorial ${number}: the reference did not notice`,
    );
    assert.ok(calm.length > 5, 'counts need no weights and stay right');
    for (const row of red) {
      assert.equal(row.word, '✕ differs');
      assert.notEqual(row.colour, calm[0].colour);
    }
    assert.equal(Number(said.match(/\d+/)[0]), red.length);
    if (number === 1) {
      await page.getByLabel('Flip one byte in every weight file first').uncheck();
      assert.match(await run(page, number), /^✓ all/);
      assert.ok((await table(page, number)).every((row) => row.state !== 'differs'));
    }
  }
  await close();
});

for (const [what, options] of /** @type {[string, any][]} */ ([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['phone', { colorScheme: 'light', viewport: { width: 390, height: 844 } }],
])) {
  test(`accessible with passed and failed claims: ${what}`, async () => {
    const { page, close } = await open(options);
    await run(page, 3);
    await page.getByLabel('Flip one byte in every weight file first').check();
    await run(page, 4);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run('#tutorials'));
    assert.deepEqual(
      violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join('; ')}`),
      [],
    );
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      'the page scrolls sideways',
    );
    await close();
  });
}
