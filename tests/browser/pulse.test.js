// pulse.test.js - the pulse of a pass through the picture in Chromium: one for each token at reading speed, one that stays
// after Step, none at full speed and none where motion is unwelcome
import assert from 'node:assert/strict';
import { pageTest, visitTest } from './built_page.js';
import { atLeast, resting, written } from './page_parts.js';

const HASH = '#model=weights/stories-1m-q4_0.gguf&prompt=Once upon a time, a little fox found a&past=1';
const MOVING = { reducedMotion: 'no-preference', sampling: false };

/** Each pulse that begins, and how many tokens were written then: runs in a page before its scripts. */
const countPulses = (page) =>
  page.addInitScript(() => {
    window.pulses = [];
    const { animate } = Element.prototype;
    Element.prototype.animate = function (...how) {
      if (this.matches('.pulse .trail'))
        window.pulses.push({ ms: how[1].duration, tokens: document.querySelectorAll('.tok:not(.given)').length });
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
    await page.waitForFunction(() => window.pulses.length > 4);
    await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
    await resting(page);
    const [running, tokens] = [await page.evaluate(() => window.pulses), await written(page)];
    const ms = running.map(({ ms }) => ms);
    // on a busy machine several tokens may come between two drawings, but no token has two pulses
    assert.ok(ms.length <= tokens, `${ms.length} pulses, ${tokens} tokens`);
    // one or two tokens may be drawn after Stop, as those of Step are
    const during = ms.filter((ms) => ms < 200).length;
    assert.ok(during > 4 && ms.slice(during).every((ms) => ms > 1000), `pulses of ${ms} ms`);
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await page.waitForFunction((n) => window.pulses.at(-1).tokens > n, tokens);
    assert.ok((await page.evaluate(() => window.pulses.at(-1).ms)) > 1000);
    await page.waitForFunction(
      () => document.querySelector('.pulse .trail').getAnimations()[0]?.playState === 'finished',
    );
    assert.deepEqual(await trail(page), [0, 1], 'it does not stay');
    // it ends beside the word that came of it, on the height of its bar
    const [end, word, bar] = await page.evaluate(() => {
      const path = /** @type {SVGPathElement} */ (document.querySelector('.pulse .trail'));
      const boxOf = (name) => /** @type {SVGGraphicsElement} */ (document.querySelector(name)).getBBox();
      return [path.getPointAtLength(path.getTotalLength()), boxOf('.bar-word.on'), boxOf('.bar-rect.on')].map(
        ({ x, y, height = 0 }) => ({ x, y: y + height / 2 }),
      );
    });
    assert.ok(end.x < word.x && end.x > word.x - 12, `ends at ${end.x}, the word begins at ${word.x}`);
    assert.ok(Math.abs(end.y - bar.y) < 1, `ends at ${end.y}, the bar lies at ${bar.y}`);
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

/** Runs in a page before its scripts: whole passes over the text are answered half a second later. */
function slowPasses() {
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (...message) {
    if (message[0]?.method === 'forward') setTimeout(() => postMessage.apply(this, message), 500);
    else postMessage.apply(this, message);
  };
}
visitTest(
  'values fill the picture while text is written also where a pass takes longer than a token',
  { hash: HASH, ...MOVING, expects: /willReadFrequently/, prepare: (page) => page.addInitScript(slowPasses) },
  async ({ page }) => {
    await page.waitForSelector('.bar-part');
    await page.locator('.go').click();
    await page.waitForFunction(() => {
      const canvas = /** @type {HTMLCanvasElement} */ (document.querySelector('.anatomy-cells'));
      const [all, strip] = [canvas, document.querySelector('.lane[data-lane="0"] .cell-back.f')].map((part) =>
        part.getBoundingClientRect(),
      );
      const scale = canvas.width / all.width;
      const at = [strip.x + strip.width / 2 - all.x, strip.y + strip.height / 2 - all.y].map((x) =>
        Math.round(x * scale),
      );
      const painted = canvas.getContext('2d').getImageData(at[0], at[1], 1, 1).data[3] > 0;
      const news = document.querySelectorAll('.tok:not(.given)').length;
      return news > 10 && painted && document.querySelector('.stream.writing'); // none of the lanes is the prompt's
    });
  },
);
