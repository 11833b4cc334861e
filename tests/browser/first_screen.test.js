// first_screen.test.js - the first screen in Chromium: what it shows without scrolling, and that nothing on it moves while
// the page opens, text is written, a model replaces another, and a notice comes
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { repeatedTokens } from '../../web/lib/run/analysis/head_scores.js';
import { bytes, figures, int, percent } from '../../web/page/text/format.js';
import { visit } from './built_page.js';
import { top, withModel } from './expected.js';
import { STORY, atLeast, counts, openCandidates, openView, resting, runPrompt, says } from './page_parts.js';
import { quiet } from './quiet.js';
import { MOST, shiftsOf, watchShifts } from './shifts.js';

const HEIGHT = { 390: 844, 820: 1180 };
const SHORT = 60; // tokens at which a story ends at the latest
const SOME = 24; // tokens, by which every card has been filled and a line has been added

/** A story is at its end, which comes soon. */
async function finished(page) {
  await page.locator('#max-tokens').evaluate((/** @type {HTMLInputElement} */ field, most) => {
    field.value = String(most);
    for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }));
  }, SHORT);
  await says(page, '.go', /Run again/);
}

/** So much of a story is written. */
const begun = (page) => atLeast(page, '.tok:not(.given)', SOME);

/**
 * The layout shift of a story at reading speed, from the opening of the page on.
 * @param {number} width
 * @param {Record<string, any>} how
 * @param {(page: any) => Promise<any>} read  until the story is where the test ends
 */
async function shiftOf(width, how, read) {
  const { page, complaints, close } = await visit({
    width,
    height: HEIGHT[width] ?? 900,
    reducedMotion: 'no-preference',
    sampling: false,
    ...how,
    prepare: (page) => page.addInitScript(watchShifts),
  });
  await read(page);
  const { sum, worst } = await shiftsOf(page);
  const tokens = await page.locator('.tok:not(.given)').count();
  assert.deepEqual(complaints, []);
  await close();
  return { width, tokens, sum, worst };
}

/** All widths at the same time, since a story at reading speed takes as long as it takes to read. */
async function nothingMoves(t, widths, how, read) {
  const found = await Promise.all(widths.map((width) => shiftOf(width, how, read)));
  t.diagnostic(found.map(({ width, tokens, sum }) => `${width} px: ${sum.toFixed(4)} in ${tokens} tokens`).join('; '));
  for (const { width, tokens, sum, worst } of found) {
    assert.ok(tokens > 20 && tokens <= SHORT, `${tokens} tokens`);
    assert.ok(sum < MOST, `${width} px: layout shift ${sum.toFixed(4)}: ${worst.join('; ')}`);
  }
}

test('nothing moves from the opening of the page to the end of the story that it writes by itself', (t) =>
  nothingMoves(t, [390, 1440], {}, async (page) => {
    await begun(page);
    await finished(page);
  }));

test('nothing moves in the layouts of other widths while that story is written', (t) =>
  nothingMoves(t, [820, 1280], {}, begun));

test('nothing moves while a story is run at reading speed', (t) =>
  nothingMoves(
    t,
    [390, 1440],
    { hash: '#model=weights/stories-1m.gguf&prompt=Tom and Sue&pace=reading&seed=5' },
    async (page) => {
      await page.waitForSelector('.tok');
      await page.locator('.go').click();
      await begun(page);
    },
  ));

/** Where the cards of the first screen lie, in the order of the document. */
const cards = (page) =>
  page.evaluate(() =>
    ['.prompt', '.engine-line', '.stream', '.heads', '.anatomy', '.sizes'].map((name) => {
      const { left, right, top, bottom } = document.querySelector(name).getBoundingClientRect();
      return { name, left, right, top, bottom };
    }),
  );

