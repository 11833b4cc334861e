// first_screen.test.js - the first screen in Chromium: what it shows without scrolling, and that nothing on it moves while
// the page opens, text is written, a model replaces another, and a notice comes
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visit } from './built_page.js';
import { atLeast, resting, says, settled } from './page_parts.js';
import { quiet } from './quiet.js';

const WIDTHS = [390, 820, 1280, 1440, 1920];
const HEIGHT = { 390: 844, 820: 1180 };
const MOST = 0.1; // layout shift of a whole story, all shifts added up; the web vitals call a page good up to here
const TOKENS = 160; // of the longest story

/** Runs in a page before its scripts: collects layout shifts that no input caused. */
function watchShifts() {
  window.shifts = [];
  const name = (/** @type {any} */ node) => {
    const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    return element ? `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}` : 'removed';
  };
  new PerformanceObserver((list) => {
    for (const entry of /** @type {any[]} */ (list.getEntries()))
      if (!entry.hadRecentInput)
        window.shifts.push({ value: entry.value, of: entry.sources.map((source) => name(source.node)) });
  }).observe({ type: 'layout-shift', buffered: true });
}

/** A story is at its end. */
const finished = (page) => says(page, '.go', /Run again/);

/**
 * The layout shift of a story at reading speed, from the opening of the page to the story's end.
 * @param {number} width
 * @param {Record<string, any>} how
 * @param {(page: any) => Promise<any>} start
 */
async function shiftOf(width, how, start) {
  const { page, complaints, close } = await visit({
    width,
    height: HEIGHT[width] ?? 900,
    reducedMotion: 'no-preference',
    sampling: false,
    ...how,
    prepare: (page) => page.addInitScript(watchShifts),
  });
  await start(page);
  await finished(page);
  await page.waitForTimeout(200); // the observer is told once a frame
  const shifts = await page.evaluate(() => window.shifts);
  const tokens = await page.locator('.tok:not(.given)').count();
  assert.deepEqual(complaints, []);
  await close();
  const worst = shifts
    .sort((a, b) => b.value - a.value)
    .slice(0, 4)
    .map(({ value, of }) => `${value.toFixed(4)} ${of.join(' ')}`);
  return { width, tokens, sum: shifts.reduce((sum, { value }) => sum + value, 0), worst };
}

/** All widths at the same time, since a story at reading speed takes as long as it takes to read. */
async function nothingMoves(t, widths, how, start) {
  const found = await Promise.all(widths.map((width) => shiftOf(width, how, start)));
  t.diagnostic(found.map(({ width, tokens, sum }) => `${width} px: ${sum.toFixed(4)} in ${tokens} tokens`).join('; '));
  for (const { width, tokens, sum, worst } of found) {
    assert.ok(tokens > 20 && tokens <= TOKENS, `${tokens} tokens`);
    assert.ok(sum < MOST, `${width} px: layout shift ${sum.toFixed(4)}: ${worst.join('; ')}`);
  }
}

test('nothing moves from the opening of the page to the end of the story that it writes by itself', (t) =>
  nothingMoves(t, WIDTHS, {}, (page) => page.waitForSelector('.tok:not(.given)', { timeout: 60_000 })));

test('nothing moves while a story is run at reading speed', (t) =>
  nothingMoves(
    t,
    [390, 1440],
    { hash: '#model=weights/stories-1m.gguf&prompt=Tom and Sue&pace=reading&seed=5' },
    async (page) => {
      await page.waitForSelector('.tok', { timeout: 60_000 });
      await page.locator('.go').click();
      await page.waitForSelector('.tok:not(.given)');
    },
  ));

test('at 1440 x 900 text, next token and the pattern of a head are seen without scrolling', async () => {
  const { page, close } = await visit({ sampling: false });
  await settled(page);
  await page.waitForSelector('.tok');
  await page.locator('.prompts .chip').first().click();
  await atLeast(page, '.tok:not(.given)', 13);
  await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
  await resting(page);
  const seen = await page.evaluate(() => {
    const boxes = (/** @type {string} */ selector) =>
      [...document.querySelectorAll(selector)].map((e) => {
        const { top, bottom, width, height } = e.getBoundingClientRect();
        return { top, bottom, drawn: width > 0 && height > 0 };
      });
    const next = document.querySelector('.next');
    return {
      scrolled: scrollY,
      overflow: next.scrollHeight - next.clientHeight,
      text: boxes('.stream, .stream .text, .tok.here'),
      bars: boxes('.next, .next .bar:not([hidden])'),
      pattern: boxes('.anatomy .card-rect, .anatomy .row-ring, .anatomy .dot'),
    };
  });
  assert.equal(seen.scrolled, 0);
  assert.ok(seen.overflow <= 0, `${seen.overflow} px of the next token have to be scrolled to`);
  assert.ok(seen.bars.length >= 5, `${seen.bars.length} bars`);
  assert.ok(seen.pattern.length >= 20, `${seen.pattern.length} parts of the pattern`);
  for (const [what, boxes] of Object.entries({ text: seen.text, bars: seen.bars, pattern: seen.pattern })) {
    assert.ok(boxes.length && boxes.every(({ drawn }) => drawn), what);
    const [top, bottom] = [Math.min(...boxes.map((b) => b.top)), Math.max(...boxes.map((b) => b.bottom))];
    assert.ok(top >= 0 && bottom <= 900, `${what} from ${top} to ${bottom}`);
  }
  await close();
});

for (const width of [1440, 390])
  test(`the cards stay where they are when models come, text grows and a notice comes: ${width} px`, async () => {
    let release = () => {};
    const held = new Promise((resolve) => {
      release = () => resolve(undefined);
    });
    const { page, close } = await visit({
      width,
      height: HEIGHT[width] ?? 900,
      sampling: false,
      prepare: (page) =>
        page.route('**/weights/stories-1m-q4_0.gguf', async (route) => {
          await held;
          await route.continue();
        }),
    });
    /** Where the first screen's cards lie. On a phone the anatomy is as tall as the model needs. */
    const places = () =>
      page.evaluate(() =>
        ['.top', '.pill', '.prompt', '.stream', '.next', '.anatomy'].map((name) => {
          const { x, y, width, height } = document.querySelector(name).getBoundingClientRect();
          return [name, x, y, width, name === '.anatomy' && innerWidth < 900 ? 0 : height].join(' ');
        }),
      );
    await page.waitForFunction(() => !document.querySelector('.loading').hidden);
    await page.evaluate(() => document.fonts.ready);
    const before = await places();
    release();
    await page.waitForFunction(() => document.querySelector('.tok'), null, { timeout: 60_000 });
    assert.deepEqual(await places(), before, 'the first model');
    await settled(page);
    await quiet(page);
    assert.deepEqual(await places(), before, 'the larger model');
    await page.locator('.go').click();
    await atLeast(page, '.tok:not(.given)', 31);
    assert.deepEqual(await places(), before, 'text that grows');
    await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
    await resting(page);
    const notes = { name: 'notes.gguf', mimeType: 'application/octet-stream', buffer: Buffer.from('no weights') };
    await page.locator('#model-file').setInputFiles(notes);
    await page.waitForFunction(() => !document.querySelector('.error').hidden);
    assert.deepEqual(await places(), before, 'a notice');
    await close();
  });
