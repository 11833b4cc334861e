// accessibility.test.js - the built page in Chromium: axe-core finds nothing in any view or panel, in every theme and on
// every kind of screen; nothing is wider than the window
import assert from 'node:assert/strict';
import { VIEWS } from '../../web/page/state/facts/views.js';
import { pageTest, samePage } from './built_page.js';
import { STORY, accessible, atLeast, openCandidates, openShare, openView, says, shows } from './page_parts.js';
import { quiet } from './quiet.js';
import { train, trained } from './training_parts.js';

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1440, height: 900 };

/** A text, an explained value and a walk down one step. */
async function writeAndExplain(page) {
  await page.locator('.anatomy').scrollIntoViewIfNeeded(); // what is far out of view is not drawn
  await page.locator('.stage').nth(2).click();
  await says(page, '.values .cell', /./); // the values are there
  await page.locator('.values-box').press('Enter');
  await page.waitForSelector('.anatomy .explanation tbody tr');
  await page.getByRole('button', { name: /^Explain the (largest|first) term$/ }).click(); // a way of two steps
  await page.waitForSelector('.anatomy .trail .follow');
}
async function lookInside(page) {
  await page.locator('.matrix').press('ArrowLeft');
  await page.locator('.matrix').press('Enter');
  await page.waitForSelector('.attention .explanation tbody tr');
  await page.locator('.attention .as-table:not(.explain) summary').click();
}
async function experiment(page) {
  await says(page, '.compare', /Without 2 parts/);
  await page.locator('#preset').selectOption({ label: 'stories-GPT-2' });
  await shows(page, () => page.locator('.compare-models thead th').nth(2).textContent(), 'stories-GPT-2');
  await page.locator('.further summary').first().press('Enter');
  await page.getByRole('button', { name: 'Break it, one idea at a time' }).click();
  await atLeast(page, '.broken tbody tr', 5);
  await page.waitForFunction(() => document.querySelector('.break progress').hidden);
  await page.waitForSelector('.depth circle');
  await page.locator('#depth .as-table summary').press('Enter');
}
async function trainAndTable(page) {
  await train(page, { steps: 12, every: 4 });
  await trained(page, /^Done/);
  for (const summary of await page.locator('#train .as-table summary').all()) await summary.press('Enter');
}
/** Claims that hold, and claims that one flipped byte makes fail. */
async function checkClaims(page) {
  await page.getByLabel('Flip one byte in every weight file first').check();
  await page.getByRole('button', { name: 'Run tutorial 4' }).press('Enter');
  await says(page, '[data-tutorial="4"] .result', / s$/);
}

const SCREENS = {
  'light, desktop': { ...DESKTOP, colorScheme: 'light' },
  'dark, phone': { ...PHONE, colorScheme: 'dark' },
};
/** The page is on this screen from now on. */
async function use(page, { width, height, ...media }) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: null, forcedColors: null, ...media });
}
/** axe-core finds nothing in what is shown, or in this part of it, on both screens. */
async function accessibleOnBoth(page, what, where) {
  const papers = new Set();
  for (const [name, screen] of Object.entries(SCREENS).reverse()) {
    await use(page, screen);
    await accessible(page, `${what}, ${name}`, where);
    papers.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
  }
  assert.equal(papers.size, 2);
}

pageTest(
  `axe-core finds nothing in any panel that is used: ${Object.keys(SCREENS).join('; ')}`,
  '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=30&off=0.ffn,1.1',
  async ({ page }) => {
    for (const [view, work] of Object.entries({
      write: writeAndExplain,
      inside: lookInside,
      count: async () => {},
      experiment,
      train: trainAndTable,
      learn: checkClaims,
    })) {
      await openView(page, view);
      await work(page);
      await accessibleOnBoth(page, view, view === 'write' ? undefined : `#view-${view}`); // what is around them is the same
    }
    await openView(page, 'write');
    await page.locator('.pill:visible').click();
    await accessibleOnBoth(page, 'dialog', 'dialog.models');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Show me how it works' }).press('Enter');
    for (let step = 1; step <= 5; step++) {
      await says(page, '.tour-foot', new RegExp(`^\\s*${step} of 5`));
      if (step === 5) await page.waitForSelector('.tour [data-role="broken"]');
      await accessibleOnBoth(page, `step ${step} of the tour`, '.tour');
      await page.locator('.tour .primary').press('Enter');
    }
    await page.waitForSelector('.textbook .primary');
    await accessibleOnBoth(page, 'textbook', '.textbook');
    await page.locator('.textbook').getByRole('button', { name: 'Leave' }).press('Enter');
    await openView(page, 'write');
    await openShare(page);
    await accessibleOnBoth(page, 'share', '#share');
    await page.keyboard.press('Escape');
    await openCandidates(page);
    await accessibleOnBoth(page, 'next token, and the whole page once all views are there');
  },
);

const storyTest = samePage(STORY);

