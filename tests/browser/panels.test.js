// panels.test.js - the built page in Chromium where what is asked for changes while panels show it: another model,
// another source, another text. What they say then is what a page says that is opened anew.
import assert from 'node:assert/strict';
import { open, pageTest } from './built_page.js';
import { SMALL, atLeast, counts, made, openView, says, stop } from './page_parts.js';
import { quiet } from './quiet.js';
import { held, hold, holding, release } from './holding.js';

/** What a panel says, once it is seen in its view. */
const SAYS = {
  '.anatomy': () =>
    [...document.querySelectorAll('.inspector .stage-facts dd')]
      .slice(0, 4)
      .map((e) => e.textContent)
      .concat(
        document.querySelector('.inspector .values .cell')?.textContent,
        document.querySelector('.inspector .neurons').textContent,
      )
      .join(' | '),
  '.attention': () => [...document.querySelectorAll('.attention .attends li')].map((e) => e.textContent).join(' | '),
  '.trace': () =>
    [document.querySelector('.trace h2').textContent, document.querySelector('.trace tfoot td')?.textContent].join(
      ' | ',
    ),
  '.lens-card': () =>
    [
      document.querySelector('.lens').textContent,
      document.querySelector('.votes').textContent,
      document.querySelector('.lens-card .vote-lists').nextElementSibling.textContent,
    ].join(' | '),
  '.ablate': () => document.querySelector('.ablate .hint:last-child').textContent,
};
/** The view that a panel is in. */
const VIEW = {
  '.anatomy': 'inside',
  '.attention': 'inside',
  '.lens-card': 'inside',
  '.trace': 'count',
  '.ablate': 'experiment',
};
async function show(page, name) {
  await openView(page, VIEW[name]);
  await page.locator(name).scrollIntoViewIfNeeded();
}
/** What is read in a panel that has come to rest. */
async function panel(page, name) {
  await show(page, name);
  if (name === '.lens-card') await page.locator('.lens').waitFor(); // its first answer
  await quiet(page);
  return page.evaluate(SAYS[name]);
}
async function panels(page, names) {
  const all = {};
  for (const name of names) all[name] = await panel(page, name);
  return all;
}
async function fill(page, field, text) {
  await openView(page, 'write');
  await page.locator(field).fill(text);
}
/** Make the model of the view "Experiment" with this width. */
async function make(page, dModel) {
  await openView(page, 'experiment');
  await page.locator('#build-dModel').fill(String(dModel));
  await page.getByRole('button', { name: 'Make it with random weights' }).click();
  await atLeast(page, '.strip .line span', 5);
}
/** The text is written so slowly, and goes on for so long, that much is done meanwhile. */
async function lasting(page) {
  await openView(page, 'write');
  await page.locator('#past').check();
  await page.locator('#max-tokens').fill('1000');
  await page.locator('#max-tokens').press('Tab');
}
const noError = async (page) => assert.equal(await page.locator('.error').isVisible(), false);

// They once kept the numbers of the model before: it had the same text.
const REST = '&prompt=Once upon a time&open=ffn&stage=scaled';
pageTest(
  'a model made again from another seed, or wider, is what the panels tell of',
  `#${made(SMALL, 1)}${REST}`,
  async ({ page }) => {
    const names = ['.anatomy', '.attention', '.trace', '.lens-card'];
    const one = await panels(page, names);
    await openView(page, 'experiment');
    await page.locator('#preset').selectOption('');
    for (const config of [SMALL, { ...SMALL, dModel: 128 }]) {
      const anew = await open(`#${made(config, 2)}${REST}`);
      const want = await panels(anew.page, names);
      await anew.close();
      for (const name of names) if (name !== '.trace' || config !== SMALL) assert.notEqual(want[name], one[name]);
      await openView(page, 'write');
      await page.locator('#seed').fill('2');
      await page.locator('#seed').press('Tab');
      await make(page, config.dModel);
      await quiet(page); // the stage begins anew with the model
      await openView(page, 'inside');
      await page.locator('.attention').getByRole('radio', { name: '÷ √d' }).click();
      assert.deepEqual(await panels(page, names), want, `d_model ${config.dModel}`);
    }
  },
);

const dated = (source) =>
  `#model=weights/dates/&prompt=1999-05-01&source=${source}&open=encoder&stack=cross&stage=raw&t=0`;
pageTest(
  'another source is what the panels tell of, though the text is the same',
  dated('the 1st of may, 1999'),
  async ({ page }) => {
    const names = ['.anatomy', '.attention', '.lens-card', '.ablate'],
      source = 'the 2nd of June, 2013';
    const one = await panels(page, names);
    const anew = await open(dated(source));
    const want = await panels(anew.page, names);
    await anew.close();
    await fill(page, '#source', source);
    for (const name of names) assert.notEqual(want[name], one[name]);
    assert.deepEqual(await panels(page, names), want);
  },
);

