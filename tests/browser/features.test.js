// features.test.js - the view Features of the built page in Chromium: what is fetched, tokens and their features, a
// feature's card, and texts at a dose
import assert from 'node:assert/strict';
import { samePage, visitTest } from './built_page.js';
import { accessible, openView, settled } from './page_parts.js';
import { quiet } from './quiet.js';

const featuresTest = samePage({ hash: '#view=features' });
const OPEN = '[data-panel="features"] .primary';

visitTest('neither the dictionary nor its model is fetched before the visitor asks', {}, async ({ page, requests }) => {
  await settled(page);
  await openView(page, 'features');
  await quiet(page);
  const fetched = () => requests.filter((url) => /weights\/(?:stories\.gguf|dictionaries)/.test(url));
  assert.deepEqual(fetched(), []);
  assert.match(await page.locator('[data-panel="features"]').innerText(), /its dictionary, \d[\d.]* M/);
});

featuresTest('tokens show their features, and a feature its places, logits and texts', async ({ page }) => {
  // what was recorded stands there first: the feature, and the text that it changes
  const recorded = await page.locator('.dose-columns dd').allInnerTexts();
  const recordedName = await page.locator('#h-feature').innerText();
  assert.match(await page.locator('[data-panel="recorded"]').innerText(), /wagged/);
  await page.locator(OPEN).press('Enter');
  const tokens = page.locator('.features-tokens button');
  await page.locator('.features-list').waitFor();
  assert.ok((await tokens.count()) > 15);
  assert.equal(await page.locator('.features-list li').count(), 8);
  const chosen = () => page.locator('#h-feature').innerText();
  await page.waitForFunction((name) => document.querySelector('#h-feature')?.innerText === name, recordedName);
  const before = await chosen();
  await tokens.nth(2).click();
  await page.waitForFunction((old) => document.querySelector('#h-feature').innerText !== old, before);
  assert.ok((await page.locator('.feature-contexts mark').count()) >= 3);
  assert.equal(await page.locator('.feature-histogram rect').count(), 24);
  await tokens.first().click();
  assert.equal(await page.locator('.features-list li').count(), 0); // the first position has no features
  await tokens.last().click();
  await page.waitForFunction((name) => document.querySelector('#h-feature').innerText === name, recordedName);
  await page.locator('.dose-texts .primary').press('Enter');
  await page.waitForFunction(
    () =>
      [...document.querySelectorAll('.dose-columns dd')].every(({ textContent }) => textContent.length > 20) &&
      document.querySelector('.dose-texts .primary').textContent === 'Write three texts',
  );
  const texts = await page.locator('.dose-columns dd').allInnerTexts();
  assert.equal(texts.length, 3);
  assert.deepEqual(texts.slice(0, 2), recorded.slice(0, 2)); // the third feature is a random one
  assert.notEqual(texts[0], texts[1]);
  await accessible(page, 'features');
  // another dose, by the slider alone: the last one that it showed, of the same random feature
  const titles = () => page.locator('.dose-columns dt').allInnerTexts();
  const [, , random] = await titles();
  /** Texts at this dose are complete, where those above have a dose of 1.5. @param {number} dose */
  const written = (dose) =>
    page.waitForFunction(
      ([before, dose]) => {
        const number = (/** @type {string} */ title) => Number(/[\d.]+$/.exec(title)?.[0]);
        const shown = number(document.querySelectorAll('.dose-columns dt')[2].textContent);
        const isDone = document.querySelector('.dose-texts .primary').textContent === 'Write three texts';
        return isDone && Math.abs(shown / number(before) - dose / 1.5) < 0.02;
      },
      [random, dose],
    );
  const slider = page.locator('#dose');
  for (let i = 0; i < 3; i++) await slider.press('ArrowRight'); // 2, 2.5, 3
  await written(3);
  assert.equal((await titles())[2].replace(/,.*/, ''), random.replace(/,.*/, ''));
  const again = await page.locator('.dose-columns dd').allInnerTexts();
  assert.equal(again[0], texts[0]);
  assert.notEqual(again[1], texts[1]);
  // a change while texts are written ends them, and none of their tokens comes after the new ones
  const writing = page.evaluate(
    () =>
      new Promise((resolve) => {
        const button = document.querySelector('.dose-texts .primary');
        const look = () => button.textContent === 'Stop' && resolve(undefined);
        new MutationObserver(look).observe(button, { subtree: true, childList: true, characterData: true });
      }),
  );
  await slider.press('ArrowLeft');
  await writing;
  await slider.press('ArrowRight');
  await written(3);
  assert.deepEqual(await page.locator('.dose-columns dd').allInnerTexts(), again);
});