// The elements are those of the test above; their colours differ.
storyTest('every view has contrast where colours are forced', async ({ page }) => {
  await use(page, { ...DESKTOP, forcedColors: 'active' });
  for (const { id } of VIEWS) {
    await openView(page, id);
    await accessible(page, id, id === VIEWS[0].id ? undefined : `#view-${id}`, [
      'color-contrast',
      'link-in-text-block',
    ]);
    // Where colours are forced, the browser lays a plate of the canvas colour behind the text.
    const plates = await page.locator('.go:visible, .primary:visible, [data-opens][aria-current]').evaluateAll((list) =>
      list.map((button) => {
        const { forcedColorAdjust, color, backgroundColor } = getComputedStyle(button);
        return [forcedColorAdjust, color !== backgroundColor];
      }),
    );
    assert.ok(plates.length > 0);
    for (const plate of plates) assert.deepEqual(plate, ['none', true], id);
  }
});

// 720 px is a window of 1440 at 200 % zoom.
for (const [width, height] of [
  [320, 640],
  [720, 450],
])
  storyTest(`no view is wider than a window of ${width} px`, async ({ page }) => {
    await use(page, { width, height });
    for (const { id } of VIEWS) {
      await openView(page, id);
      await quiet(page);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, id);
    }
  });

storyTest('4K is used', async ({ page }) => {
  await use(page, { width: 3840, height: 2160 });
  await quiet(page);
  const [main, size] = await page.evaluate(() => [
    document.querySelector('main').clientWidth,
    parseFloat(getComputedStyle(document.body).fontSize),
  ]);
  assert.ok(main > 2000 && size > 18, `at 4K the page is ${main} px wide in ${size} px type`);
});

pageTest('the theme is chosen and kept', { colorScheme: 'light' }, async ({ page }) => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole('button', { name: 'Dark theme' }).click();
  const dark = await paper();
  assert.notEqual(dark, light);
  await page.reload();
  await page.waitForSelector('.tok');
  assert.equal(await paper(), dark);
});

/** Smaller than 24 px in a direction, but links in a sentence, boxes with a label, and pictures of many parts. */
const tooSmall = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('main :is(button, summary, select, input:not([type="checkbox"], [type="file"]))')]
      .filter((one) => one.checkVisibility() && !one.closest('.bars, .switches, .votes, .grid'))
      .map((one) => [one, one.getBoundingClientRect()])
      .filter(([, { width, height }]) => height && Math.min(width, height) < 23.5)
      .map(([one, { width, height }]) => `${one.textContent.trim() || one.id}: ${width} by ${height}`),
  );
let fetchType = () => {};
const typeMayCome = new Promise((resolve) => {
  fetchType = () => resolve(undefined);
});
pageTest(
  'what is pressed is at least 24 px wide and high in the type of the system, and in that of the page when it has come',
  {
    hash: `${STORY}&written=8`,
    prepare: (page) =>
      page.route(/\.woff/, async (route) => {
        await typeMayCome;
        await route.continue();
      }),
  },
  async ({ page }) => {
    const loaded = () =>
      page.evaluate(() => [...document.fonts].some((f) => f.status === 'loaded' && !/ like /.test(f.family)));
    for (const type of ['system', 'page']) {
      if (type === 'page') {
        fetchType();
        await page.evaluate(() => document.fonts.ready);
      }
      assert.equal(await loaded(), type === 'page');
      for (const { id } of VIEWS) {
        await openView(page, id);
        await quiet(page);
        assert.deepEqual(await tooSmall(page), [], `${id}, type of the ${type}`);
      }
    }
  },
);

// "217#" stood for the token #217 beside letters that are written from right to left.
pageTest(
  'a chip among letters from right to left is read from left to right',
  '#model=weights/stories-1m.gguf&prompt=%D8%A7%D9%84%D8%B3%D9%84%D8%A7%D9%85',
  async ({ page }) => {
    const chip = page.locator('.tok.odd .word', { hasText: /^#\d+$/ }).first();
    assert.deepEqual(
      await chip.evaluate((word) => [getComputedStyle(word).unicodeBidi, getComputedStyle(word).direction]),
      ['isolate', 'ltr'],
    );
    const boxes = await page.locator('.tok.odd .word').evaluateAll((all) => all.map((w) => w.getClientRects().length));
    assert.ok(boxes.length > 3 && boxes.every((n) => n === 1), `a chip lies in ${Math.max(...boxes)} pieces`);
    const [mark, digits] = await chip.evaluate((word) =>
      [0, 1].map((at) => {
        const range = document.createRange();
        range.setStart(word.firstChild, at);
        range.setEnd(word.firstChild, at + 1);
        return range.getBoundingClientRect().left;
      }),
    );
    assert.ok(mark < digits, `# stands at ${mark}, the digits at ${digits}`);
  },
);

pageTest(
  'the table of parameters on a phone says what each number is, and the model stays inside its card at 200 %',
  { hash: `${STORY}&written=8`, ...PHONE, view: 'count' },
  async ({ page }) => {
    const names = await page
      .locator('.parameters .group td.count')
      .evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell, '::before').content));
    assert.ok(names.length > 4 && names.every((name) => /Count/.test(name)), names.join());
    await page.setViewportSize({ width: 720, height: 450 });
    await openView(page, 'write');
    const [pill, card] = await page.evaluate(() =>
      ['.prompt .pill', '.prompt'].map((name) => document.querySelector(name).getBoundingClientRect().right),
    );
    assert.ok(pill <= card, `the model ends at ${pill}, its card at ${card}`);
  },
);
