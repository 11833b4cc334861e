// panels.test.js - the built page in Chromium where what is asked for changes while panels show it: another model,
// another source, another text. What they say then is what a page says that is opened anew.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { complete, openView, resting, visit } from './built_page.js';
import { quiet } from './quiet.js';

const SMALL = {
  kind: 'decoder',
  vocabSize: 256,
  dModel: 32,
  nLayers: 2,
  nHeads: 2,
  dFf: 64,
  contextLength: 64,
  norm: 'rmsnorm',
  ffn: 'swiglu',
  position: 'rope',
};
const made = (config, seed) => `made=${encodeURIComponent(JSON.stringify({ ...config, seed }))}`;

/**
 * A page with its text read, and what keeps questions to the engine waiting: `hold('trace')`, `release()`;
 * `spoil('trace')` makes the next fail.
 */
async function open(hash) {
  const visitor = await visit({
    hash,
    prepare: (page) =>
      page.addInitScript(() => {
        const post = Worker.prototype.postMessage;
        const kept = [];
        let name = '',
          bad = '';
        window.spoil = (method) => {
          bad = method;
        };
        window.hold = (method) => {
          name = method;
        };
        window.held = () => kept.length;
        window.release = () => {
          name = '';
          for (const [worker, ...args] of kept.splice(0)) post.apply(worker, args);
        };
        Worker.prototype.postMessage = function (...args) {
          if (name && args[0]?.args?.[0] === name) kept.push([this, ...args]);
          else if (bad && args[0]?.args?.[0] === bad) {
            bad = '';
            post.call(this, { ...args[0], args: ['nothing that it could do', []] });
          } else post.apply(this, args);
        };
      }),
  });
  await visitor.page.waitForSelector('.tok', { timeout: 30_000 });
  return visitor;
}

