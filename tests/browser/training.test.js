// training.test.js - the view Train of the built page in Chromium: a small model trains on a text, pauses, resumes, is
// used in the page and is downloaded as a file that the library opens in Node.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { countParameters, load } from '../../web/lib/api/index.js';
import { pageTest, samePage, server } from './built_page.js';
import { continued } from './expected.js';
import { atLeast, complete, counts, fast, ids, openView, read, says, shows } from './page_parts.js';
import { quiet } from './quiet.js';
import { button, fact, settings, teach, train, trained } from './training_parts.js';

const TRAIN = { hash: '#model=weights/stories-1m-q4_0.gguf', view: 'train' };
const panelTest = samePage(TRAIN);

pageTest(
  'training a small model: its binary is fetched at Start, the loss falls, samples and heads appear',
  TRAIN,
  async ({ page }, t) => {
    // a recorded run is drawn until another begins
    assert.match(await page.locator('[data-role="recorded"]').innerText(), /400 steps with seed 1/);
    assert.ok((await page.locator('.train .curves > svg path.curve').first().getAttribute('d')).split('L').length > 50);
    assert.equal(await page.locator('.samples li').count(), 3);
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
    assert.equal(read(await page.locator('#train .count').textContent()), countParameters(config).total);
    await train(page, { steps: 30, every: 10 });
    await trained(page, /^Done, 30 steps/);
    assert.ok(fetched() >= 1);
    await atLeast(page, '#train tbody tr', 10);
    const said = await page.locator('#train .curves svg').first().getAttribute('aria-label');
    const [, first, last] = /, ([\d.]+) nats per token at step 1, ([\d.]+) at step 30/.exec(said) ?? assert.fail(said);
    assert.ok(Math.abs(Number(first) - Math.log(384)) < 0.02 * Math.log(384), said);
    assert.ok(Number(last) < 0.75 * Number(first), said);
    await counts(page, '.samples li', 4);
    await counts(page, '.film li', 4);
    assert.deepEqual(await page.locator('.samples .num').allTextContents(), [
      'step 1',
      'step 10',
      'step 20',
      'step 30',
    ]);
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
  },
);

pageTest(
  'TinyShakespeare is fetched on a press, and what cannot be fetched is said',
  { ...TRAIN, expects: /Failed to load resource/ },
  async ({ page }) => {
    let status = 404;
    const asked = [];
    await page.route('https://raw.githubusercontent.com/**', (route) => {
      asked.push(route.request().url());
      return route.fulfill({ status, body: 'First Citizen:\nBefore we proceed any further, hear me speak.\n' });
    });
    const press = () => button(page, 'Fetch TinyShakespeare, 1.1 MB').press('Enter');
    await press();
    await says(page, '#train .wrong', /cannot be fetched from https:/);
    status = 200;
    await press();
    await shows(
      page,
      () =>
        page
          .locator('#train-text')
          .inputValue()
          .then((text) => text.slice(0, 14)),
      'First Citizen:',
    );
    assert.match(asked[0], /tinyshakespeare\/input\.txt$/);
  },
);

pageTest('training pauses, resumes and stops, and the loaded model stays usable', TRAIN, async ({ page }) => {
  await train(page, { steps: 50_000, every: 10_000 });
  await says(page, '.training-facts dd', /^\d+ of 50,000$/);
  await button(page, 'Pause').press('Enter');
  await trained(page, /^Paused/);
  await quiet(page);
  const at = await fact(page, 'step');
  await page.waitForTimeout(700);
  await quiet(page);
  assert.equal(await fact(page, 'step'), at, 'it went on though paused');
  await openView(page, 'write');
  await fast(page, 5);
  await page.locator('.go').press('Enter');
  await complete(page, 5);
  await openView(page, 'train');
  await button(page, 'Resume').press('Enter');
  await page.waitForFunction((before) => document.querySelector('.training-facts dd').textContent !== before, at);
  await button(page, 'Stop').press('Enter');
  await trained(page, /^Stopped at step \d+/);
  const stopped = await fact(page, 'step');
  await button(page, 'Resume').press('Enter');
  await page.waitForFunction((before) => document.querySelector('.training-facts dd').textContent !== before, stopped);
  await button(page, 'Stop').press('Enter');
  await trained(page, /^Stopped at step \d+/);
  assert.match(await page.locator('.pill').first().textContent(), /^stories-1M/);
  await button(page, 'Teach it again').press('Enter');
  await trained(page, /^Training/);
  await button(page, 'Stop').press('Enter');
  await trained(page, /^Stopped/);
});

