// engines_page.test.js - the built page in Chromium, Firefox and WebKit: it writes by itself, writes what the library
// writes in Node, every panel has its numbers, and nothing is complained of. All of this where it is cross-origin
// isolated; not isolated it writes in one thread, and screenshots of it go to build/screens.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from './drivers/browsers.js';
import { inEachEngine } from './drivers/each_engine.js';
import { load } from '../../web/lib/api/index.js';
import { PATIENCE, sleep } from '../patience.js';
import { servePage, top } from './engines/fixture.js';

/** @typedef {import('./drivers/browsers.js').Page} Page */

const SCREENS = `${top}build/screens`;
const PROMPT = 'Once upon a time, there was a little';

/**
 * Ids of a text as the library writes it in Node, with the page's sampler.
 * @param {string} model
 * @param {string} prompt
 * @param {Record<string, any>} how
 */
async function expected(model, prompt, how) {
  const loaded = await load(`${top}weights/${model}`),
    ids = [...(await loaded.encode(prompt))];
  for await (const { id } of loaded.generate(ids, { temperature: 0.8, topK: 40, topP: 0.95, ...how })) ids.push(id);
  loaded.dispose();
  return ids;
}
/** What Node writes, for all engines. */
const STORIES = {
  isolated: await expected('stories.gguf', PROMPT, { maxTokens: 40, seed: 7 }),
  plain: await expected('stories-1m.gguf', 'Once upon a time', { maxTokens: 30, seed: 3 }),
};
/** The text becomes this. @param {Page} page @param {number[]} want */
async function writes(page, want) {
  const ids = () => [...document.querySelectorAll('.tok')].map((t) => t.dataset.id).join();
  await until(page, (want) => [...document.querySelectorAll('.tok')].map((t) => t.dataset.id).join() === want, [
    want.join(),
  ]).catch(async () => assert.equal(await page.evaluate(ids), want.join()));
}

/**
 * Type into fields, as a visitor's events tell it.
 * @param {Page} page
 * @param {Record<string, string>} values by selector
 */
const fill = (page, values) =>
  page.evaluate((list) => {
    for (const [selector, value] of list) {
      const field = document.querySelector(selector);
      field.focus();
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Unidentified', bubbles: true }));
      field.value = value;
      for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }));
    }
  }, Object.entries(values));
/**
 * @param {Page} page
 * @param {string} selector
 */
const click = (page, selector) => page.evaluate((s) => document.querySelector(s).click(), selector);
/**
 * @param {Page} page
 * @param {string} selector
 */
const show = (page, selector) =>
  page.evaluate((s) => document.querySelector(s).scrollIntoView({ block: 'center', behavior: 'instant' }), selector);

/**
 * Open a view by its tab.
 * @param {Page} page
 * @param {string} id
 */
const openView = async (page, id) => {
  await click(page, `[data-opens="${id}"]`);
  await until(page, (id) => document.querySelector(`#view-${id}`)?.hidden === false, [id]);
};

/** The panel "Next token" over the end of the machine. @param {Page} page */
async function openCandidates(page) {
  await until(page, () => document.querySelector('.anatomy-svg.brief .stage[data-part="logits"]') !== null);
  await page.evaluate(() => {
    if (document.querySelector('.next').hidden)
      document
        .querySelector('.anatomy-svg.brief .stage[data-part="logits"]')
        .dispatchEvent(new MouseEvent('click', { bubbles: true }));
  });
}

/**
 * What each panel shows once it has its numbers, by its view and its selector.
 * @type {Record<string, Record<string, () => any>>}
 */
const PANELS = {
  write: {
    '.next': () =>
      document.querySelectorAll('.bar .num').length >= 10 &&
      /entropy/.test(document.querySelector('#h-next').textContent) &&
      [...document.querySelectorAll('.bar .num')].every((e) => /%$|^cut$/.test(e.textContent)),
    '.heads': () => document.querySelectorAll('.tile canvas').length >= 2,
    '.sizes': () => /\d/.test(document.querySelector('[data-size="total"] .read')?.textContent ?? ''),
    '.anatomy': () => document.querySelectorAll('.anatomy-svg .dot').length > 0,
  },
  inside: {
    '.heads': () => document.querySelectorAll('.tile canvas').length >= 2,
    '.attention': () =>
      [...document.querySelectorAll('.attention .attends li')].length > 0 && document.querySelector('.cells').width > 0,
    '.lens-card': () =>
      document.querySelectorAll('.lens td').length > 8 && document.querySelectorAll('.vote').length > 8,
  },
  count: {
    '.parameters': () => /\d/.test(document.querySelector('.parameters .total .count').textContent),
    '.trace': () => /\d/.test(document.querySelector('.trace tfoot td')?.textContent ?? ''),
    '.memory': () =>
      document.querySelectorAll('.memory .piece').length > 3 &&
      document.querySelectorAll('.memory tbody tr').length > 0,
  },
  experiment: {
    '.ablate': () => document.querySelectorAll('.switches button').length > 4,
  },
};