/** What is read once everything has come to rest. */
async function calm(page, read) {
  await quiet(page);
  return read();
}

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
  '.break': 'experiment',
};
async function show(page, name) {
  await openView(page, VIEW[name]);
  await page.locator(name).scrollIntoViewIfNeeded();
}
async function says(page, names) {
  const all = {};
  for (const name of names) {
    await show(page, name);
    all[name] = await calm(page, () => page.evaluate(SAYS[name]));
  }
  return all;
}
/** In the view "Experiment", where tokens of the text are those of the strip. */
const make = async (page) => {
  await page.getByRole('button', { name: 'Make it with random weights' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.strip .line span').length > 4);
};
async function fill(page, label, text) {
  await openView(page, 'write');
  await page.getByLabel(label, { exact: true }).fill(text);
}

// They once kept the numbers of the model before: it had the same text.
test('a model made again from another seed, or wider, is what the panels tell of', async () => {
  const names = ['.anatomy', '.attention', '.trace', '.lens-card'];
  const rest = '&prompt=Once upon a time&open=ffn&stage=scaled';
  const { page, complaints, close } = await open(`#${made(SMALL, 1)}${rest}`);
  const one = await says(page, names);
  await openView(page, 'experiment');
  await page.locator('#preset').selectOption('');
  const scaled = () => page.locator('.attention').getByRole('radio', { name: '÷ √d' }).click();
  for (const [config, seed] of /** @type {[any, number][]} */ ([
    [SMALL, 2],
    [{ ...SMALL, dModel: 128 }, 2],
  ])) {
    const anew = await open(`#${made(config, seed)}${rest}`);
    const want = await says(anew.page, names);
    await anew.close();
    for (const name of names) if (name !== '.trace' || config !== SMALL) assert.notEqual(want[name], one[name]);
    await openView(page, 'write');
    await page.locator('#seed').fill(String(seed));
    await page.locator('#seed').press('Tab');
    await openView(page, 'experiment');
    await page.locator('#build-dModel').fill(String(config.dModel));
    await make(page);
    await openView(page, 'inside');
    await scaled();
    for (const name of names) {
      await show(page, name);
      await quiet(page);
      assert.equal(await page.evaluate(SAYS[name]), want[name], `${name}, seed ${seed}, d_model ${config.dModel}`);
    }
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('another source is what the panels tell of, though the text is the same', async () => {
  const names = ['.anatomy', '.attention', '.lens-card', '.ablate'];
  const of = (source) =>
    `#model=weights/dates/&prompt=1999-05-01&source=${source}&open=encoder&stack=cross&stage=raw&t=0`;
  const { page, complaints, close } = await open(of('the 1st of may, 1999'));
  const one = await says(page, names);
  const anew = await open(of('the 2nd of June, 2013'));
  const want = await says(anew.page, names);
  await anew.close();
  await openView(page, 'write');
  await page.locator('#source').fill('the 2nd of June, 2013');
  for (const name of names) {
    assert.notEqual(want[name], one[name]);
    await show(page, name);
    await quiet(page);
    assert.equal(await page.evaluate(SAYS[name]), want[name], name);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('scores of a layer are not shown for another one while the text streams, and a stage without a text is no error', async () => {
  const { page, complaints, close } = await open(
    `#${made({ ...SMALL, contextLength: 256 }, 1)}&prompt=Once upon a time&stage=scaled&t=1`,
  );
  const first = (await says(page, ['.attention']))['.attention'];
  await openView(page, 'write');
  await page.locator('.go').click();
  await page.waitForFunction(() => document.querySelectorAll('.tok:not(.given)').length > 2);
  await openView(page, 'inside');
  await page.locator('.tile[aria-label="layer 2, head 1"]').press('Enter');
  await page.waitForFunction(() => /^Layer 2/.test(document.querySelector('#h-attention').textContent));
  await page.waitForFunction(() =>
    /The scores come when the text rests/.test(document.querySelector('#cell').textContent),
  );
  assert.equal(await page.evaluate(SAYS['.attention']), '');
  await page.waitForFunction(() => {
    // nothing is drawn, either
    const canvas = document.querySelector('.cells');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return !copy.getImageData(0, 0, canvas.width, canvas.height).data.some((v) => v);
  });
  await page.getByRole('button', { name: 'Stop', exact: true }).first().click();
  assert.notEqual(await calm(page, () => page.evaluate(SAYS['.attention'])), first);
  await page.locator('.attention').getByRole('radio', { name: 'masked' }).click();
  await calm(page, () => page.evaluate(SAYS['.attention']));
  await fill(page, 'Prompt', ''); // this model has no token to begin with
  await page.waitForFunction(() => !document.querySelector('.tok'));
  await quiet(page);
  assert.equal(await page.locator('.error').isVisible(), false, await page.locator('.error').textContent());
  await openView(page, 'inside');
  await quiet(page);
  assert.equal(
    await page.locator('.attention').getByRole('radio', { name: 'masked' }).getAttribute('aria-checked'),
    'true',
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('without the mask scores are not those of the text as it was', async () => {
  const { page, complaints, close } = await open(
    `#${made({ ...SMALL, contextLength: 256, causal: false }, 1)}&prompt=Once upon a time&stage=scaled&t=1`,
  );
  assert.notEqual((await says(page, ['.attention']))['.attention'], '');
  await openView(page, 'write');
  await page.locator('.go').click();
  await page.waitForFunction(() => document.querySelectorAll('.tok:not(.given)').length > 2);
  await openView(page, 'inside');
  await page.waitForFunction(() =>
    /The scores come when the text rests/.test(document.querySelector('#cell').textContent),
  );
  assert.equal(await page.evaluate(SAYS['.attention']), '');
  await page.getByRole('button', { name: 'Stop', exact: true }).first().click();
  assert.notEqual(await calm(page, () => page.evaluate(SAYS['.attention'])), '');
  assert.deepEqual(complaints, []);
  await close();
});

test('a model taken away in the middle of a trace leaves the panel for the next one', async () => {
  const { page, complaints, close } = await open(`#${made(SMALL, 1)}&prompt=Once upon a time`);
  await says(page, ['.trace']);
  await page.evaluate(() => window.hold('trace'));
  await fill(page, 'Prompt', 'Once upon');
  await show(page, '.trace');
  await page.waitForFunction(() => window.held() > 0);
  const pill = await page.locator('.pill').textContent();
  await openView(page, 'experiment');
  await page.locator('#build-dModel').fill('48');
  await make(page);
  await page.waitForFunction((text) => document.querySelector('.pill').textContent !== text, pill);
  await quiet(page);
  await page.evaluate(() => window.release());
  await openView(page, 'count');
  assert.equal(await page.locator('.trace').isVisible(), true);
  await page.locator('.trace').scrollIntoViewIfNeeded();
  await page.waitForFunction(() => /^9 tokens/.test(document.querySelector('.trace h2 small').textContent));
  assert.equal(await page.locator('.error').isVisible(), false);
  assert.deepEqual(complaints, []);
  await close();
});

test('a text that starts again while its parts are compared', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=60',
  );
  await complete(page, 60);
  await show(page, '.ablate');
  await page.evaluate(() => window.hold('forward'));
  await page
    .locator('.switches')
    .getByRole('button', { name: /^layer 1, FFN/ })
    .click();
  await page.waitForFunction(() => window.held() > 0);
  await openView(page, 'write');
  await page.getByRole('button', { name: 'New seed' }).click();
  await page.evaluate(() => window.release());
  await page.waitForFunction(() => document.querySelectorAll('.tok:not(.given)').length >= 12);
  assert.equal(await page.locator('.error').isVisible(), false, await page.locator('.error').textContent());
  await page.getByRole('button', { name: 'Stop', exact: true }).first().click();
  await show(page, '.ablate');
  await page.waitForFunction(() => /Without layer 1, FFN/.test(document.querySelector('.compare').textContent), null, {
    timeout: 30_000,
  });
  assert.deepEqual(complaints, []);
  await close();
});

test('what the lens was asked of one text is told of that text, and a failure is not told of the next', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=20',
  );
  await complete(page, 20);
  const note = () => page.locator('.lens-card .lens-split .hint').first().textContent();
  await says(page, ['.lens-card']);
  const about = await note();
  await page.evaluate(() => window.hold('logitLens'));
  await openView(page, 'write');
  await page.locator('.tok').nth(18).click();
  await show(page, '.lens-card');
  await page.waitForFunction(() => window.held() > 0);
  await openView(page, 'write');
  await page.getByRole('button', { name: 'New seed' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.tok').length < 10);
  await page.evaluate(() => window.release());
  // answers have had their time
  await page.waitForFunction(() => document.querySelectorAll('.tok:not(.given)').length >= 6);
  await page.getByRole('button', { name: 'Stop', exact: true }).first().click();
  await openView(page, 'inside');
  assert.equal(await note(), about);
  await says(page, ['.lens-card']);
  await page.evaluate(() => window.spoil('logitLens'));
  await fill(page, 'Prompt', 'The cat');
  await show(page, '.lens-card');
  await page.waitForFunction(
    (text) => document.querySelector('.lens-card .lens-split .hint').textContent !== text,
    about,
  );
  await fill(page, 'Prompt', 'The cat sat');
  await show(page, '.lens-card');
  await page.waitForFunction(
    (text) => document.querySelector('.lens-card .lens-split .hint').textContent === text,
    about,
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('no cell is chosen any more while one is being explained', async () => {
  const { page, complaints, close } = await open('#model=weights/stories-1m.gguf&prompt=Once upon a time&key=1');
  await openView(page, 'inside');
  await page.locator('.attention .explain summary').press('Enter');
  await page.waitForSelector('.attention .explanation .number');
  await page.evaluate(() => window.hold('explain'));
  await page.locator('.matrix').press('ArrowLeft');
  await page.waitForFunction(() => window.held() > 0);
  await page.locator('.matrix').press('Escape');
  await page.waitForFunction(() =>
    /Choose a cell of the picture\.$/.test(document.querySelector('.attention .explanation').textContent),
  );
  await page.evaluate(() => window.release());
  await quiet(page);
  assert.match(await page.locator('.attention .explanation').textContent(), /Choose a cell of the picture\.$/);
  assert.equal(await page.locator('.attention .explanation').getAttribute('aria-busy'), null);
  assert.deepEqual(complaints, []);
  await close();
});

const stack = (page) =>
  page.getByRole('radiogroup', { name: 'Which attention' }).locator('[aria-checked="true"]').textContent();

test('what is pressed in the picture and among the votes is what the panels of attention show', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/dates/&prompt=1999-05-01&source=the 1st of may, 1999&stack=cross',
  );
  await openView(page, 'inside');
  assert.equal(await stack(page), 'across');
  await page.locator('.anatomy-svg .dot:not(.early):not(.masked)').first().dispatchEvent('click');
  await page.waitForFunction(() => /^Layer/.test(document.querySelector('#h-attention').textContent));
  assert.equal(await stack(page), 'decoder');
  await page.locator('.lens-card').scrollIntoViewIfNeeded();
  await page.locator('.vote[title^="layer 2, head 2, across"]').click();
  await page.waitForFunction(() => /^Across, layer 2, head 2/.test(document.querySelector('#h-attention').textContent));
  assert.equal(await stack(page), 'across');
  await page.locator('.vote[title^="layer 1, head 2:"]').click();
  await page.waitForFunction(() => /^Layer 1, head 2/.test(document.querySelector('#h-attention').textContent));
  assert.deepEqual(complaints, []);
  await close();
});

test('ideas tried on the text above are gone with it', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/stories-1m.gguf&prompt=Once upon a time&seed=3&written=20',
  );
  await complete(page, 20);
  const tried = () =>
    page.waitForFunction(
      () =>
        document.querySelectorAll('.broken tbody tr').length === 7 && document.querySelector('.break progress').hidden,
      null,
      { timeout: 60_000 },
    );
  const go = page.getByRole('button', { name: 'Break it, one idea at a time' });
  await show(page, '.break');
  await go.click();
  await tried();
  await fill(page, 'Prompt', 'The cat');
  await page.waitForFunction(() => document.querySelectorAll('.tok').length < 5);
  await show(page, '.break');
  await quiet(page);
  assert.equal(await page.locator('.broken').isVisible(), true, 'the fixed text is still the same');
  await page.locator('#break-text').selectOption('own');
  await go.click();
  await tried();
  await fill(page, 'Prompt', 'The cat sat on');
  await show(page, '.break');
  await page.waitForFunction(
    () => document.querySelector('.broken').closest('[hidden]') || document.querySelector('.broken').hidden,
  );
  await openView(page, 'write');
  await page.locator('.go').click(); // at reading speed
  await page.waitForFunction(() => document.querySelectorAll('.tok:not(.given)').length > 1);
  await show(page, '.break');
  await go.click();
  assert.match(await page.locator('.break .hint').textContent(), /still being written/);
  assert.deepEqual(complaints, []);
  await close();
});

test('a model with fewer stops of the walk leads back from its last', async () => {
  const { page, complaints, close } = await open('#model=weights/stories-1m.gguf&prompt=The cat');
  await page.getByRole('button', { name: 'Guided walk' }).click();
  for (;;) {
    await page.waitForSelector('.walk .primary');
    if (
      await page
        .locator('.walk .num')
        .textContent()
        .then((text) => /^(\d+) of \1$/.test(text))
    )
      break;
    const before = await page.locator('.walk .num').textContent();
    await page.locator('.walk .primary').click();
    await page.waitForFunction((text) => document.querySelector('.walk .num').textContent !== text, before);
  }
  const all = Number(/\d+$/.exec(await page.locator('.walk .num').textContent()));
  await openView(page, 'experiment');
  await page.locator('#preset').selectOption('tutorial-3');
  await page.locator('#build-kind').selectOption('encoder');
  await make(page);
  const [, at, of] = /^(\d+) of (\d+)$/.exec(await calm(page, () => page.locator('.walk .num').textContent()));
  assert.ok(Number(of) < all && at === of, `${at} of ${of}, ${all} before`);
  await page.locator('.walk').getByRole('button', { name: 'Back' }).click();
  await page.waitForFunction(
    (text) => document.querySelector('.walk .num').textContent === text,
    `${Number(of) - 1} of ${of}`,
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('every layer of an encoder with more of them than the decoder is reached, and the way back leaves a selected head', async () => {
  const deep = { ...SMALL, kind: 'encoder_decoder', nEncoderLayers: 3 };
  const { page, complaints, close } = await open(`#${made(deep, 1)}&prompt=ab&source=cde&open=ffn`);
  const inTurn = () =>
    page.locator('.tile[tabindex="0"]').evaluateAll((list) => list.map((t) => t.getAttribute('aria-label')));
  await openView(page, 'inside');
  await page.getByRole('radio', { name: 'encoder', exact: true }).click();
  for (let i = 0; i < 2; i++) await page.getByRole('button', { name: 'Next layer' }).click();
  await page.waitForFunction(() => document.querySelector('.stepper output').textContent === '3 of 3');
  assert.match(await page.locator('#h-attention').textContent(), /^Encoder layer 3/);
  assert.deepEqual(await inTurn(), ['layer 3, head 1']);
  // the picture draws the decoder, whose last layer this is
  await page.waitForFunction(() =>
    /^decoder\.1\.mlp/.test(document.querySelector('.inspector .values .cell')?.textContent),
  );
  await page.locator('.anatomy-svg .dot:not(.early):not(.masked)').first().dispatchEvent('click');
  await page.waitForFunction(() => /^Layer 2, head 1/.test(document.querySelector('#h-attention').textContent));
  assert.deepEqual(await inTurn(), ['layer 2, head 1']);
  assert.deepEqual(complaints, []);
  await close();
});

test('the arrow keys choose among stacks and among values, and a button that was pressed keeps the focus', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/dates/&prompt=1999&source=the 1st of may, 1999&stack=self&open=ffn',
  );
  const order = (group) =>
    page
      .getByRole('radiogroup', { name: group })
      .getByRole('radio')
      .evaluateAll((list) => list.map((b) => `${b.tabIndex} ${b.getAttribute('aria-checked')}`));
  await openView(page, 'inside');
  await page.getByRole('radio', { name: 'decoder', exact: true }).press('ArrowRight');
  await page.waitForFunction(() => /^Across/.test(document.querySelector('#h-attention').textContent));
  assert.deepEqual(await order('Which attention'), ['-1 false', '-1 false', '0 true']);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'across');
  await page.waitForFunction(() => document.querySelectorAll('.values .tabs button').length === 3);
  const values = 'Values of this stage';
  assert.deepEqual(await order(values), ['0 true', '-1 false', '-1 false']);
  await page.getByRole('radio', { name: 'before activation' }).press('ArrowRight');
  assert.deepEqual(await order(values), ['-1 false', '0 true', '-1 false']);
  assert.match(await page.locator('.values .cell').textContent(), /mlp\.hook_post/);
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'activation');
  await openView(page, 'learn');
  await page.locator('[data-tutorial="5"] summary').press('Enter');
  const alone = page.getByRole('button', { name: /^Run this one.*The whole walk/ });
  await alone.press('Enter');
  await page.waitForFunction(() => /^…/.test(document.querySelector('[data-claim="5-walk"] .state').textContent));
  assert.equal(await alone.evaluate((button) => button === document.activeElement), true);
  assert.deepEqual(complaints, []);
  await close();
});

// Opened by its ids, a text was drawn before its probabilities were known, and never again.
test('a text that came as ids is shaded like the same text as it was written', async () => {
  const shades = (page) =>
    page
      .locator('.tok')
      .evaluateAll((list) =>
        list.map((t) => `${t.dataset.id} ${/shade-\d|$/.exec(t.querySelector('.word').className)[0]}`),
      );
  const hash = '#model=weights/stories-1m.gguf&prompt=Once upon a time&t=1.2&seed=3';
  const one = await open(`${hash}&written=20`);
  await complete(one.page, 20);
  const want = await shades(one.page);
  const ids = await one.page
    .locator('.tok:not(.given)')
    .evaluateAll((list) => list.map((t) => Number(t.dataset.id).toString(36)));
  await one.close();
  assert.ok(new Set(want.map((s) => s.split(' ')[1])).size > 2, want.join(', '));
  const { page, complaints, close } = await open(`${hash}&ids=${ids.join('.')}`);
  await complete(page, 20);
  await quiet(page);
  assert.deepEqual(await shades(page), want);
  assert.deepEqual(complaints, []);
  await close();
});

test('the head’s sentence is of the selected token', async () => {
  const { page, complaints, close } = await open('#model=weights/stories-1m.gguf&prompt=Once upon a time&open=head');
  const said = (/** @type {string} */ word) =>
    page.waitForFunction(
      (word) => document.querySelector('.values .cell')?.textContent.startsWith(`“${word}” is followed by`),
      word,
    );
  const word = (/** @type {number} */ i) => page.locator('.tok').nth(i).textContent();
  const last = (await page.locator('.tok').count()) - 1;
  await said(await word(last));
  assert.notEqual(await word(last - 1), await word(last));
  await page
    .locator('.tok')
    .nth(last - 1)
    .click();
  await said(await word(last - 1));
  await page.locator('.stage', { hasText: 'Embedding' }).press('Enter');
  await page.waitForFunction(() => /hook_embed/.test(document.querySelector('.values .cell')?.textContent));
  await page.locator('.tok').nth(last).click();
  await page.locator('.stage', { hasText: /^Head/ }).press('Enter');
  await said(await word(last));
  assert.deepEqual(complaints, []);
  await close();
});

test('the table of weights has the row of the newest token once that is read', async () => {
  const { page, complaints, close } = await open('#model=weights/stories-1m.gguf&prompt=Once upon a time');
  await openView(page, 'inside');
  await page.locator('.attention .as-table:not(.explain) summary').press('Enter');
  const rows = () => page.locator('.attention .as-table:not(.explain) tbody th').count();
  const given = await page.locator('.tok').count();
  await page.waitForFunction(
    (n) => document.querySelectorAll('.attention .as-table:not(.explain) tbody th').length === n,
    given,
  );
  await openView(page, 'write');
  await page.getByRole('button', { name: 'Step' }).press('Enter');
  await page.waitForFunction((n) => document.querySelectorAll('.tok').length === n, given + 1);
  await page.evaluate(() => window.hold('forward'));
  await page.locator('.tok').last().click();
  await openView(page, 'inside');
  await page.waitForFunction(
    () => window.held() > 0 && /has not read this token/.test(document.querySelector('#cell').textContent),
  );
  await quiet(page); // everything is painted that the choice called for
  await page.evaluate(() => window.release());
  await page.waitForFunction(
    (n) => document.querySelector('#h-attention').textContent.includes(`[${n} queries`),
    given + 1,
  );
  await quiet(page);
  assert.equal(await rows(), given + 1);
  assert.deepEqual(complaints, []);
  await close();
});

test('a button that goes away hands the focus on', async () => {
  const { page, complaints, close } = await open(
    `#${made(SMALL, 1)}&prompt=Once upon a time there was&off=0.n1,0.n2,1.n3&open=head`,
  );
  const focused = (/** @type {string} */ selector) =>
    page.waitForFunction((selector) => document.activeElement.matches(selector), selector);
  await page.getByRole('button', { name: 'Step' }).press('Enter');
  await page.getByRole('button', { name: 'Start over' }).press('Enter');
  await focused('.go');
  // each part that is measured paints the switches again
  await show(page, '.ablate');
  const neurons = page.locator('.ablate .neurons button');
  await page.evaluate(() => window.hold('forward'));
  await page.getByRole('button', { name: 'Measure every part' }).press('Enter');
  await page.waitForFunction(() => window.held() > 0);
  await neurons.nth(1).focus();
  await page.evaluate(() => window.release());
  await page.waitForFunction(() => document.querySelectorAll('.switches button[title*="bits a token"]').length >= 3);
  assert.equal(
    await neurons.nth(1).evaluate((b) => b === document.activeElement),
    true,
    'the focus is lost where a part is measured',
  );
  for (const next of [/neuron 3, off/, /neuron 1, off/]) {
    // the one after it, and where there is none the one before
    await page.keyboard.press('Enter');
    await page.waitForFunction((source) => new RegExp(source).test(document.activeElement.textContent), next.source);
  }
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.textContent === 'All on');
  await openView(page, 'inside');
  await page.getByRole('button', { name: /^Explain the logit of/ }).press('Enter');
  await page.getByRole('button', { name: /^Show the other/ }).press('Enter');
  await focused('.anatomy .explanation .number');
  assert.deepEqual(complaints, []);
  await close();
});

test('a step is told by what is new, the rest of the text is not told again', async () => {
  const { page, complaints, close } = await open(
    '#model=weights/stories-1m.gguf&prompt=Once upon a time&pace=fast&seed=3&past=1',
  );
  const spoken = () => page.locator('.stream [aria-live]').textContent();
  const written = () => page.locator('.tok:not(.given)').evaluateAll((list) => list.map((t) => t.textContent));
  for (let n = 1; n <= 3; n++) {
    await page.getByRole('button', { name: 'Step' }).press('Enter');
    await resting(page);
    const tokens = await written();
    assert.equal(tokens.length, n);
    assert.equal(await spoken(), tokens[n - 1]);
  }
  await page.locator('#max-tokens').fill('12');
  await page.locator('#max-tokens').press('Tab');
  await page.locator('.go').press('Enter');
  await resting(page);
  const rest = (await written()).slice(3).join('');
  assert.match(await spoken(), /^Ended at .* after 12 tokens/);
  assert.equal((await spoken()).split('. ').slice(1).join('. '), rest);
  await page.getByRole('button', { name: 'Run again' }).press('Enter'); // another text, though of the same words
  const whole = (await written()).join('');
  await resting(page);
  assert.ok((await spoken()).endsWith(whole), await spoken());
  assert.deepEqual(complaints, []);
  await close();
});
