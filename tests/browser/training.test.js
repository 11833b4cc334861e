// training.test.js - the built page's training panel and depth laboratory in Chromium: a small model trains on
// a text, pauses, resumes, is used in the page and is downloaded as a file that the library opens in Node.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { countParameters, depth, load } from '../../web/lib/index.js';
import { axe, browser, complete, kept, openView, server, settled, visit } from './built_page.js';
import { quiet } from './quiet.js';
import { ownTasks } from './tasks.js';

async function open(how = {}) {
  const visitor = await visit({ acceptDownloads: true, ...how });
  await settled(visitor.page);
  await visitor.page.waitForSelector('.tok');
  await openView(visitor.page, 'train');
  await visitor.page.waitForSelector('#train-text');
  return visitor;
}

const button = (page, name) => page.locator('#train').getByRole('button', { name, exact: true });
const status = (page) => page.locator('#train output').textContent();
const says = (page, pattern, timeout = 120_000) =>
  page.waitForFunction(
    ([source]) => new RegExp(source).test(document.querySelector('#train output').textContent),
    [pattern.source],
    { timeout },
  );
const fact = (page, name) => page.locator('.training-facts div', { hasText: name }).locator('dd').textContent();
const lossRows = (page) =>
  page
    .locator('#train tbody tr')
    .evaluateAll((list) => list.map((row) => [...row.cells].map((c) => Number(c.textContent))));

/** Opens the settings of model and training. */
const settings = (page) =>
  page.locator('.train .further').evaluate((details) => {
    details.open = true;
  });

/** The smallest of the presets, for so many steps. */
async function train(page, { steps = 30, every = 10, block = 'modern' } = {}) {
  await settings(page);
  await page.locator('#train-preset').selectOption('one layer, one head');
  await page.locator('#train-block').selectOption(block);
  await page.locator('#train-steps').fill(String(steps));
  await page.locator('#train-every').fill(String(every));
  await button(page, 'Teach it this text').press('Enter');
}

test('training a small model: its binary is fetched at Start, the loss falls, samples and heads appear', async (t) => {
  // without the service worker, which keeps that binary for a visit without a network
  const { page, complaints, close } = await open({ serviceWorkers: 'block' });
  const before = server.requests.length;
  const fetched = () => server.requests.slice(before).filter((url) => /glassformer-train-.*\.wasm/.test(url)).length;
  assert.equal(fetched(), 0, 'the trainer was fetched before anybody asked');
  const config = {
    kind: 'decoder',
    vocab_size: 384,
    d_model: 32,
    n_layers: 1,
    n_heads: 1,
    d_ff: 96,
    context_length: 64,
  };
  await settings(page);
  await page.locator('#train-preset').selectOption('one layer, one head');
  const counted = Number(
    (await page.locator('#train .count').textContent()).split(' parameters')[0].replace(/\D/g, ''),
  );
  assert.equal(counted, countParameters(config).total);
  await train(page, { steps: 30, every: 10 });
  await says(page, /^Done, 30 steps/);
  assert.ok(fetched() >= 1);
  const rows = await lossRows(page);
  assert.ok(rows.length >= 10, `${rows.length} rows`);
  const said = await page.locator('#train .curves svg').first().getAttribute('aria-label');
  const [, first, last] = /, ([\d.]+) nats a token at step 1, ([\d.]+) at step 30/.exec(said) ?? assert.fail(said);
  assert.ok(Math.abs(Number(first) - Math.log(384)) < 0.02 * Math.log(384), said);
  assert.ok(Number(last) < 0.75 * Number(first), said);
  await page.waitForFunction(
    () => document.querySelectorAll('.samples li').length === 4 && document.querySelectorAll('.film li').length === 4,
  );
  assert.deepEqual(await page.locator('.samples .num').allTextContents(), ['step 1', 'step 10', 'step 20', 'step 30']);
  assert.ok((await page.locator('.samples .story').last().textContent()).startsWith('Two'));
  const painted = await page
    .locator('.film canvas')
    .last()
    .evaluate(
      (c) => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size,
    );
  assert.ok(painted > 3, 'the last frame is empty');
  // the same weights as a table: rows sum to one, and the diagonal has the values that the caption gives
  await page.locator('.film-box summary').press('Enter');
  const cells = () =>
    page
      .locator('.film-box tbody tr')
      .evaluateAll((list) =>
        list.map((row) => [...row.querySelectorAll('td')].map((c) => parseFloat(c.textContent.replace('<', '')))),
      );
  for (const [look, frame] of [
    ['step 30', 'last'],
    ['step 1', 'first'],
  ]) {
    if (frame === 'first') await page.locator('#film-look').selectOption(look);
    await page.waitForFunction(
      (look) => document.querySelector('#film-look')?.selectedOptions[0]?.textContent === look,
      look,
    );
    const table = await cells();
    assert.equal(table.length, await page.locator('.sentence .piece').count());
    table.forEach((row, q) => {
      assert.equal(row.length, q + 1, 'a query has weights for keys after it');
      assert.ok(
        Math.abs(row.reduce((a, b) => a + b, 0) - 100) < 0.05 * (q + 1) + 0.05,
        `row ${q} adds up to ${row.reduce((a, b) => a + b, 0)} %`,
      );
    });
    const itself = table.slice(1).reduce((sum, row) => sum + row.at(-1), 0) / (table.length - 1);
    const told = Number(
      /: ([\d.]+) % on itself/.exec(await page.locator('.film .crop')[frame]().getAttribute('aria-label'))[1],
    );
    assert.ok(Math.abs(itself - told) < 0.11, `${look}: ${itself} % on itself, said to be ${told} %`);
  }
  t.diagnostic(`${said}; ${await fact(page, 'speed')}`);
  assert.deepEqual(complaints, ['Service Worker registration blocked by Playwright']);
  await close();
});