/**
 * Every head in view is drawn; the scale of weights begins with the colour of the paper.
 * @param {Page} page
 * @param {string} theme
 */
const headsAreDrawn = (page, theme) =>
  until(
    page,
    (dark) => {
      const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const pixel = (canvas) => {
        copy.clearRect(0, 0, 1, 1);
        copy.drawImage(canvas, 0, 0);
        return copy.getImageData(0, 0, 1, 1).data;
      };
      document.querySelector('.heads').scrollIntoView({ block: 'nearest' }); // heads out of sight are not drawn
      return (
        [...document.querySelectorAll('.tile canvas')].every((canvas) => pixel(canvas)[3] > 0) &&
        pixel(document.querySelector('.ramp'))[0] < 128 === dark
      );
    },
    [theme === 'dark'],
  );

mkdirSync(SCREENS, { recursive: true });
inEachEngine((own) => {
  describe('isolated', () => {
    /** @type {Awaited<ReturnType<typeof servePage>>} */
    let server;
    /** @type {Page} */
    let page;
    before(async () => {
      server = await servePage(true);
      page = await own.browser.open(`${server.url}#model=weights/stories.gguf`);
    });
    after(async () => {
      await page?.close();
      await server?.close();
    });

    test("it writes by itself before it is touched, and the next token's bars follow", async (t) => {
      await until(page, () => /^stories-5M/.test(document.querySelector('.pill').textContent));
      const bars = () =>
        page.evaluate(() => [...document.querySelectorAll('.bar-part')].map((e) => e.textContent).join());
      const [n, first] = [await until(page, () => document.querySelectorAll('.tok:not(.given)').length), await bars()];
      await until(page, (n) => document.querySelectorAll('.tok:not(.given)').length !== n, [n]);
      await until(
        page,
        (first) => {
          const now = [...document.querySelectorAll('.bar-part')].map((e) => e.textContent).join();
          return now && now !== first;
        },
        [first],
      );
      t.diagnostic(
        `${own.browser.version}: ${await page.evaluate(() => [...document.querySelectorAll('.engine-line span')].map((e) => e.title || e.textContent).join(', '))}`,
      );
    });

    test('a prompt is continued as the library continues it in Node', async () => {
      await fill(page, { '#pace': 'fast', '#max-tokens': '40', '#seed': '7', 'textarea[name="prompt"]': PROMPT });
      await page.evaluate(() => document.querySelector('form.prompt').requestSubmit());
      await writes(page, STORIES.isolated);
      await until(page, () => /Continue|Run again/.test(document.querySelector('.go').textContent));
      assert.match(
        await page.evaluate(() => document.querySelector('[data-role="speed"]').textContent),
        /^[\d,.]+ tokens\/s$/,
      );
    });

    test('every panel has its numbers', async () => {
      for (const [view, panels] of Object.entries(PANELS)) {
        await openView(page, view);
        if (view === 'write') await openCandidates(page);
        for (const [panel, ready] of Object.entries(panels)) {
          const place = `.view:not([hidden]) ${panel}`;
          await until(page, (place) => document.querySelector(place) !== null, [place]);
          await show(page, place);
          await until(page, ready).catch((error) => assert.fail(`${panel}: ${error.message}`));
        }
      }
    });

    test('a part of the anatomy that is pointed at has its card, with the lines of the reference', async () => {
      await openView(page, 'inside');
      await show(page, '.anatomy');
      await until(page, () => document.querySelector('.lane [data-part="q"]') !== null);
      await page.evaluate(() =>
        document
          .querySelector('.lane [data-part="q"]')
          .dispatchEvent(new PointerEvent('pointerover', { bubbles: true, pointerType: 'mouse' })),
      );
      await until(page, () => /query/.test(document.querySelector('.part-card h3')?.textContent ?? ''));
      await click(page, '.part-card .takes button:nth-of-type(3)');
      await until(page, () => /project_qkv/.test(document.querySelector('.part-card .code')?.textContent ?? ''));
      await click(page, '.part-card .close');
      await until(page, () => document.querySelector('.part-card') === null);
    });

    test('another head, a training run, another model', async () => {
      await openView(page, 'inside');
      await click(page, '.tile[aria-label="layer 3, head 2"]');
      await until(page, () => /Layer 3, head 2/.test(document.querySelector('#h-attention').textContent));
      await openView(page, 'train');
      await until(page, () => document.querySelector('#train-preset') !== null);
      await fill(page, { '#train-preset': 'one layer, one head' });
      await fill(page, { '#train-steps': '6', '#train-every': '3' });
      await page.evaluate(() =>
        [...document.querySelectorAll('#train button')].find((b) => b.textContent === 'Teach it this text').click(),
      );
      await until(page, () => /^Done, 6 steps/.test(document.querySelector('#train output').textContent));
      const facts = await page.evaluate(() => document.querySelector('.training-facts').textContent);
      assert.doesNotMatch(facts, /NaN|Infinity|∞/);
      const dates = await own.browser.open(
        `${server.url}#model=weights/dates/&source=the 24th of December, 1999&pace=fast&t=0`,
      );
      await until(dates, () => {
        const written = /1999-12-24/.test(document.querySelector('.text').textContent),
          idle = document.querySelector('.go').getAttribute('aria-disabled') === 'false';
        // again where the address was still being followed
        if (!written && idle) document.querySelector('.go').click();
        return written;
      });
      assert.deepEqual(await dates.complaints(), []);
      await dates.close();
    });

    test('no number is missing, and nothing was complained of', async () => {
      for (const view of [...Object.keys(PANELS), 'train', 'learn', 'labs']) {
        await openView(page, view);
        assert.equal(
          /** @type {any} */ (
            await page.evaluate(() => /.{0,40}(?:NaN|Infinity|∞|undefined).{0,20}/.exec(document.body.innerText))
          )?.[0],
          undefined,
          view,
        );
      }
      assert.deepEqual(await page.complaints(), []);
    });
  });

  test("not isolated: Node's text, screenshots of desktop and phone, and nothing lies beyond the right edge", async () => {
    const server = await servePage(false);
    try {
      for (const [device, width, height] of /** @type {[string, number, number][]} */ ([
        ['desktop', 1440, 2000],
        ['phone', 390, 844],
      ])) {
        const page = await own.browser.open(
          `${server.url}#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=30`,
          { width, height },
        );
        await writes(page, STORIES.plain);
        for (const theme of device === 'desktop' ? ['light', 'dark'] : ['dark']) {
          if ((await page.evaluate(() => document.documentElement.dataset.theme ?? 'light')) !== theme)
            await click(page, '[data-role="theme"]');
          for (const view of ['write', 'inside']) {
            await openView(page, view);
            if (view === 'write') {
              await openCandidates(page);
              await until(page, PANELS.write['.next']);
              await until(page, () =>
                [...document.querySelectorAll('.bar')].every((bar) => !bar.textContent.includes('…')),
              );
            } else {
              await until(page, () => document.querySelector('.attention') !== null);
              await show(page, '.attention');
              await until(page, PANELS.inside['.attention']);
              if (device === 'desktop') {
                await headsAreDrawn(page, theme);
                await until(page, PANELS.inside['.lens-card']);
              }
            }
            let png = await page.screenshot();
            // WebKit paints some time after it has scrolled
            for (const end = Date.now() + PATIENCE; png.length <= 30_000 && Date.now() < end; await sleep(300))
              png = await page.screenshot();
            writeFileSync(`${SCREENS}/${own.engine}-${device}-${theme}-${view}.png`, png);
            const header = new DataView(png.buffer, png.byteOffset);
            assert.deepEqual([header.getUint32(16), header.getUint32(20)], [width, height]);
            assert.ok(png.length > 30_000, `${png.length} bytes: an empty picture`);
            assert.ok(
              await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
              `${device}, ${view}: the page scrolls sideways`,
            );
          }
        }
        // Firefox's kind of dot product once stood there too, and the head of the page took a second line
        assert.match(
          await page.evaluate(() => document.querySelector('[data-role="backend"]').textContent),
          /SIMD128 \((relaxed, )?1 thread\)$/,
        );
        assert.deepEqual(await page.complaints(), []);
        await page.close();
      }
    } finally {
      await server.close();
    }
  });
});
