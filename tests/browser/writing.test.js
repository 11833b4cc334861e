// writing.test.js - the built page in Chromium where text is written by itself, at a pace, and changed on the way;
// where another address or another model takes its place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../web/lib/index.js';
import { openView, otherWords, resting, settled, top, visit } from './built_page.js';
import { quiet } from './quiet.js';

const ids = (page, only = '') =>
  page.locator(`.tok${only}`).evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
const writing = (page, n) =>
  page.waitForFunction((n) => document.querySelectorAll('.tok:not(.given)').length >= n, n, { timeout: 30_000 });

/** A page of the small stories that writes nothing yet. */
async function open(hash = '#model=weights/stories-1m.gguf&prompt=Once upon a time&pace=fast') {
  const visitor = await visit({ hash });
  await visitor.page.waitForSelector('.tok', { timeout: 30_000 });
  return visitor;
}

test('what writes by itself keeps reading pace while it is changed, and a new seed begins it again', async () => {
  const { page, complaints, close } = await visit({ reducedMotion: 'no-preference' });
  await settled(page);
  await writing(page, 1); // before a first touch, after which nothing writes by itself
  await page.locator('#past').check(); // stories that end would be begun again
  await writing(page, 2);
  for (let i = 0; i < 3; i++) await page.locator('#sampler-temperature').press('ArrowRight');
  const { n, ms } = await page.evaluate(async () => {
    const count = () => document.querySelectorAll('.tok:not(.given)').length,
      before = count(),
      start = performance.now();
    await new Promise((done) => {
      setTimeout(done, 1500);
    });
    return { n: count() - before, ms: performance.now() - start };
  });
  assert.ok(n > 0 && n <= ms / 120 + 3, `${n} tokens in ${Math.round(ms)} ms`);
  await page
    .locator('.tok:not(.given)')
    .first()
    .evaluate((chip) => {
      chip.dataset.before = '';
    });
  await page.getByRole('button', { name: 'New seed' }).click();
  await page.waitForFunction(
    () => document.querySelectorAll('.tok:not(.given)').length >= 4 && !document.querySelector('[data-before]'),
    null,
    { timeout: 30_000 },
  );
  await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
  await resting(page);
  const model = await load(`${top}weights/stories.gguf`);
  const given = await ids(page, '.given'),
    written = await ids(page, ':not(.given)'),
    want = [];
  const [temperature, seed] = [
    Number(await page.locator('#sampler-temperature').inputValue()),
    Number(await page.locator('#seed').inputValue()),
  ];
  for await (const step of model.generate(given, {
    temperature,
    topK: 40,
    topP: 0.95,
    seed,
    ignoreEos: true,
    maxTokens: written.length,
  }))
    want.push(step.id);
  model.dispose();
  assert.deepEqual(written, want);
  assert.deepEqual(complaints, []);
  await close();
});

test('an encoder shows no bars of the model before it, and a prompt that cannot be read none of the text before it', async () => {
  const { page, complaints, close } = await open();
  const bars = page.locator('.next .bar:visible');
  await page.waitForFunction(() => /entropy/.test(document.querySelector('#h-next').textContent));
  await otherWords(page); // unfolds those that the sampler excludes
  assert.equal(await bars.count(), 10);
  await page.getByLabel('Prompt', { exact: true }).fill('word '.repeat(600));
  await page.waitForFunction(() => !document.querySelector('.error').hidden);
  await page.waitForFunction(() => !document.querySelector('.tok'));
  await bars.first().waitFor({ state: 'hidden' });
  assert.equal(await bars.count(), 0);
  await page.getByLabel('Prompt', { exact: true }).fill('Once');
  await bars.first().waitFor();
  await openView(page, 'experiment');
  await page.locator('#preset').selectOption('tutorial-3');
  await page.locator('#build-kind').selectOption('encoder');
  await page.getByRole('button', { name: 'Make it with random weights' }).click();
  await openView(page, 'write');
  await page.waitForFunction(() => /an encoder predicts none/.test(document.querySelector('#h-next').textContent));
  assert.equal(await bars.count(), 0);
  assert.equal(await page.locator('.next > .hint').textContent(), '');
  assert.deepEqual(complaints, []);
  await close();
});

