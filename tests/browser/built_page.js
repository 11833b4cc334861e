// built_page.js - the built page on a plain static host, under a sub-path, and visits to it in Chromium. Who imports
// this has both from the first test to the last.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { quiet, watchQuiet } from './quiet.js';

export const top = fileURLToPath(new URL('../..', import.meta.url));
export const site = `${top}site`;
export const axe = readFileSync(`${top}node_modules/axe-core/axe.min.js`, 'utf8');

/** @type {Awaited<ReturnType<typeof serve>>} */
export let server;
/** @type {Awaited<ReturnType<typeof launch>>} */
export let browser;

before(async () => {
  assert.ok(existsSync(`${site}/index.html`), 'the page is not built: run ./build.sh page');
  server = await serve(site, { base: '/some/folder/', isolate: false });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** Runs in a page before its scripts: the fold "Sampling" was left open. */
export function unfold() {
  try {
    localStorage.setItem('sampling', 'open');
  } catch {
    // without storage it begins closed
  }
}

/**
 * A fresh visitor, and what the page asked for and complained of meanwhile.
 * @param
 *   {{hash?: string, width?: number, height?: number, sampling?: boolean, prepare?: (page: any) => Promise<void>} & Record<string, any>}
 *   [how] `sampling`: the fold with seed, limit and pace is open, as a visitor left it; the rest: Playwright's, of a
 *   context
 */
export async function visit({ hash = '', width = 1440, height = 900, sampling = true, prepare, ...how } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: 'reduce', ...how });
  const page = await context.newPage();
  const requests = [],
    complaints = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.stack ?? error.message));
  await watchQuiet(page);
  if (sampling) await page.addInitScript(unfold);
  await prepare?.(page);
  await page.goto(server.url + hash);
  return { page, requests, complaints, close: () => context.close() };
}

/**
 * Open a view by its tab.
 * @param {any} page
 * @param {string} id
 */
export async function openView(page, id) {
  const view = page.locator(`#view-${id}`);
  if (await view.isVisible()) return;
  await page.locator(`[data-opens="${id}"]`).click();
  await view.waitFor({ state: 'visible' });
}

/** The larger story model is loaded; nothing takes its place any more. Where a text is being written it asks first. */
export const settled = (page) =>
  page.waitForFunction(
    () => {
      /** @type {any} */ (document.querySelector('.offer:not([hidden]) .primary'))?.click();
      return /^stories-5M/.test(document.querySelector('.pill')?.textContent ?? '');
    },
    null,
    { timeout: 60_000 },
  );
/** Nothing is under way, neither what was just asked for nor a run, and all of it is painted. The button alone says "Continue" until a run that was
 * just asked for has begun. */
export const resting = (page) =>
  quiet(page, () => /Continue|Run again/.test(document.querySelector('.go').textContent));
/** A text of so many tokens is there and its run has ended, which is a moment later. */
export const complete = (page, n) => quiet(page, `document.querySelectorAll('.tok:not(.given)').length === ${n}`);
/**
 * Words of the panel "Next token" that were not drawn, those excluded by the sampler too.
 * @param {any} page
 */
export async function otherWords(page) {
  await quiet(page); // the panel of a token that was just chosen begins folded
  const folded = page.locator('.excluded button[aria-expanded="false"]');
  if (await folded.isVisible()) await folded.click();
  return page.locator('.bar:not(.on):visible button');
}

/**
 * Names of the files that the service worker has kept, once the engine and the models are among them and no more come.
 * @param {any} page
 * @returns {Promise<string[]>}
 */
export const kept = (page) =>
  page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    for (let i = 0, before = 0, still = 0; ; i++) {
      const list = (await (await caches.open('glassformer')).keys()).map((r) =>
        new URL(r.url).pathname.split('/').pop(),
      );
      still = list.length === before ? still + 1 : 0;
      before = list.length;
      const whole =
        list.some((n) => /^glassformer-train-.*\.wasm$/.test(n)) &&
        list.some((n) => /^glassformer-(?!train).*\.wasm$/.test(n)) &&
        list.some((n) => /\.gguf$/.test(n)) &&
        list.includes('model.safetensors') &&
        list.includes('');
      if (i === 600 || (whole && still >= 5)) return list;
      await new Promise((r) => setTimeout(r, 100));
    }
  });
