// view_shifts.test.js - every view in Chromium, opened by its address: nothing on it moves while it comes, and while a story
// is written, on a wide screen and on a phone
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VIEWS } from '../../web/page/state/facts/views.js';
import { visit } from './built_page.js';
import { atLeast, counts, settled } from './page_parts.js';
import { MOST, shiftsOf, watchShifts } from './shifts.js';

const SIZES = { 1440: 900, 390: 844 };
const DRAWN = 40; // tokens that the strip above a view has at most

/** @param {string} id @param {number} width */
async function shiftOf(id, width) {
  const { page, complaints, close } = await visit({
    hash: `#view=${id}`,
    width,
    height: SIZES[width],
    reducedMotion: 'no-preference',
    sampling: false,
    prepare: (page) => page.addInitScript(watchShifts),
  });
  await settled(page);
  await page.waitForSelector(`#view-${id} .card`);
  await counts(page, '[data-fetching]', 0);
  const { sum: opened } = await shiftsOf(page);
  const run = page.locator('.strip').getByRole('button', { name: 'Run', exact: true });
  if (await run.count()) await run.press('Enter');
  await atLeast(page, '.strip .line span', DRAWN);
  const { sum, worst } = await shiftsOf(page);
  assert.deepEqual(complaints, []);
  await close();
  return { width, opened, sum, worst };
}

for (const { id, name } of VIEWS.slice(1))
  // those of the first are in first_screen.test.js
  test(`nothing moves while ${name} is opened by its address and a story is written`, async (t) => {
    const found = await Promise.all(Object.keys(SIZES).map((width) => shiftOf(id, Number(width))));
    for (const { width, opened, sum, worst } of found) {
      t.diagnostic(`${width} px: ${opened.toFixed(4)} until it is there, ${sum.toFixed(4)} with a story`);
      assert.ok(sum < MOST, `${width} px: layout shift ${sum.toFixed(4)}: ${worst.join('; ')}`);
    }
  });