test('at 1440 x 900 the whole machine is in view while text streams, and all of it follows', async () => {
  const { page, close } = await visit({
    hash: '#model=weights/stories-1m.gguf&prompt=Once upon a time&past=1',
    sampling: false,
  });
  await page.waitForSelector('.tok');
  await page.locator('.go').click();
  await atLeast(page, '.tok:not(.given)', 3);
  await page.waitForSelector('.tile canvas');
  await page.waitForSelector('.bar-part');
  const shown = () =>
    Promise.all([
      page.locator('[data-size="total"] .read').textContent(),
      page.locator('.lane-label.here').textContent(),
      page.locator('.anatomy-svg').textContent(),
    ]);
  const before = await shown();
  await atLeast(page, '.tok:not(.given)', (await page.locator('.tok:not(.given)').count()) + 8);
  const now = await shown();
  assert.equal(await page.locator('.stream.writing').count(), 1, 'the text rests');
  for (const [i, text] of now.entries()) assert.notEqual(text, before[i]);
  assert.equal(await page.evaluate(() => scrollY), 0);
  for (const { name, top, bottom } of await cards(page))
    assert.ok(top >= 0 && bottom <= 900, `${name} from ${top} to ${bottom}`);
  // what is in them, whole
  const cut = await page.evaluate(() =>
    ['.heads', '.anatomy', '.sizes'].filter((name) => {
      const { scrollHeight, clientHeight } = document.querySelector(name);
      return scrollHeight > clientHeight;
    }),
  );
  assert.deepEqual(cut, []);
  await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
  await resting(page);
  const drawn = await page.evaluate(
    () =>
      [...document.querySelectorAll('.tile canvas')].filter((canvas) => {
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        return copy.getImageData(0, 0, canvas.width, canvas.height).data.some((v) => v);
      }).length,
  );
  assert.equal(drawn, await page.locator('.tile').count());
  await close();
});

/**
 * What one sees of the page without scrolling: numbers in words, places that Tab reaches (a group that arrow keys move
 * in is one), and styles of type by family, size and weight. Letters before digits are a name: L2, Q4_0, SIMD128.
 */
const seen = () => {
  const inView = (/** @type {DOMRect} */ { width, height, top, bottom }) =>
    width > 1 && height > 1 && bottom > 0 && top < innerHeight;
  const numbers = [],
    styles = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = /** @type {Element} */ (node.parentElement);
    if (!node.textContent?.trim() || element.closest('script, style, select, .toasts, .hidden, [hidden]')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    if (!inView(range.getBoundingClientRect()) || !element.checkVisibility({ visibilityProperty: true })) continue;
    const svg = element.closest('svg'),
      unit = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const { fontFamily, fontSize, fontWeight } = getComputedStyle(element);
    styles.add(`${fontFamily.split(',')[0]} ${Math.round(parseFloat(fontSize) * unit)} px ${fontWeight}`);
    numbers.push(...(node.textContent.match(/(?<![\p{L}_\d.,])\d[\d.,]*/gu) ?? []));
  }
  const stops = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter(
    (element) =>
      /** @type {HTMLElement} */ (element).tabIndex >= 0 &&
      !element.closest('.toasts, .skip, .hidden') &&
      element.checkVisibility({ visibilityProperty: true }) &&
      inView(element.getBoundingClientRect()),
  );
  return {
    numbers,
    styles: [...styles],
    stops: stops.map((e) => e.getAttribute('aria-label') || e.textContent?.trim()),
  };
};

test('the first screen has at most 40 numbers, 20 places that Tab reaches and 6 styles of type', async (t) => {
  const { page, close } = await visit({ sampling: false });
  await page.waitForSelector('.tok');
  await page.evaluate(() => document.fonts.ready);
  await page.locator('.go').click();
  await atLeast(page, '.tok:not(.given)', 24);
  await page.waitForSelector('.bar-part');
  await page.waitForSelector('[data-size="total"]');
  await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
  await resting(page);
  const { numbers, styles, stops } = await page.evaluate(seen);
  t.diagnostic(`${numbers.length} numbers: ${numbers.join(' ')}`);
  t.diagnostic(`${stops.length} places: ${stops.join(' | ')}`);
  t.diagnostic(`${styles.length} styles: ${styles.join(' | ')}`);
  assert.ok(numbers.length > 20 && numbers.length <= 40, `${numbers.length} numbers: ${numbers.join(' ')}`);
  assert.ok(stops.length > 10 && stops.length <= 20, `${stops.length} places: ${stops.join(' | ')}`);
  assert.ok(styles.length > 3 && styles.length <= 6, `${styles.length} styles: ${styles.join(' | ')}`);
  await close();
});

