// generation.test.js - the built page in Chromium: a visitor types, runs, stops, steps; what is written is what the
// library writes in Node on the same file
import assert from 'node:assert/strict';
import { pageTest, server, visitTest } from './built_page.js';
import { continued, opened, surprisals, withModel } from './expected.js';
import {
  STORY,
  another,
  atLeast,
  counts,
  fast,
  hasIds,
  ids,
  openCandidates,
  openView,
  otherWords,
  resting,
  run,
  runPrompt,
  says,
  shows,
  stop,
  written,
  writtenText,
} from './page_parts.js';
import { quiet } from './quiet.js';

const model = await opened('weights/stories.gguf');

pageTest(
  'a prompt is continued, the same seed gives the library’s text, and nothing leaves the origin',
  {},
  async ({ page, requests }, t) => {
    const prompt = 'Once upon a time, there was a little';
    await runPrompt(page, prompt, { tokens: 40, seed: 7 });
    assert.deepEqual(await ids(page), await continued(model, prompt, { maxTokens: 40, seed: 7 }));
    assert.ok((await page.locator('.text').innerText()).includes(prompt));
    const speed = await page.locator('[data-role="speed"]').innerText();
    assert.match(speed, /^[\d,.]+ tokens\/s$/);
    t.diagnostic(`engine speed shown: ${speed}`);
    const { origin } = new URL(server.url);
    const outside = (url) => !url.startsWith(server.url) && !/^data:/.test(url) && url !== `${origin}/favicon.ico`;
    assert.deepEqual(requests.filter(outside), [], 'requests that left the folder');
  },
);

/** Typed and pressed in one task, or this many milliseconds later. */
const pressed = (page, name, text, button, ms = 0) =>
  page.evaluate(
    async ([name, text, button, ms]) => {
      const box = document.querySelector(`textarea[name="${name}"]`);
      box.focus();
      box.value = text;
      box.dispatchEvent(new Event('input', { bubbles: true }));
      if (ms) await new Promise((done) => setTimeout(done, ms));
      if (button === 'Enter') box.form.requestSubmit();
      else [...document.querySelectorAll('.prompt button')].find((b) => b.textContent === button).click();
    },
    [name, text, button, ms],
  );