test('a comparison of two texts is closed when they are gone', async () => {
  const { page, complaints, close } = await open();
  const branch = async () => {
    await page.locator('.go').click();
    await resting(page);
    await page.locator('.tok:not(.given)').nth(1).click();
    await page.waitForFunction(
      () => document.querySelector('.bar.on') && /entropy/.test(document.querySelector('#h-next').textContent),
    );
    await (await otherWords(page)).first().click();
    await page.waitForSelector('.branches li');
    await resting(page);
  };
  await page.locator('#max-tokens').fill('6');
  await page.locator('#max-tokens').press('Tab');
  await branch();
  await page.locator('.branches').getByRole('button', { name: 'Compare' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.beside .num').length === 2);
  await page.getByRole('button', { name: 'Start over' }).click();
  await page.waitForFunction(() => !document.querySelector('.branches li'));
  await branch();
  assert.equal(await page.locator('.beside').isVisible(), false, 'the texts of before are compared');
  assert.equal(await page.locator('.branches [aria-expanded="true"]').count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test('another address put into the same tab is followed, the skip link is not', async () => {
  const { page, complaints, close } = await open();
  await page.evaluate(() => {
    window.same = true;
  });
  await page.locator('.skip').press('Enter');
  await quiet(page);
  assert.ok(await page.evaluate(() => window.same), 'the skip link loaded the page again');
  // a change on its way into the address does not overtake it
  await page.evaluate(() => {
    document.querySelector('#sampler-temperature').dispatchEvent(new Event('input'));
    setTimeout(() => {
      location.hash = '#model=weights/stories-1m.gguf&prompt=The+cat&seed=3&written=4';
    }, 290);
  });
  await page.waitForFunction(() => !window.same && document.querySelectorAll('.tok:not(.given)').length === 4, null, {
    timeout: 30_000,
  });
  const model = await load(`${top}weights/stories-1m.gguf`);
  const given = await model.encode('The cat'),
    want = [...given];
  for await (const step of model.generate(given, { temperature: 0.8, topK: 40, topP: 0.95, seed: 3, maxTokens: 4 }))
    want.push(step.id);
  model.dispose();
  assert.deepEqual(await ids(page), want);
  assert.deepEqual(complaints, []);
  await close();
});

test('Step and Run take what was typed a moment ago', async () => {
  const { page, complaints, close } = await open();
  /** Typed and pressed in one task. */
  const pressed = (name, text, button) =>
    page.evaluate(
      ([name, text, button]) => {
        const box = document.querySelector(`textarea[name="${name}"]`);
        box.focus();
        box.value = text;
        box.dispatchEvent(new Event('input', { bubbles: true }));
        [...document.querySelectorAll('.prompt button')].find((b) => b.textContent === button).click();
      },
      [name, text, button],
    );
  const text = () =>
    page
      .locator('.tok')
      .allTextContents()
      .then((list) => list.join(''));
  await pressed('prompt', 'Tom and Sue', 'Step');
  await page.waitForFunction(
    () => /Tom and Sue/.test(document.querySelector('.text').textContent) && document.querySelector('.tok:not(.given)'),
  );
  await resting(page);
  assert.equal((await ids(page, ':not(.given)')).length, 1, await text());
  await page.goto(page.url().replace(/#.*/, '#model=weights/dates/&prompt=&source=07/04/1976&t=0&pace=fast'));
  await page.waitForFunction(
    () => document.querySelector('#source')?.value === '07/04/1976' && document.querySelectorAll('.tok').length === 1,
  );
  await pressed('source', '3 JAN 2001', 'Run');
  await page.waitForFunction(() => /2001-01-03/.test(document.querySelector('.text').textContent));
  await quiet(page);
  assert.match(await text(), /2001-01-03/, 'read again after it was written');
  assert.deepEqual(complaints, []);
  await close();
});

test('an address of a model made on the page brings its whole prompt', async () => {
  const config = { vocabSize: 256, dModel: 8, nLayers: 1, nHeads: 2, dFf: 8, contextLength: 32, seed: 3 };
  const { page, close } = await visit({
    hash: `#made=${encodeURIComponent(JSON.stringify(config))}&prompt=twenty letters and 5 more&written=5`,
  });
  await writing(page, 5);
  assert.deepEqual(await ids(page, '.given'), [...new TextEncoder().encode('twenty letters and 5 more')]);
  assert.equal(await page.getByLabel('Prompt', { exact: true }).inputValue(), 'twenty letters and 5 more');
  await close();
});

/** ln p of each token after the first, of this model. */
async function likelihoods(model, text) {
  const {
    logits: {
      data,
      shape: [, size],
    },
  } = await model.forward(text);
  return text.slice(1).map((id, p) => {
    const row = data.subarray(p * size, (p + 1) * size),
      most = Math.max(...row);
    return row[id] - most - Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0));
  });
}

/** Choose the likeliest other token after this written one, and write on. */
async function another(page, i) {
  await page.locator('.tok:not(.given)').nth(i).click();
  await page.waitForFunction(
    () => document.querySelector('.bar.on') && /entropy/.test(document.querySelector('#h-next').textContent),
  );
  const n = await page.locator('.branches li').count();
  await (await otherWords(page)).first().click();
  await page.waitForFunction((n) => document.querySelectorAll('.branches li').length > n, n);
  await resting(page);
}

// Both texts were taken from the place of the last choice but one: a token that was in neither, and another beginning
// in each column.
test('texts left behind at two places are compared from where they part, and come back whole', async () => {
  const { page, complaints, close } = await open();
  await page.locator('#max-tokens').fill('14');
  await page.locator('#max-tokens').press('Tab');
  await page.locator('.go').click();
  await resting(page);
  const first = await ids(page),
    given = (await ids(page, '.given')).length;
  await another(page, 8);
  const second = await ids(page);
  await another(page, 3);
  const third = await ids(page),
    at = given + 4;
  assert.deepEqual(third.slice(0, at), first.slice(0, at));
  assert.notEqual(third[at], first[at]);
  await page.locator('.branches').getByRole('button', { name: 'Compare' }).first().click();
  await page.waitForFunction(() => /They part/.test(document.querySelector('.beside')?.textContent));
  const model = await load(`${top}weights/stories-1m.gguf`);
  const want = [];
  for (const text of [third, first]) want.push((await likelihoods(model, text))[at - 1]);
  const [here, there] = await page.locator('.beside .branch-at').allTextContents();
  const before = await model.decode(first.slice(0, at));
  model.dispose();
  assert.equal(here, there);
  assert.ok(here.length > 4 && before.endsWith(here.replace('…', '')), `${here} is no end of ${before}`);
  const said = await page.locator('.beside > .hint').textContent();
  const shares = [...said.matchAll(/ (<?[\d.]+) %/g)].map(([, x]) => parseFloat(x.replace('<', '')));
  shares
    .slice(0, 2)
    .forEach((x, i) =>
      assert.ok(Math.abs(x - 100 * Math.exp(want[i])) <= 0.1 + 0.005 * x, `${said}: expected ${want.map(Math.exp)}`),
    );
  for (const [i, text] of [first, second].entries()) {
    await page
      .locator('.branches')
      .getByRole('button', { name: /^Back to/ })
      .nth(i)
      .click();
    await page.waitForFunction(
      (want) => [...document.querySelectorAll('.tok')].map((t) => t.dataset.id).join() === want,
      text.join(),
    );
  }
  assert.deepEqual(complaints, []);
  await close();
});

// Their log-probabilities came after they were drawn.
test('tokens that came by an address or by a choice are shaded as the model expected them', async () => {
  const model = await load(`${top}weights/stories-1m.gguf`);
  const prompt = await model.encode('Once upon a time'),
    text = [];
  for await (const step of model.generate(prompt, { maxTokens: 9, temperature: 0.8, seed: 4 })) text.push(step.id);
  const { page, complaints, close } = await open(
    `#model=weights/stories-1m.gguf&prompt=Once upon a time&pace=fast&ids=${text.map((id) => id.toString(36)).join('.')}`,
  );
  const shaded = async () => {
    const all = await ids(page),
      p = await likelihoods(model, all),
      n = all.length - prompt.length;
    const shares = p.slice(-n).map((x) => (1 - Math.exp(x)) * 5);
    await page.waitForFunction((n) => document.querySelectorAll('.tok:not(.given) [class*="shade-"]').length === n, n);
    const shades = await page
      .locator('.tok:not(.given) .word')
      .evaluateAll((list) => list.map((word) => Number(/shade-(\d)/.exec(word.className)[1])));
    shades.forEach((shade, i) =>
      assert.ok(
        shades.length === n && shares[i] > shade - 0.01 && shares[i] < shade + 1.01,
        `token ${i} is shaded ${shade} of ${shares[i]}`,
      ),
    );
  };
  await writing(page, 9);
  assert.deepEqual(await ids(page), [...prompt, ...text]);
  await shaded();
  await page.locator('#max-tokens').fill('14');
  await page.locator('#max-tokens').press('Tab');
  await another(page, 3);
  await shaded();
  model.dispose();
  assert.deepEqual(complaints, []);
  await close();
});

/** The page has begun with all that it begins by itself: the last is what opens it without a network. */
const begun = (page) => page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));

/** A visitor whose first model comes when it is let go. */
async function early(how = {}) {
  let release = () => {};
  const held = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  const visitor = await visit({
    ...how,
    prepare: (page) =>
      page.route('**/weights/stories-1m-q4_0.gguf', async (route) => {
        await held;
        await route.continue().catch(() => {}); // nobody waits for it
      }),
  });
  await visitor.page.waitForFunction(() => !document.querySelector('.loading').hidden);
  return { ...visitor, release };
}

// It was written over, and the text went on from the prompt of before.
test('what is typed and moved while the first model is on its way holds when it is there', async () => {
  const { page, complaints, release, close } = await early({ reducedMotion: 'no-preference' });
  await page.locator('#sampler-temperature').press('Home');
  await page.getByLabel('Prompt', { exact: true }).click();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type('Tom and Sue');
  release();
  const model = await load(`${top}weights/stories-1m.gguf`);
  const want = await model.encode('Tom and Sue');
  model.dispose();
  await page.waitForFunction(
    (want) => [...document.querySelectorAll('.tok')].map((t) => t.dataset.id).join() === want,
    want.join(),
  );
  await begun(page);
  await page.locator('#seed').focus(); // the box may be written now
  assert.deepEqual(await ids(page), want, 'written by itself');
  assert.equal(await page.getByLabel('Prompt', { exact: true }).inputValue(), 'Tom and Sue');
  assert.equal(await page.locator('#sampler-temperature').inputValue(), '0');
  assert.deepEqual(complaints, []);
  await close();
});

// The better of the shipped models broke its load off, and was itself thrown away: none remained.
test('a model chosen while the first is on its way is the one that comes', async () => {
  const { page, requests, complaints, release, close } = await early();
  await page.locator('.pill').click();
  await page.locator('#model-file').setInputFiles(`${top}weights/stories-gpt2.gguf`);
  await page.waitForFunction(
    () => /^stories-gpt2.gguf/.test(document.querySelector('.pill').textContent) && document.querySelector('.tok'),
    null,
    { timeout: 30_000 },
  );
  release();
  await begun(page);
  assert.match(await page.locator('.pill').textContent(), /^stories-gpt2.gguf/);
  assert.deepEqual(
    requests.filter((url) => /stories\.gguf/.test(url)),
    [],
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('where the first model does not come the better one does, though somebody has begun to do something', async () => {
  let release = () => {};
  const held = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  const { page, close } = await visit({
    serviceWorkers: 'block',
    prepare: async (page) => {
      await page.route('**/weights/stories-1m-q4_0.gguf', (route) => route.fulfill({ body: 'nothing' }));
      await page.route('**/weights/stories.gguf', async (route) => {
        await held;
        await route.continue();
      });
    },
  });
  await page.waitForFunction(() => /stories-5M/.test(document.querySelector('.loading').textContent));
  await page
    .locator('.prompt > .controls')
    .first()
    .click({ position: { x: 2, y: 2 } });
  release();
  await settled(page);
  await page.waitForSelector('.tok');
  await close();
});

const FIRST = /\/stories-1m-q4_0\.gguf$/;

test('the first model is requested once, before the scripts have run', async () => {
  const { page, requests, complaints, close } = await visit();
  await settled(page);
  const first = requests.findIndex((url) => FIRST.test(url)),
    worker = requests.findIndex((url) => /\/worker-[^/]*\.js$/.test(url));
  assert.ok(first > 0 && first < worker, requests.join('\n'));
  assert.equal(requests.filter((url) => FIRST.test(url)).length, 1);
  assert.deepEqual(complaints, []);
  await close();
});

test('where the address names another model the first is not requested', async () => {
  const { page, requests, complaints, close } = await visit({ hash: '#model=weights/stories-1m.gguf&prompt=Once' });
  await page.waitForSelector('.tok');
  assert.deepEqual(
    requests.filter((url) => FIRST.test(url)),
    [],
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('after an early request that failed the first model is requested again', async () => {
  let failures = 0;
  const { page, requests, close } = await visit({
    serviceWorkers: 'block',
    prepare: (page) =>
      page.route('**/weights/stories-1m-q4_0.gguf', (route) =>
        failures++ ? route.continue() : route.abort('connectionreset'),
      ),
  });
  await page.waitForFunction(() => /^stories-[15]M/.test(document.querySelector('.pill').textContent));
  await page.waitForSelector('.tok');
  assert.equal(requests.filter((url) => FIRST.test(url)).length, 2);
  await close();
});