test('training pauses, resumes and stops, and the loaded model stays usable', async () => {
  const { page, complaints, close } = await open();
  await train(page, { steps: 5000, every: 1000 });
  await page.waitForFunction(() => /^\d/.test(document.querySelector('.training-facts dd').textContent), null, {
    timeout: 60_000,
  });
  await button(page, 'Pause').press('Enter');
  await says(page, /^Paused/);
  await quiet(page);
  const at = await fact(page, 'step');
  await page.waitForTimeout(700);
  await quiet(page);
  assert.equal(await fact(page, 'step'), at, 'it went on though paused');
  await openView(page, 'write');
  await page.locator('#pace').selectOption('fast');
  await page.locator('#max-tokens').fill('5');
  await page.locator('.go').press('Enter');
  await complete(page, 5);
  await openView(page, 'train');
  await button(page, 'Resume').press('Enter');
  await page.waitForFunction((before) => document.querySelector('.training-facts dd').textContent !== before, at);
  await button(page, 'Stop').press('Enter');
  await says(page, /^Stopped at step \d+/);
  const stopped = await fact(page, 'step');
  await button(page, 'Resume').press('Enter');
  await page.waitForFunction((before) => document.querySelector('.training-facts dd').textContent !== before, stopped);
  await button(page, 'Stop').press('Enter');
  await says(page, /^Stopped at step \d+/);
  assert.match(await page.locator('.pill').textContent(), /^stories-5M/);
  await button(page, 'Teach it again').press('Enter');
  await says(page, /^Training/);
  await button(page, 'Stop').press('Enter');
  await says(page, /^Stopped/);
  assert.deepEqual(complaints, []);
  await close();
});

test('without a number of steps as many are taken as fit into 20 seconds, with ten looks', async (t) => {
  const { page, complaints, close } = await open();
  await settings(page);
  await page.locator('#train-preset').selectOption('one layer, one head');
  assert.equal(await page.locator('#train-steps').inputValue(), '');
  await button(page, 'Teach it this text').press('Enter');
  await says(page, /^Done, \d+ steps/);
  const steps = Number(/\d+/.exec(await status(page))[0]);
  t.diagnostic(`${steps} steps`);
  assert.ok(steps >= 60 && steps <= 2000 && steps % 10 === 0, `${steps} steps`);
  await page.waitForFunction(() => document.querySelectorAll('.film li').length === 11);
  assert.deepEqual(complaints, []);
  await close();
});