test('the foot of the machine has the counts and bytes of the library, and the line under the prompt the file', async () => {
  const FILE = 'weights/stories-1m-q4_0.gguf';
  const { page, close } = await visit({ hash: `#model=${FILE}&prompt=Once upon a time`, sampling: false });
  await page.waitForSelector('[data-size="total"]');
  await says(page, '[data-role="memory"]', /linear memory/);
  await withModel(FILE, async (model) => {
    const { rows, total } = model.parameters;
    const of = (/** @type {RegExp} */ components) => rows.filter(({ component }) => components.test(component));
    const sum = (list, key) => list.reduce((n, row) => n + row[key], 0);
    for (const [part, components] of Object.entries({
      embedding: /^embedding$/,
      attention: /^attention$/,
      ffn: /^ffn$/,
      norm: /norm$/,
    })) {
      const cells = await page.locator(`[data-size="${part}"] td`).allTextContents();
      const list = of(components);
      assert.deepEqual(cells.slice(0, 2), [int(sum(list, 'count')), bytes(sum(list, 'memoryBytes'))], part);
    }
    assert.equal(await page.locator('[data-size="head"] .count').textContent(), 'the embedding');
    const all = await page.locator('[data-size="total"] td').allTextContents();
    assert.deepEqual(all.slice(0, 2), [int(total), bytes(sum(rows, 'memoryBytes'))]);
    // all weights but the rows of the embedding that the token does not look up, and the cache of its keys and values
    const read = sum(of(/^(?!embedding)/), 'memoryBytes') + sum(of(/^embedding$/), 'memoryBytes');
    const number = { B: 1, kB: 1e3 };
    const [, figure, unit] = /** @type {RegExpExecArray} */ (/^([\d.,]+) (k?B)$/.exec(all[2]));
    const shown = Number(figure.replace(',', '')) * number[unit];
    assert.ok(shown > read && shown < 1.05 * read, `${all[2]} read, weights have ${read}`);
  });
  const line = await page.locator('.engine-line').innerText();
  assert.match(line, /SIMD128.*1 thread/);
  assert.match(line, new RegExp(`checkpoint of ${bytes(statSync(top + FILE).size)}, tied embedding`));
  assert.match(line, /nothing leaves this tab/);
  await close();
});

test('the names of habits have room beside the heads, and a low screen shows the whole machine', async () => {
  for (const [width, height] of [
    [1440, 900],
    [1280, 720],
  ]) {
    const { page, close } = await visit({
      hash: '#model=weights/stories.gguf&prompt=Once upon a time&past=1',
      width,
      height,
      sampling: false,
    });
    await page.waitForSelector('.row-habits:has-text("induction")');
    await page.waitForSelector('.bar-part');
    await quiet(page);
    const { machine, card, names, grid } = await page.evaluate(() => {
      const right = (/** @type {Element} */ e) => e.getBoundingClientRect().right;
      const heads = document.querySelector('.heads');
      return {
        machine: document.querySelector('.anatomy').getBoundingClientRect().bottom,
        card: right(heads),
        names: [...document.querySelectorAll('.row-habits')].map((e) => right(e)),
        grid: heads.scrollHeight - heads.clientHeight,
      };
    });
    assert.ok(machine <= height, `${width} px: the machine ends at ${machine}`);
    assert.ok(Math.max(...names) < card, `${width} px: a name ends at ${Math.max(...names)}, its card at ${card}`);
    assert.ok(grid <= 0, `${width} px: ${grid} px of the heads are hidden`);
    await close();
  }
});

test('narrower screens have the same cards, a phone the machine before the heads, and its foot last', async () => {
  for (const [width, height, columns, last] of /** @type {[number, number, number[], string[]]} */ ([
    [1024, 768, [0, 0, 1, 2, 0, 0], ['.anatomy', '.sizes']],
    [820, 1180, [0, 0, 1, 2, 0, 0], ['.anatomy', '.sizes']],
    [390, 844, [0, 0, 0, 0, 0, 0], ['.anatomy', '.heads', '.sizes']],
  ])) {
    const { page, close } = await visit({ hash: '#model=weights/stories-1m.gguf', width, height, sampling: false });
    await page.waitForSelector('.tile canvas');
    await page.waitForSelector('.anatomy');
    await page.waitForSelector('.sizes');
    const boxes = await cards(page);
    const columnOf = ({ left, right }) => (left < width * 0.1 ? (right > width * 0.9 ? 0 : 1) : 2);
    assert.deepEqual(boxes.map(columnOf), columns, `${width} px`);
    const order = [...boxes].sort((a, b) => Math.round(a.top - b.top) || a.left - b.left).map(({ name }) => name);
    assert.deepEqual(order.slice(-last.length), last, `${width} px`);
    const sides = await page.locator('.tile').evaluateAll((list) => list.map((tile) => tile.clientWidth));
    assert.ok(Math.max(...sides) <= 90, `${width} px: a head of ${Math.max(...sides)} px`);
    const low = (list) =>
      list.map((e) => `${e.textContent} ${e.clientHeight}`).filter((s) => parseInt(/\d+$/.exec(s)[0]) < 42);
    if (width === 390)
      assert.deepEqual(await page.locator(':is(main, header) :is(button, a, select):visible').evaluateAll(low), []);
    await close();
  }
});

