// pulse.test.js - the pulse of a pass through the picture in Chromium: one for each token at reading speed, one that stays
// after Step, none at full speed and none where motion is unwelcome
import assert from 'node:assert/strict';
import { pageTest, visitTest } from './built_page.js';
import { atLeast, resting, written } from './page_parts.js';

const HASH = '#model=weights/stories-1m-q4_0.gguf&prompt=Once upon a time, a little fox found a&past=1';
const MOVING = { reducedMotion: 'no-preference', sampling: false };

/** Counts the pulses that begin: runs in a page before its scripts. */
const countPulses = (page) =>
  page.addInitScript(() => {
    window.pulses = [];
    const { animate } = Element.prototype;
    Element.prototype.animate = function (...how) {
      if (this.matches('.pulse .trail')) window.pulses.push(how[1].duration);
      return animate.apply(this, how);
    };
  });
const trail = (page) =>
  page.locator('.pulse .trail').evaluate((path) => {
    const { strokeDashoffset, opacity } = getComputedStyle(path);
    return [parseFloat(strokeDashoffset), Number(opacity)];
  });

visitTest(
  'at reading speed each token has its pulse, and with Step one runs slowly to its bar and stays',
  { hash: HASH, ...MOVING, prepare: countPulses },
  async ({ page }) => {
    await page.waitForSelector('.bar-part');
    await page.locator('.go').click();
    await atLeast(page, '.tok:not(.given)', 12);
    await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
    await resting(page);
    const [running, tokens] = [await page.evaluate(() => window.pulses), await written(page)];
    // on a busy machine two tokens may come between two drawings
    assert.ok(running.length > tokens / 3 && running.length <= tokens, `${running.length} pulses, ${tokens} tokens`);
    assert.ok(
      running.every((ms) => ms < 200),
      `pulses of ${running} ms`,
    );
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await page.waitForFunction((n) => window.pulses.length > n, running.length);
    assert.ok((await page.evaluate(() => window.pulses.at(-1))) > 1000);
    await page.waitForFunction(
      () => document.querySelector('.pulse .trail').getAnimations()[0]?.playState === 'finished',
    );
    assert.deepEqual(await trail(page), [0, 1], 'it does not stay');
    // it ends at the bar of the token that came of it
    const [end, bar] = await page.evaluate(() => {
      const path = /** @type {SVGPathElement} */ (document.querySelector('.pulse .trail'));
      const { x, y } = path.getPointAtLength(path.getTotalLength());
      const rect = /** @type {SVGGraphicsElement} */ (document.querySelector('.bar-rect.on')).getBBox();
      return [
        [x, y],
        [rect.x, rect.y + rect.height / 2],
      ].map((point) => point.map(Math.round).join());
    });
    assert.equal(end, bar);
    // another token is another pass
    await page.locator('.tok').nth(3).click();
    await page.waitForFunction(() => !document.querySelector('.pulse .trail')?.getAnimations().length);
    assert.equal((await trail(page))[1], 0);
  },
);

visitTest(
  'at full speed there is no pulse',
  { hash: `${HASH}&pace=fast`, ...MOVING, prepare: countPulses },
  async ({ page }) => {
    await page.waitForSelector('.bar-part');
    await page.locator('.go').click();
    await atLeast(page, '.tok:not(.given)', 40);
    assert.deepEqual(await page.evaluate(() => window.pulses), []);
  },
);

pageTest('where motion is unwelcome there is no pulse', HASH, async ({ page }) => {
  await page.waitForSelector('.bar-part');
  await page.getByRole('button', { name: 'Step', exact: true }).click();
  await atLeast(page, '.tok:not(.given)', 1);
  await resting(page);
  assert.equal(await page.locator('.pulse').count(), 0);
});