pageTest('Step, Run and Enter take what was typed a moment ago', STORY, async ({ page }) => {
  await pressed(page, 'prompt', 'Tom and Sue', 'Step');
  await says(page, '.text', /Tom and Sue/);
  await page.waitForSelector('.tok:not(.given)');
  await resting(page);
  assert.equal(await written(page), 1);
  await fast(page, 12);
  await page.getByLabel('Prompt', { exact: true }).fill('The dragon was sad because its friend had gone away for long');
  await quiet(page);
  await pressed(page, 'prompt', 'Tom and Sue', 'Enter', 151); // while what was typed is being read
  const seed = Number(await page.locator('#seed').inputValue());
  await hasIds(
    page,
    await withModel('weights/stories-1m.gguf', (small) => continued(small, 'Tom and Sue', { maxTokens: 12, seed })),
  );
  await page.locator('#max-tokens').fill('200000');
  await page.locator('#max-tokens').press('Enter');
  assert.equal(await page.locator('#max-tokens').inputValue(), '100000', 'the form stays one that can be sent');
  await page.goto(page.url().replace(/#.*/, '#model=weights/dates/&prompt=&source=07/04/1976&t=0&pace=fast'));
  await shows(page, () => page.locator('#source').inputValue(), '07/04/1976');
  await counts(page, '.tok', 1);
  await quiet(page);
  await pressed(page, 'source', '3 JAN 2001', 'Run');
  await says(page, '.text', /2001-01-03/);
  await quiet(page);
  assert.match(await writtenText(page), /2001-01-03/, 'read again after it was written');
});

pageTest(
  'a text that is stopped, stepped, continued or begun again is the text written in one go',
  {},
  async ({ page }) => {
    await page.locator('#past').check();
    await page.locator('#seed').fill('11');
    await page.locator('#seed').press('Tab');
    await page.locator('#pace').selectOption('reading');
    await page.locator('.go').click();
    await atLeast(page, '.tok:not(.given)', 3);
    await stop(page);
    await resting(page);
    const n = await written(page);
    await page.waitForTimeout(300); // two tokens at reading pace
    await quiet(page);
    assert.equal(await written(page), n, 'the text grew after Stop');
    await page.getByRole('button', { name: 'Step' }).click();
    await counts(page, '.tok:not(.given)', n + 1);
    await fast(page, n + 17);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await counts(page, '.tok:not(.given)', n + 17);
    await resting(page);
    const given = await ids(page, '.given'),
      whole = await ids(page);
    const how = { maxTokens: whole.length - given.length, seed: 11, ignoreEos: true };
    assert.deepEqual(whole, await continued(model, given, how));
    await page.getByRole('button', { name: 'Run again' }).click();
    await hasIds(page, whole);
    await page.getByRole('button', { name: 'Start over' }).click();
    for (let i = 1; i <= 4; i++) {
      await page.getByRole('button', { name: 'Step' }).click();
      await hasIds(page, whole.slice(0, given.length + i));
    }
  },
);

visitTest(
  // tests/node/writing.test.js: at which pace
  'what writes by itself goes on while it is changed, and a new seed begins it again',
  { hash: '#model=weights/stories.gguf', reducedMotion: 'no-preference' },
  async ({ page }) => {
    await atLeast(page, '.tok:not(.given)', 1); // before a first touch, after which nothing writes by itself
    await page.locator('#past').check(); // stories that end would be begun again
    await page.locator('#max-tokens').fill('400');
    await atLeast(page, '.tok:not(.given)', 2);
    for (let i = 0; i < 3; i++) await page.locator('#sampler-temperature').press('ArrowRight');
    await atLeast(page, '.tok:not(.given)', 1 + (await written(page)));
    await page
      .locator('.tok:not(.given)')
      .first()
      .evaluate((chip) => {
        chip.dataset.before = '';
      });
    await page.getByRole('button', { name: 'New seed' }).click();
    await page.waitForFunction(
      () => document.querySelectorAll('.tok:not(.given)').length >= 4 && !document.querySelector('[data-before]'),
    );
    await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
    await resting(page);
    const how = {
      temperature: Number(await page.locator('#sampler-temperature').inputValue()),
      seed: Number(await page.locator('#seed').inputValue()),
      maxTokens: await written(page),
      ignoreEos: true,
    };
    assert.deepEqual(await ids(page), await continued(model, await ids(page, '.given'), how));
  },
);

pageTest(
  'an encoder shows no bars of the model before it, and a prompt that is too long has none',
  STORY,
  async ({ page }) => {
    const bars = page.locator('.next .bar:visible');
    await openCandidates(page);
    await says(page, '#h-next', /entropy/);
    await otherWords(page); // unfolds those that the sampler excludes
    assert.equal(await bars.count(), 10);
    await page.getByLabel('Prompt', { exact: true }).fill('word '.repeat(600));
    await page.locator('.over-long [role="alert"]').waitFor(); // it is kept, and nothing of it is read
    assert.equal(await bars.count(), 0);
    await page.getByLabel('Prompt', { exact: true }).fill('Once');
    await bars.first().waitFor();
    await openView(page, 'experiment');
    await page.locator('#preset').selectOption('tutorial-3');
    await page.locator('#build-kind').selectOption('encoder');
    await page.getByRole('button', { name: 'Make it with random weights' }).click();
    await openView(page, 'write');
    await says(page, '#h-next', /encoders do not predict a next token/);
    assert.equal(await bars.count(), 0);
    assert.equal(await page.locator('.next > .hint').textContent(), '');
  },
);

pageTest(
  'a step is told by what is new, the rest of the text is not told again',
  '#model=weights/stories-1m.gguf&prompt=Once upon a time&pace=fast&seed=3&past=1',
  async ({ page }) => {
    const spoken = () => page.locator('.stream [aria-live]').textContent();
    const words = () => page.locator('.tok:not(.given)').allTextContents();
    for (let n = 1; n <= 3; n++) {
      await page.getByRole('button', { name: 'Step' }).press('Enter');
      await resting(page);
      const tokens = await words();
      assert.equal(tokens.length, n);
      assert.equal(await spoken(), tokens[n - 1]);
    }
    await fast(page, 12);
    await run(page);
    const rest = (await words()).slice(3).join('');
    assert.match(await spoken(), /^Stopped after 12 tokens: /);
    assert.equal((await spoken()).split('. ').slice(1).join('. '), rest);
    await page.getByRole('button', { name: 'Run again' }).press('Enter'); // another text, though of the same words
    await resting(page);
    const whole = (await words()).join('');
    assert.ok((await spoken()).endsWith(whole), await spoken());
  },
);

// Their log-probabilities came after they were drawn.
const small = await opened('weights/stories-1m.gguf');
const prompt = await small.encode('Once upon a time');
const text = await continued(small, prompt, { maxTokens: 9, seed: 4 });
const given = text.slice(prompt.length).map((id) => id.toString(36));
pageTest(
  'tokens that came by an address or by a choice are shaded as the model expected them',
  `${STORY}&ids=${given.join('.')}`,
  async ({ page }) => {
    const shaded = async () => {
      const all = await ids(page),
        n = all.length - prompt.length;
      const shares = (await surprisals(small, all)).slice(-n).map((bits) => (1 - 2 ** -bits) * 5);
      await counts(page, '.tok:not(.given) [class*="shade-"]', n);
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
    await hasIds(page, text);
    await shaded();
    await fast(page, 14);
    await another(page, page.locator('.tok:not(.given)').nth(3));
    await shaded();
  },
);