panelTest('without a number of steps, ten looks are spread over as many as are taken', async ({ page }, t) => {
  await settings(page);
  await page.locator('#train-preset').selectOption('one layer, one head');
  assert.equal(await page.locator('#train-steps').inputValue(), '');
  // stopped in the turn of its second look: the speed is measured at the beginning, and later the rest may be short
  await page.evaluate(() => {
    const film = document.querySelector('.film');
    const stop = [...document.querySelectorAll('#train button')].find((button) => button.textContent === 'Stop');
    new MutationObserver((_, observer) => {
      if (film.children.length < 2) return;
      observer.disconnect();
      stop.click();
    }).observe(film, { childList: true });
  });
  await teach(page);
  await trained(page, /^Stopped/);
  const steps = await page.locator('#train progress').evaluate((/** @type {HTMLProgressElement} */ bar) => bar.max);
  t.diagnostic(`${steps} steps`);
  const looks = await page.locator('.film li > .num').allTextContents();
  assert.deepEqual(looks.slice(0, 2), ['step 1', `step ${steps / 10}`]);
});

for (const [block, kinds] of /** @type {[string, string[]][]} */ ([
  ['modern', ['gguf']],
  ['classical', ['gguf']],
  ['original', ['json', 'json', 'safetensors']],
])) {
  pageTest(
    `${block}: the trained model runs in the page, and as a file in Node with the same text`,
    TRAIN,
    async ({ page }) => {
      await train(page, { steps: 40, every: 100, block });
      await trained(page, /^Done/);
      const downloads = [];
      page.on('download', (download) => downloads.push(download));
      await button(page, kinds.length === 1 ? 'Download GGUF' : 'Download its files').press('Enter');
      await shows(page, async () => downloads.length, kinds.length);
      assert.deepEqual(downloads.map((d) => d.suggestedFilename().split('.').at(-1)).sort(), kinds);
      const files = await Promise.all(
        downloads.map(async (d) => new File([readFileSync(await d.path())], d.suggestedFilename())),
      );
      await openView(page, 'write');
      await page.locator('#sampler-temperature').fill('0');
      await fast(page, 16);
      await openView(page, 'train');
      await button(page, 'Use this model in the page').press('Enter');
      await says(page, '.pill', /^trained here, 40 steps/);
      await page.waitForFunction(() => document.activeElement?.id === 'text');
      await says(page, '.go', /Run again/);
      const model = await load(files.length === 1 ? files[0] : files);
      const want = await continued(model, 'Two', { maxTokens: 16, temperature: 0 });
      model.dispose();
      assert.deepEqual(await ids(page), want);
    },
  );
}

panelTest('unusable training text is refused with a message, and the panel stays usable', async ({ page }) => {
  await page.locator('#train-text').fill('');
  await teach(page);
  await page.waitForFunction(() => document.querySelector('#train [role="alert"]').textContent);
  assert.match(await page.locator('#train [role="alert"]').textContent(), /^[^]{12,}\.$/);
  await page.locator('#train-text').fill('<img src=x onerror=window.broken=1> said the fox. '.repeat(40));
  await train(page, { steps: 3, every: 1 });
  await trained(page, /^Done/);
  assert.equal(await page.locator('#train [role="alert"]').textContent(), '');
  await counts(page, '.samples li', 3);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator('img').count(), 0);
});

panelTest('a chosen text file becomes the training text', async ({ page }) => {
  await page.locator('#train-file').setInputFiles({
    name: 'song.txt',
    mimeType: 'text/plain',
    buffer: Buffer.from('La la la, said the lark.\n'.repeat(8)),
  });
  await page.waitForFunction(() => document.querySelector('#train-text').value.startsWith('La la la'));
  assert.match(await page.locator('.text-line .num').textContent(), /^200 characters/);
  assert.equal(await page.locator('#train-begins').getAttribute('placeholder'), 'La');
});

panelTest('a look at every step: strip and samples stay short', async ({ page }) => {
  await train(page, { steps: 44, every: 1 });
  await trained(page, /^Done/);
  for (const list of ['.film', '.samples']) {
    await says(page, `${list} li:last-child .num`, /^step 44$/);
    await counts(page, `${list} li`, 40);
    assert.equal(await page.locator(`${list} li > .num`).first().textContent(), 'step 1');
  }
});