test('next token has ten rows with their columns, those that cannot be drawn behind a line', async () => {
  const { page, close } = await visit({
    hash: '#model=weights/stories-1m.gguf&prompt=Once upon a time, a&t=0.5&k=4&p=1',
  });
  await page.waitForSelector('.tok');
  await openCandidates(page);
  await says(page, '#h-next', /entropy/);
  await quiet(page);
  const rows = await page.locator('.bar:visible').evaluateAll((list) =>
    list.map((bar) => ({
      out: bar.classList.contains('out'),
      line: bar.classList.contains('cut'),
      said: ['logit', 'divided', 'num', 'odds'].map((name) => bar.querySelector(`.${name}`).textContent),
    })),
  );
  assert.equal(rows.length, 10);
  assert.deepEqual(
    rows.map(({ out }) => out),
    rows.map((_, i) => i >= 4),
  );
  assert.deepEqual(
    rows.map(({ line }) => line),
    rows.map((_, i) => i === 4),
  );
  assert.equal(rows[4].said[3], 'top-k');
  await withModel('weights/stories-1m.gguf', async (model) => {
    const ids = model.encode('Once upon a time, a');
    const { logits } = await model.forward(await ids);
    const [n, size] = logits.shape;
    const row = [...logits.data.subarray((n - 1) * size, n * size)];
    const best = [...row].sort((a, b) => b - a).slice(0, 10);
    const all = row.reduce((sum, x) => sum + Math.exp((x - best[0]) / 0.5), 0),
      kept = best.slice(0, 4).reduce((sum, x) => sum + Math.exp((x - best[0]) / 0.5), 0);
    best.forEach((x, i) => {
      const weight = Math.exp((x - best[0]) / 0.5);
      assert.deepEqual(rows[i].said.slice(0, 3), [figures(x), figures(x / 0.5), percent(weight / all)]);
      if (i < 4) assert.equal(rows[i].said[3], percent(weight / kept));
    });
  });
  await close();
});

test('a kept run stands beside the next one, each with its text and its bars', async () => {
  const { page, close } = await visit({ hash: STORY });
  await page.waitForSelector('.tok');
  await runPrompt(page, 'Once upon a time', { tokens: 10, seed: 1 });
  const first = await page.locator('.text').innerText();
  await page.getByRole('button', { name: 'Keep this run' }).press('Enter');
  await page.getByRole('button', { name: 'Start over' }).press('Enter');
  await page.waitForFunction(() => document.activeElement.matches('.go'));
  await page.locator('#sampler-temperature').press('End');
  await runPrompt(page, 'Tom and Sue', { tokens: 10, seed: 2 });
  await counts(page, '.kept .story', 2);
  await atLeast(page, '.kept .small-bars li', 20);
  const [a, b] = await page.locator('.kept .story').allTextContents();
  const plain = (text) => text.replace(/^start|\s/g, '');
  assert.equal(plain(a), plain(first));
  assert.match(b, /Tom and Sue/);
  const said = await page.locator('.kept h3').allTextContents();
  assert.deepEqual(said, ['A: stories-1M, temperature 0.80, seed 1', 'B: stories-1M, temperature 2.00, seed 2']);
  await page.getByRole('button', { name: 'Forget the kept run' }).click();
  await counts(page, '.kept', 0);
  await close();
});