pageTest(
  'scores of a layer are not shown for another one while the text streams, and a stage without a text is no error',
  `#${made({ ...SMALL, contextLength: 1024 }, 1)}&prompt=Once upon a time&stage=scaled&t=1&head=0.0`,
  async ({ page }) => {
    const first = await panel(page, '.attention');
    await lasting(page);
    await page.locator('.go').click();
    await atLeast(page, '.tok:not(.given)', 3);
    await openView(page, 'inside');
    await page.locator('.tile[aria-label="layer 2, head 1"]').press('Enter');
    await says(page, '#h-attention', /^Layer 2/);
    await says(page, '#cell', /Scores appear when writing pauses/);
    assert.equal(await page.evaluate(SAYS['.attention']), '');
    await page.waitForFunction(() => {
      // nothing is drawn, either
      const canvas = document.querySelector('.cells');
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      return !copy.getImageData(0, 0, canvas.width, canvas.height).data.some((v) => v);
    });
    await stop(page);
    assert.notEqual(await panel(page, '.attention'), first);
    await page.locator('.attention').getByRole('radio', { name: 'masked' }).click();
    await panel(page, '.attention');
    await fill(page, 'textarea[name="prompt"]', ''); // this model has no token to begin with
    await page.waitForFunction(() => !document.querySelector('.tok'));
    await quiet(page);
    await noError(page);
    await openView(page, 'inside');
    await quiet(page);
    assert.equal(
      await page.locator('.attention').getByRole('radio', { name: 'masked' }).getAttribute('aria-checked'),
      'true',
    );
  },
);

pageTest(
  'without the mask scores are not those of the text as it was',
  `#${made({ ...SMALL, contextLength: 1024, causal: false }, 1)}&prompt=Once upon a time&stage=scaled&t=1&head=0.0`,
  async ({ page }) => {
    assert.notEqual(await panel(page, '.attention'), '');
    await lasting(page);
    await page.locator('.go').click();
    await atLeast(page, '.tok:not(.given)', 3);
    await openView(page, 'inside');
    await says(page, '#cell', /Scores appear when writing pauses/);
    assert.equal(await page.evaluate(SAYS['.attention']), '');
    await stop(page);
    assert.notEqual(await panel(page, '.attention'), '');
  },
);

pageTest(
  'a model taken away in the middle of a trace leaves the panel for the next one',
  holding(`#${made(SMALL, 1)}&prompt=Once upon a time`),
  async ({ page }) => {
    await panel(page, '.trace');
    await hold(page, 'trace');
    await fill(page, 'textarea[name="prompt"]', 'Once upon');
    await show(page, '.trace');
    await held(page);
    const pill = await page.locator('.pill').first().textContent();
    await make(page, 48);
    await page.waitForFunction((text) => document.querySelector('.pill').textContent !== text, pill);
    await quiet(page);
    await release(page);
    await openView(page, 'count');
    assert.equal(await page.locator('.trace').isVisible(), true);
    await page.locator('.trace').scrollIntoViewIfNeeded();
    await says(page, '.trace h2 small', /^9 tokens/);
    await noError(page);
  },
);

pageTest(
  'a text that starts again while its parts are compared',
  holding('#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=60'),
  async ({ page }) => {
    await show(page, '.ablate');
    await hold(page, 'forward');
    await page
      .locator('.switches')
      .getByRole('button', { name: /^layer 1, FFN/ })
      .click();
    await held(page);
    await lasting(page);
    await page.getByRole('button', { name: 'New seed' }).click();
    await release(page);
    await atLeast(page, '.tok:not(.given)', 12);
    await noError(page);
    await stop(page);
    await show(page, '.ablate');
    await says(page, '.compare', /Without layer 1, FFN/);
  },
);

pageTest(
  'what the lens was asked of one text is told of that text, and a failure is not told of the next',
  holding('#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=20'),
  async ({ page }) => {
    const note = () => page.locator('.lens-card .lens-split .hint').first().textContent();
    await panel(page, '.lens-card');
    const about = await note();
    await hold(page, 'logitLens');
    await openView(page, 'write');
    await page.locator('.tok').nth(18).click();
    await show(page, '.lens-card');
    await held(page);
    await lasting(page);
    await page.getByRole('button', { name: 'New seed' }).click();
    await page.waitForFunction(() => document.querySelector('#seed').value !== '3'); // drawn with the text's new beginning
    await release(page);
    // answers have had their time
    await atLeast(page, '.tok:not(.given)', 6);
    await stop(page);
    await openView(page, 'inside');
    assert.equal(await note(), about);
    await panel(page, '.lens-card');
    await page.evaluate(() => window.spoil('logitLens'));
    await fill(page, 'textarea[name="prompt"]', 'The cat');
    await show(page, '.lens-card');
    await page.waitForFunction(
      (text) => document.querySelector('.lens-card .lens-split .hint').textContent !== text,
      about,
    );
    await fill(page, 'textarea[name="prompt"]', 'The cat sat');
    await show(page, '.lens-card');
    await page.waitForFunction(
      (text) => document.querySelector('.lens-card .lens-split .hint').textContent === text,
      about,
    );
  },
);

pageTest(
  'the table of weights has the row of the newest token once that is read',
  holding('#model=weights/stories-1m.gguf&prompt=Once upon a time'),
  async ({ page }) => {
    await openView(page, 'inside');
    await page.locator('.attention .as-table:not(.explain) summary').press('Enter');
    const rows = () => page.locator('.attention .as-table:not(.explain) tbody th').count();
    const given = await page.locator('.tok').count();
    await counts(page, '.attention .as-table:not(.explain) tbody th', given);
    await openView(page, 'write');
    await page.getByRole('button', { name: 'Step' }).press('Enter');
    await counts(page, '.tok', given + 1);
    await hold(page, 'forward');
    await page.locator('.tok').last().click();
    await openView(page, 'inside');
    await page.waitForFunction(
      () => window.held() > 0 && /has not read this token/.test(document.querySelector('#cell').textContent),
    );
    await quiet(page); // everything is painted that the choice called for
    await release(page);
    await page.waitForFunction(
      (n) => document.querySelector('#h-attention').textContent.includes(`[${n} queries`),
      given + 1,
    );
    await quiet(page);
    assert.equal(await rows(), given + 1);
  },
);