pageTest(
  'an adapter of the loaded model is trained, switched on and off, saved, and opened again',
  TRAIN,
  async ({ page }, t) => {
    await settings(page);
    await page.locator('#train-objective').selectOption('adapter');
    await page.locator('#train-rank').selectOption('4');
    await page.locator('#train-modules').selectOption('all');
    await page.locator('#train-steps').fill('30');
    const statuses = await page.locator('#train output').evaluateHandle((output) => {
      /** @type {string[]} */
      const texts = [];
      new MutationObserver(() => texts.push(output.textContent)).observe(output, {
        characterData: true,
        subtree: true,
        childList: true,
      });
      return texts;
    });
    await teach(page);
    await trained(page, /^Done, 30 steps/);
    assert.equal((await statuses.jsonValue())[0], 'Copying the weights of the model …');
    const look = async (/** @type {'on' | 'off'} */ wanted, /** @type {number} */ n) => {
      await button(page, `Switch the adapter ${wanted}`).press('Enter');
      await counts(page, '.samples li', n);
      const said = await page.locator('.samples .num').last().textContent();
      assert.match(said, new RegExp(`^${wanted} in [\\d.]+ ms$`));
      assert.equal(/with an adapter/.test(await page.locator('.pill').first().textContent()), wanted === 'on');
      t.diagnostic(said);
      return page.locator('.samples .story').last().textContent();
    };
    /** What a head's card and its habits say of it with the weights as they are. */
    const responses = async () => {
      await openView(page, 'inside');
      await page.locator('.habits li').first().waitFor();
      const habits = await page.locator('.habits').innerText();
      await page.locator('.attention .side [aria-haspopup]').press('Enter');
      await page.locator('dialog.unit .responses li').first().waitFor();
      const said = await page.locator('dialog.unit .responses').innerText();
      await page.keyboard.press('Escape');
      await openView(page, 'train');
      return [habits, said];
    };
    const [on, adapted] = [await look('on', 1), await responses()];
    const [off, plain] = [await look('off', 2), await responses()];
    assert.notEqual(on, off);
    for (const [i, said] of adapted.entries()) assert.notEqual(said, plain[i]);
    const downloads = [];
    page.on('download', (download) => downloads.push(download));
    await button(page, 'Save the adapter').press('Enter');
    await shows(page, async () => downloads.length, 2);
    const files = await Promise.all(
      downloads.map(async (d) => ({ name: d.suggestedFilename(), path: await d.path() })),
    );
    const named = (/** @type {string} */ name) => readFileSync(files.find((file) => file.name === name).path);
    const model = await load('weights/stories-1m-q4_0.gguf');
    const options = { maxTokens: 48, temperature: 0 };
    assert.equal(off, `Two${(await model.complete('Two', options)).text}`);
    const adapter = { config: named('adapter_config.json'), weights: named('adapter_model.safetensors') };
    await model.setAdapter(await model.addAdapter(adapter));
    assert.equal(on, `Two${(await model.complete('Two', options)).text}`);
    model.dispose();
    const buffers = files.map(({ name }) => ({ name, mimeType: 'application/octet-stream', buffer: named(name) }));
    await page.locator('#adapter-files').setInputFiles(buffers);
    assert.equal(await look('on', 3), on);
  },
);

panelTest('an encoder-decoder learns pairs of source and target', async ({ page }) => {
  const lines = Array.from({ length: 40 }, (_, i) => `${'abcdefgh'[i % 8]}${i}\t${i}`).join('\n');
  await page.locator('#train-text').fill(lines);
  await train(page, { steps: 10, every: 10, objective: 'pairs' });
  await trained(page, /^Done, 10 steps/);
  await counts(page, '.samples li', 2);
  assert.match(await page.locator('.samples .story').last().textContent(), /^a0 → /);
});

panelTest('an encoder learns masked tokens, and its samples are blanks that it fills', async ({ page }) => {
  await train(page, { steps: 10, every: 10, objective: 'masked' });
  await trained(page, /^Done, 10 steps/);
  await counts(page, '.samples li', 2);
  assert.match(await page.locator('.samples .story').last().textContent(), /\[MASK\].* → [^[]+$/s);
  await button(page, 'Use this model in the page').press('Enter');
  await says(page, '.pill', /^trained here, 10 steps/);
});
