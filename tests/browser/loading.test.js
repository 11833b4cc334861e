// loading.test.js - the built page in Chromium while its first models come: what is requested, what a visitor does
// meanwhile, and which model takes the place of which
import assert from 'node:assert/strict';
import { pageTest, server, visitTest } from './built_page.js';
import { top, withModel } from './expected.js';
import { STORY, counts, hasIds, ids, resting, runPrompt, says, settled } from './page_parts.js';
import { quiet } from './quiet.js';

const FIRST = /\/stories-1m-q4_0\.gguf$/;

/** A visitor for whom these files come only when they are let go. */
const held = (pattern, how = {}) => {
  let release = () => {};
  const waits = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  const prepare = (page) =>
    page.route(pattern, async (route) => {
      await waits;
      await route.continue().catch(() => {}); // nobody waits for it
    });
  return { release: () => release(), how: { prepare, ...how } };
};
const loading = (page) => page.waitForFunction(() => !document.querySelector('.loading').hidden);

visitTest(
  'the larger model is offered after a first run, fetched on consent, and its text stands beside the first',
  {},
  async ({ page, requests }) => {
    const larger = () => requests.filter((url) => /\/stories\.gguf$/.test(url)).length;
    await settled(page);
    await page.waitForSelector('.tok');
    assert.equal(await page.locator('.offer').isVisible(), false);
    await runPrompt(page, 'Tom and Sue', { tokens: 12, seed: 3 });
    await page.locator('.offer').waitFor();
    assert.equal(larger(), 0, 'fetched before anybody asked for it');
    await page.getByRole('button', { name: 'Download', exact: true }).click();
    await says(page, '.pill', /^stories-5M/);
    await resting(page);
    assert.equal(larger(), 1);
    assert.ok((await ids(page, ':not(.given)')).length > 0, 'the larger model has written nothing');
    await counts(page, '.kept h3', 2); // their code comes last
    const [a, b] = await page.locator('.kept h3').allTextContents();
    assert.match(a, /^A: stories-1M Q4_0, .*seed 3$/);
    assert.match(b, /^B: stories-5M, .*seed 3$/);
    // it is offered once
    await page.goto('about:blank');
    await page.goto(server.url);
    await settled(page);
    await runPrompt(page, 'Tom and Sue', { tokens: 12, seed: 3 });
    assert.equal(await page.locator('.offer').isVisible(), false);
  },
);

visitTest('how fast this machine reads weights is measured for who looks at the models', {}, async ({ page }) => {
  await page.waitForSelector('.tok');
  await quiet(page);
  assert.equal(page.workers().length, 1, 'another worker than that of the model');
  await page.locator('.pill:visible').click();
  await says(page, 'dialog.models', /About [\d.,]+ tokens per second on this machine/);
});

visitTest('a phone is offered no download', { width: 390, height: 844 }, async ({ page, requests }) => {
  await settled(page);
  await page.waitForSelector('.tok');
  await runPrompt(page, 'Tom and Sue', { tokens: 12, seed: 3 });
  assert.equal(await page.locator('.offer').isVisible(), false);
  assert.deepEqual(
    requests.filter((url) => /\/stories\.gguf$/.test(url)),
    [],
  );
});

{
  const { release, how } = held('**/weights/stories-1m-q4_0.gguf', { reducedMotion: 'no-preference' });
  // It was written over, and the text went on from the prompt of before.
  visitTest(
    'what is typed and moved while the first model is on its way holds when it is there',
    how,
    async ({ page }) => {
      await loading(page);
      await page.locator('#sampler-temperature').press('Home');
      await page.getByLabel('Prompt', { exact: true }).click();
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type('Tom and Sue');
      release();
      const want = await withModel('weights/stories-1m.gguf', (model) => model.encode('Tom and Sue'));
      await hasIds(page, want);
      await quiet(page);
      await page.locator('#seed').focus(); // the box may be written now
      assert.deepEqual(await ids(page), want, 'written by itself');
      assert.equal(await page.getByLabel('Prompt', { exact: true }).inputValue(), 'Tom and Sue');
      assert.equal(await page.locator('#sampler-temperature').inputValue(), '0');
    },
  );
}

{
  const { release, how } = held('**/weights/stories-1m-q4_0.gguf');
  visitTest('a model chosen while the first is on its way is the one that comes', how, async ({ page, requests }) => {
    await loading(page);
    await page.locator('.pill:visible').click();
    await page.locator('#model-file').setInputFiles(`${top}weights/stories-gpt2.gguf`);
    await says(page, '.pill', /^stories-gpt2 /);
    await page.waitForSelector('.tok');
    release();
    await quiet(page);
    assert.match(await page.locator('.pill').first().textContent(), /^stories-gpt2 /);
    assert.deepEqual(
      requests.filter((url) => /stories\.gguf/.test(url)),
      [],
    );
  });
}

{
  const { release, how } = held('**/weights/stories.gguf', { expects: /stories-1m-q4_0/ });
  const broken = (page) => page.route('**/weights/stories-1m-q4_0.gguf', (route) => route.fulfill({ body: 'nothing' }));
  visitTest(
    'where the first model does not come the larger one is offered',
    { ...how, prepare: (page) => Promise.all([how.prepare(page), broken(page)]) },
    async ({ page }) => {
      await page.getByRole('button', { name: 'Download', exact: true }).click();
      await says(page, '.loading', /stories-5M/);
      release();
      await says(page, '.pill', /^stories-5M/);
      await page.waitForSelector('.tok');
    },
  );
}

visitTest('the first model is requested once, before the scripts have run', {}, async ({ page, requests }) => {
  await settled(page);
  const first = requests.findIndex((url) => FIRST.test(url)),
    worker = requests.findIndex((url) => /\/worker-[^/]*\.js$/.test(url));
  assert.ok(first > 0 && first < worker, requests.join('\n'));
  assert.equal(requests.filter((url) => FIRST.test(url)).length, 1);
});

pageTest('where the address names another model the first is not requested', STORY, async ({ requests }) => {
  assert.deepEqual(
    requests.filter((url) => FIRST.test(url)),
    [],
  );
});

let failures = 0;
visitTest(
  'after an early request that failed the first model is requested again',
  {
    expects: /ERR_CONNECTION_RESET/,
    prepare: (page) =>
      page.route('**/weights/stories-1m-q4_0.gguf', (route) =>
        failures++ ? route.continue() : route.abort('connectionreset'),
      ),
  },
  async ({ page, requests }) => {
    await says(page, '.pill', /^stories-[15]M/);
    await page.waitForSelector('.tok');
    assert.equal(requests.filter((url) => FIRST.test(url)).length, 2);
  },
);
