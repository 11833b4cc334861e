// built_page.js - serves the built page without special headers, under a sub-path, and opens it in Chromium. A test
// file that imports this has server and browser from its first test to its last.
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

/**
 * Open the page in a new browser context, and record its requests and its errors and warnings.
 * @param
 *   {{hash?: string, width?: number, height?: number, prepare?: (page: any) => Promise<void>} & Record<string, any>}
 *   [how] further options: those of Playwright for a context
 */
export async function visit({ hash = '', width = 1440, height = 900, prepare, ...how } = {}) {
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
  await prepare?.(page);
  await page.goto(server.url + hash);
  return { page, requests, complaints, close: () => context.close() };
}

/** Wait until the larger story model is loaded; no other model replaces it. */
export const settled = (page) =>
  page.waitForFunction(() => /^stories-5M/.test(document.querySelector('.pill').textContent), null, {
    timeout: 60_000,
  });
/**
 * Wait until nothing is pending or generating and everything is painted. The button's text is not enough: it still says
 * "Go on" between a click and the start of the generation.
 */
export const resting = (page) => quiet(page, () => /Go on|Run again/.test(document.querySelector('.go').textContent));
/** Wait until a text of n new tokens is complete and its generation has ended, which is a moment later. */
export const complete = (page, n) => quiet(page, `document.querySelectorAll('.tok:not(.given)').length === ${n}`);