for (const [block, kept] of /** @type {[string, string[]][]} */ ([
  ['modern', ['gguf']],
  ['classical', ['gguf']],
  ['original', ['json', 'json', 'safetensors']],
])) {
  test(`${block}: the trained model runs in the page, and as a file in Node with the same text`, async () => {
    const { page, complaints, close } = await open();
    await train(page, { steps: 40, every: 100, block });
    await says(page, /^Done/);
    const downloads = [];
    page.on('download', (download) => downloads.push(download));
    await button(page, kept.length === 1 ? 'Download GGUF' : 'Download its files').press('Enter');
    for (let i = 0; i < 600 && downloads.length < kept.length; i++) await page.waitForTimeout(100);
    assert.deepEqual(downloads.map((d) => d.suggestedFilename().split('.').at(-1)).sort(), kept);
    const files = await Promise.all(
      downloads.map(async (d) => new File([readFileSync(await d.path())], d.suggestedFilename())),
    );
    if (kept.length === 1) assert.equal(Buffer.from(await files[0].slice(0, 4).arrayBuffer()).toString(), 'GGUF');
    await openView(page, 'write');
    await page.locator('#temperature, #sampler-temperature').fill('0');
    await page.locator('#pace').selectOption('fast');
    await page.locator('#max-tokens').fill('16');
    await page.locator('#max-tokens').press('Tab');
    await openView(page, 'train');
    await button(page, 'Use this model in the page').press('Enter');
    await page.waitForFunction(() => /^trained here, 40 steps/.test(document.querySelector('.pill').textContent));
    await page.waitForFunction(() => document.activeElement?.id === 'text');
    await page.waitForFunction(() => /Run again/.test(document.querySelector('.go').textContent), null, {
      timeout: 30_000,
    });
    const shown = await page.locator('.tok').evaluateAll((list) => list.map((each) => Number(each.dataset.id)));
    const model = await load(files.length === 1 ? files[0] : files);
    const want = [...(await model.encode('Two'))];
    for await (const step of model.generate(want.slice(), { maxTokens: 16, temperature: 0 })) want.push(step.id);
    model.dispose();
    assert.deepEqual(shown, want);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('unusable training text is refused with a message, and the panel stays usable', async () => {
  const { page, close } = await open();
  await page.locator('#train-text').fill('');
  await button(page, 'Teach it this text').press('Enter');
  await page.waitForFunction(() => document.querySelector('#train [role="alert"]').textContent);
  assert.match(await page.locator('#train [role="alert"]').textContent(), /^[^]{12,}\.$/);
  await page.locator('#train-text').fill('<img src=x onerror=window.broken=1> said the fox. '.repeat(40));
  await train(page, { steps: 3, every: 1 });
  await says(page, /^Done/);
  assert.equal(await page.locator('#train [role="alert"]').textContent(), '');
  await page.waitForFunction(() => document.querySelectorAll('.samples li').length === 3);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator('img').count(), 0);
  await close();
});

test('a visitor who comes again without a network can train, and open every shipped model', async () => {
  const { page, complaints, close } = await visit({ hash: '#model=weights/stories-1m.gguf' });
  await page.waitForSelector('.tok', { timeout: 30_000 });
  const files = await kept(page);
  for (const file of [
    /^glassformer-train-.*\.wasm$/,
    /^train_worker-.*\.js$/,
    /^TrainView-.*\.js$/,
    /^tokenizer\.json$/,
  ])
    assert.ok(
      files.some((name) => file.test(name)),
      `${file} is not kept: ${files.join(', ')}`,
    );
  assert.deepEqual(complaints, []);
  await page.context().setOffline(true);
  await page.reload();
  await page.waitForSelector('.tok', { timeout: 60_000 });
  await openView(page, 'train');
  await train(page, { steps: 6, every: 3 });
  await says(page, /^Done, 6 steps/);
  await page.waitForFunction(() => document.querySelectorAll('.samples li').length === 3);
  for (const name of ['dates', 'stories-GPT-2', 'stories-5M', 'stories-1M Q4_0', 'stories-1M']) {
    await page.locator('.pill').click();
    await page.locator('dialog.models').getByRole('button', { name, exact: true }).click();
    await page.waitForFunction((name) => document.querySelector('.pill').textContent.startsWith(`${name} ·`), name, {
      timeout: 60_000,
    });
    assert.equal(await page.locator('.error').isVisible(), false, name);
  }
  // each view opens
  for (const view of ['inside', 'count', 'experiment', 'learn', 'write']) {
    await openView(page, view);
    assert.equal(
      await page
        .locator(`#view-${view} [role="alert"]`)
        .filter({ hasText: /fetched/ })
        .count(),
      0,
      view,
    );
  }
  await close();
});

test('a chosen text file becomes the training text', async () => {
  const { page, close } = await open();
  await page.locator('#train-file').setInputFiles({
    name: 'song.txt',
    mimeType: 'text/plain',
    buffer: Buffer.from('La la la, said the lark.\n'.repeat(8)),
  });
  await page.waitForFunction(() => document.querySelector('#train-text').value.startsWith('La la la'));
  assert.match(await page.locator('.text-line .num').textContent(), /^200 characters/);
  assert.equal(await page.locator('#train-begins').getAttribute('placeholder'), 'La');
  await close();
});

test('the main thread stays free while a model trains', async (t) => {
  const { page, close } = await open();
  await quiet(page);
  const { tasks: own } = await ownTasks(browser, page, async () => {
    await train(page, { steps: 120, every: 30 });
    await says(page, /^Done/);
  });
  t.diagnostic(`longest task: ${Math.max(...own).toFixed(1)} ms of the thread's own time`);
  assert.ok(Math.max(...own) < 50, `the main thread worked for ${Math.max(...own)} ms without a pause`);
  await close();
});

test(
  'a look at every step: strip and samples stay short, from the first step to the last',
  { timeout: 240_000 },
  async () => {
    const { page, complaints, close } = await open();
    await train(page, { steps: 130, every: 1 });
    await says(page, /^Done/, 200_000);
    await page.waitForFunction(
      () =>
        document.querySelector('.film li:last-child .num')?.textContent === 'step 130' &&
        document.querySelector('.samples li:last-child .num')?.textContent === 'step 130',
    );
    for (const list of ['.film', '.samples']) {
      const steps = (await page.locator(`${list} li > .num`).allTextContents()).map((text) =>
        Number(text.replace('step ', '')),
      );
      assert.ok(steps.length <= 40 && steps.length >= 20, `${list}: ${steps.length} of 130 are there`);
      assert.equal(steps[0], 1);
      assert.deepEqual(
        steps,
        [...steps].sort((a, b) => a - b),
      );
      const gaps = steps.slice(1).map((step, i) => step - steps[i]);
      assert.ok(Math.max(...gaps) <= 8, `${list}: ${steps}`);
    }
    assert.deepEqual(complaints, []);
    await close();
  },
);

test('depth: Stop ends the measuring worker and keeps earlier results', async () => {
  const { page, complaints, close } = await open();
  await openView(page, 'experiment');
  await page.locator('.lab > summary').press('Enter');
  const press = (name) => page.locator('#depth').getByRole('button', { name, exact: true }).press('Enter');
  await page.waitForSelector('.depth circle', { timeout: 60_000 });
  const workers = page.workers().length;
  await page.locator('#depth-layers').fill('64');
  await page.locator('#depth-width').selectOption('128');
  await press('Measure');
  for (let i = 0; i < 2000 && page.workers().length <= workers; i++) await page.waitForTimeout(10);
  assert.equal(page.workers().length, workers + 1, 'no worker measures');
  await press('Stop');
  await page.waitForFunction(() => /^Stopped/.test(document.querySelector('#depth output[aria-live]').textContent));
  // the browser reports it late
  for (let i = 0; i < 600 && page.workers().length > workers; i++) await page.waitForTimeout(50);
  await page.waitForTimeout(500);
  assert.equal(page.workers().length, workers, 'a worker goes on');
  await page.locator('#depth .as-table').evaluate((d) => {
    d.open = true;
  });
  assert.equal(await page.locator('#depth tbody tr').count(), 32);
  await page.locator('#depth-layers').fill('8');
  await page.locator('#depth-width').selectOption('32');
  await press('Measure');
  await page.waitForFunction(() => document.querySelectorAll('#depth tbody tr').length === 8);
  assert.equal(await page.locator('#depth output[aria-live]').textContent(), '');
  assert.deepEqual(complaints, []);
  await close();
});

test("depth: picture and text have the library's values, and the last layers agree with Xiong et al.", async (t) => {
  const { page, complaints, close } = await open();
  await openView(page, 'experiment');
  await page.locator('.lab > summary').press('Enter');
  await page.waitForSelector('.depth circle', { timeout: 60_000 });
  await page.locator('#depth .as-table').evaluate((d) => {
    d.open = true;
  });
  const last = [];
  for (const layers of [32, 16, 64]) {
    if (layers !== 32) {
      await page.locator('#depth-layers').fill(String(layers));
      await page.locator('#depth').getByRole('button', { name: 'Measure' }).press('Enter');
      await page.waitForFunction((n) => document.querySelectorAll('#depth tbody tr').length === n, layers, {
        timeout: 60_000,
      });
    }
    const heights = await page
      .locator('.depth figure')
      .evaluateAll((list) =>
        list.map((f) =>
          [0, 1].map((kind) => [...f.querySelectorAll(`circle.kind-${kind}`)].map((c) => Number(c.getAttribute('cy')))),
        ),
      );
    assert.deepEqual(
      heights.flat().map((list) => list.length),
      [layers, layers, layers, layers],
    );
    const rows = await page.locator('#depth tbody tr').evaluateAll((list) =>
      list.map((row) =>
        [...row.cells].slice(1).map((c) =>
          Number(
            c.textContent
              .replace(' × 10', 'e')
              .replace('⁻', '-')
              .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, (x) => String('⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(x))),
          ),
        ),
      ),
    );
    const [[pre, post, carried, bare]] = rows;
    const shown = parseFloat(await page.locator('[data-role="factor"]').textContent());
    assert.ok(
      post < pre && Math.abs(pre / post / shown - 1) < 0.1,
      `pre-norm ${pre}, post-norm ${post}, shown ${shown}`,
    );
    assert.ok(bare < 1e-6 * carried, `residuals ${carried}, neither ${bare}`);
    assert.ok(
      heights[0][0][0] < heights[0][1][0] && heights[0][0][0] < heights[0][0][layers - 1],
      'more gradient is higher up',
    );
    const said = await page.locator('.depth-result').textContent();
    assert.match(said, /less than under pre-norm/);
    t.diagnostic(`${layers} layers: ${said.slice(said.indexOf('Pre-norm:'), said.indexOf('Xiong'))}`);
    if (layers === 16) {
      const config = {
        kind: 'decoder',
        d_model: 64,
        n_layers: 16,
        n_heads: 4,
        d_ff: 256,
        context_length: 64,
        norm: 'layernorm',
        ffn: 'gelu_erf',
        position: 'learned',
      };
      const ways = [{}, { norm_placement: 'post' }, { use_norm: false }, { use_norm: false, use_residual: false }];
      for (const [i, way] of ways.entries()) {
        const want = await depth({ ...config, ...way }, { seed: 1, tokens: 64 });
        want.forEach(({ weights }, l) =>
          assert.ok(
            Math.abs(rows[l][i] - weights) <= 0.06 * weights,
            `${JSON.stringify(way)}, layer ${l}: shown ${rows[l][i]}, measured ${weights}`,
          ),
        );
      }
    }
    last.push(rows[layers - 1]);
  }
  // four times the layers: half the gradient in the last one under pre-norm, the same under post-norm
  const [, of16, of64] = last;
  assert.ok(of16[0] / of64[0] > 1.6 && of16[0] / of64[0] < 2.5, `pre-norm: ${of16[0]} and ${of64[0]}`);
  assert.ok(of16[1] / of64[1] > 0.9 && of16[1] / of64[1] < 1.1, `post-norm: ${of16[1]} and ${of64[1]}`);
  await page.locator('#depth-shows').selectOption('stream');
  await page.waitForFunction(() =>
    /^size of the residual stream/.test(document.querySelector('#depth caption').textContent),
  );
  assert.deepEqual(
    await page
      .locator('#depth tbody tr')
      .evaluateAll((list) => [...new Set(list.map((row) => Math.round(Number(row.cells[2].textContent) * 100)))]),
    [100],
    'post-norm keeps the stream at 1',
  );
  assert.deepEqual(complaints, []);
  await close();
});

for (const [what, options] of /** @type {[string, any][]} */ ([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['phone, dark', { colorScheme: 'dark', width: 390, height: 844 }],
])) {
  test(`accessible after training and measuring: ${what}`, async () => {
    const { page, close } = await open(options);
    await train(page, { steps: 12, every: 4 });
    await says(page, /^Done/);
    for (const summary of await page.locator('#train .as-table summary').all()) await summary.press('Enter');
    await openView(page, 'experiment');
    await page.locator('.lab > summary').press('Enter');
    await page.waitForSelector('.depth circle', { timeout: 60_000 });
    await page.locator('#depth .as-table summary').press('Enter');
    await page.evaluate(axe);
    for (const section of ['#train', '#depth']) {
      const { violations } = await page.evaluate((where) => window.axe.run(where), section);
      assert.deepEqual(
        violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join('; ')}`),
        [],
      );
      assert.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        `the page scrolls sideways: ${section}`,
      );
    }
    await close();
  });
}