test('the habits of heads are the weights over repeated tokens, and the first head shown has one', async () => {
  const FILE = 'weights/stories-1m.gguf';
  const { page, close } = await visit({ hash: `#model=${FILE}&prompt=Once upon a time` });
  await page.waitForSelector('.row-habits:has-text("previous token")');
  const ends = await page.locator('.row-habits').allTextContents();
  await openView(page, 'inside');
  await page.waitForSelector('.habits li');
  assert.equal(await page.locator('.tile[aria-checked="true"] .habit i').first().textContent(), 'previous');
  await withModel(FILE, async (model) => {
    const { nLayers, nHeads } = model.config;
    const ids = repeatedTokens(model.config.contextLength, model.config.vocabSize, 0);
    const n = ids.length,
      copy = (n - 1) / 2;
    const { captured } = await model.forward(ids, { capture: ['blocks.*.attn.hook_pattern'] });
    for (let layer = 0; layer < nLayers; layer++) {
      const named = new Set();
      for (let head = 0; head < nHeads; head++) {
        const { data } = captured[`blocks.${layer}.attn.hook_pattern`];
        const mean = (weight) => {
          let sum = 0;
          for (let q = copy + 1; q < n; q++)
            sum += weight(data.subarray((head * n + q) * n, (head * n + q + 1) * n), q);
          return sum / copy;
        };
        const scores = {
          'previous token': mean((row, q) => row[q - 1]),
          'first token': mean((row) => row[0]),
          'same token': mean((row, q) => row[q] + row[q - copy]),
          induction: mean((row, q) => row[q - copy + 1]),
        };
        const [name, score] = Object.entries(scores).sort((a, b) => b[1] - a[1])[0];
        const tile = page.locator(`.tile[aria-label="layer ${layer + 1}, head ${head + 1}"]`);
        assert.equal(await tile.getAttribute('title'), score >= 0.4 ? `${name} ${score.toFixed(2)}` : null);
        const written = await tile.locator('.habit i').allTextContents();
        assert.equal(written[1], score >= 0.4 ? score.toFixed(2) : undefined);
        if (score >= 0.4) named.add(name);
        if (score < 0.4 || name !== 'induction') continue;
        await tile.click();
        await says(page, '#h-attention', new RegExp(`${name} ${score.toFixed(2)}`));
        const shown = await page.locator('.habits .num').allTextContents();
        assert.deepEqual(
          shown,
          Object.values(scores).map((x) => x.toFixed(2)),
        );
      }
      assert.equal(ends[layer], [...named].join(', '), `the end of row ${layer + 1} beside the text`);
    }
  });
  await close();
});

test('tabs and text stay in view below the first screen', async () => {
  const { page, close } = await visit({ hash: `${STORY}&written=12`, height: 600 });
  await page.waitForSelector('.anatomy-svg');
  assert.equal(await page.locator('.strip').count(), 0);
  await page.locator('.foot').evaluate((e) => e.scrollIntoView());
  await page.locator('.strip .here').waitFor();
  for (const name of ['[data-opens="inside"]', '.strip .here']) {
    const { y } = await page.locator(name).boundingBox();
    assert.ok(y >= 0 && y < 150, `${name} at ${y}`);
  }
  // a stage of the anatomy opens the view of it
  await page.locator('.stage', { hasText: 'SwiGLU' }).press('Enter');
  await page.waitForSelector('#view-inside:not([hidden])');
  await page.waitForSelector('.inspector');
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
    /** Where the cards lie that are there before any model. */
    const places = () =>
      page.evaluate(() =>
        ['.top', '.pill', '.prompt', '.engine-line', '.stream'].map((name) => {
          const { x, y, width, height } = document.querySelector(name).getBoundingClientRect();
          return [name, x, y, width, height].join(' ');
        }),
      );
    await page.waitForFunction(() => !document.querySelector('.loading').hidden);
    await page.evaluate(() => document.fonts.ready);
    const before = await places();
    release();
    await page.waitForFunction(() => document.querySelector('.tok'));
    assert.deepEqual(await places(), before, 'the first model');
    await quiet(page);
    assert.deepEqual(await places(), before, 'heads, machine and foot');
    const machine = () => page.locator('.sizes').evaluate((foot) => foot.getBoundingClientRect().top + scrollY);
    const foot = await machine();
    await page.locator('.go').click();
    await atLeast(page, '.tok:not(.given)', 31);
    assert.deepEqual(await places(), before, 'text that grows');
    assert.equal(await machine(), foot, 'the machine while text grows');
    await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
    await resting(page);
    const notes = { name: 'notes.gguf', mimeType: 'application/octet-stream', buffer: Buffer.from('no weights') };
    await page.locator('#model-file').setInputFiles(notes);
    await page.waitForFunction(() => !document.querySelector('.error').hidden);
    assert.deepEqual(await places(), before, 'a notice');
    await close();
  });
