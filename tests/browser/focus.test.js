// focus.test.js - the built page in Chromium by keyboard: what is chosen in one panel is what another shows, and the focus
// is not lost
import assert from 'node:assert/strict';
import { pageTest } from './built_page.js';
import { SMALL, atLeast, counts, made, openView, point, says, shows } from './page_parts.js';
import { held, hold, holding, release } from './holding.js';

const stack = (page) =>
  page.getByRole('radiogroup', { name: 'Which attention' }).locator('[aria-checked="true"]').textContent();

pageTest(
  'what is pressed in the picture and among the votes is what the panels of attention show',
  '#model=weights/dates/&prompt=1999-05-01&source=the 1st of may, 1999&stack=cross',
  async ({ page }) => {
    await openView(page, 'inside');
    assert.equal(await stack(page), 'across');
    await page.locator('.anatomy-svg .dot:not(.early):not(.masked)').first().dispatchEvent('click');
    await says(page, '#h-attention', /^Layer/);
    assert.equal(await stack(page), 'decoder');
    await page.locator('.lens-card').scrollIntoViewIfNeeded();
    await page.locator('.vote[title^="layer 2, head 2, across"]').click();
    await says(page, '#h-attention', /^Across, layer 2, head 2/);
    assert.equal(await stack(page), 'across');
    await page.locator('.vote[title^="layer 1, head 2:"]').click();
    await says(page, '#h-attention', /^Layer 1, head 2/);
  },
);

const deep = { ...SMALL, kind: 'encoder_decoder', nEncoderLayers: 3 };
pageTest(
  'every layer of an encoder with more of them than the decoder is reached, and the way back leaves a selected head',
  `#${made(deep, 1)}&prompt=ab&source=cde&open=ffn`,
  async ({ page }) => {
    const inTurn = () =>
      page.locator('.tile[tabindex="0"]').evaluateAll((list) => list.map((t) => t.getAttribute('aria-label')).join());
    await openView(page, 'inside');
    await page.getByRole('radio', { name: 'encoder', exact: true }).click();
    for (let i = 0; i < 2; i++) await page.getByRole('button', { name: 'Next layer' }).click();
    await says(page, '.stepper output', /^3 of 3$/);
    await says(page, '#h-attention', /^Encoder layer 3/);
    await shows(page, inTurn, 'layer 3, head 1');
    // the picture draws the decoder, whose last layer this is
    await says(page, '.inspector .values .cell', /^decoder\.1\.mlp/);
    await page.locator('.anatomy-svg .dot:not(.early):not(.masked)').first().dispatchEvent('click');
    await says(page, '#h-attention', /^Layer 2, head 1/);
    await shows(page, inTurn, 'layer 2, head 1');
  },
);

pageTest(
  'the arrow keys choose among stacks and among values, and a button that was pressed keeps the focus',
  holding('#model=weights/dates/&prompt=1999&source=the 1st of may, 1999&stack=self&head=1.0&open=ffn'),
  async ({ page }) => {
    const order = (group) =>
      page
        .getByRole('radiogroup', { name: group })
        .getByRole('radio')
        .evaluateAll((list) => list.map((b) => `${b.tabIndex} ${b.getAttribute('aria-checked')}`));
    await openView(page, 'inside');
    await says(page, '.values .cell', /^decoder\.1\.mlp/);
    await hold(page, 'forward');
    await page.getByRole('radio', { name: 'decoder', exact: true }).press('ArrowRight');
    await says(page, '#h-attention', /^Across/);
    assert.deepEqual(await order('Which attention'), ['-1 false', '-1 false', '0 true']);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'across');
    await counts(page, '.values .tabs button', 3);
    const values = 'Values of this stage';
    assert.deepEqual(await order(values), ['0 true', '-1 false', '-1 false']);
    await page.getByRole('radio', { name: 'before activation' }).press('ArrowRight');
    assert.deepEqual(await order(values), ['-1 false', '0 true', '-1 false']);
    await says(page, '.values .cell', /^decoder\.1\.mlp\.hook_post/);
    await held(page);
    await release(page);
    await says(page, '.values .cell', /^decoder\.0\.mlp\.hook_post/); // the other stack begins at its first layer
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'activation');
    await openView(page, 'learn');
    await page.locator('[data-tutorial="5"] summary').press('Enter');
    const alone = page.getByRole('button', { name: /^Run this one.*The whole walk/ });
    await alone.press('Enter');
    await says(page, '[data-claim="5-walk"] .state', /^…/);
    assert.equal(await alone.evaluate((button) => button === document.activeElement), true);
  },
);

pageTest(
  'a button that goes away hands the focus on',
  holding(`#${made(SMALL, 1)}&prompt=Once upon a time there was&off=0.n1,0.n2,1.n3&open=head`),
  async ({ page }) => {
    const focused = (/** @type {string} */ selector) =>
      page.waitForFunction((selector) => document.activeElement.matches(selector), selector);
    await page.getByRole('button', { name: 'Step' }).press('Enter');
    await page.getByRole('button', { name: 'Start over' }).press('Enter');
    await focused('.go');
    // each part that is measured paints the switches again
    await openView(page, 'experiment');
    const neurons = page.locator('.ablate .neurons button');
    await hold(page, 'sweep');
    await page.getByRole('button', { name: 'Measure every part' }).press('Enter');
    await held(page);
    await neurons.nth(1).focus();
    await release(page);
    await atLeast(page, '.switches button[title*="bits per token"]', 3);
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
    await page.waitForFunction(() => document.activeElement.textContent === 'Turn everything on');
    await openView(page, 'inside');
    await point(page, '.anatomy .bar-hit', 'Explain');
    await page.getByRole('button', { name: /^Show the other/ }).press('Enter');
    await focused('.part-card .explanation .number');
  },
);
