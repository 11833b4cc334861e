// built_page.js - the built page on a plain static host, under a sub-path, and visits to it in Chromium. Who imports
// this has both from the first test to the last.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { top } from './expected.js';
import { complete, openView } from './page_parts.js';
import { PATIENCE } from '../patience.js';
import { watchQuiet } from './quiet.js';

export const site = `${top}site`;

/** @type {Awaited<ReturnType<typeof serve>>} */
export let server;
/** @type {Awaited<ReturnType<typeof launch>>} */
export let browser;

before(async () => {
  assert.ok(existsSync(`${site}/index.html`), 'the page is not built: run ./build.sh page');
  server = await serve(site, { base: '/some/folder/', isolate: false, copies: false });
  browser = await launch({ shell: true });
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** Runs in a page before its scripts: the fold of the sampler was left open. */
export function unfold() {
  try {
    localStorage.setItem('sampling', 'open');
  } catch {
    // without storage it begins closed
  }
}

/**
 * How a visitor comes. `sampling`: the fold with seed, limit and pace is open, as a visitor left it. `view`: opened once
 * the text is there. `expects`: complaints of the console that are no finding. The service worker, which fetches every
 * file of the page, is blocked unless `serviceWorkers` is 'allow'. The rest: Playwright's options of a context.
 * @typedef {{hash?: string, width?: number, height?: number, sampling?: boolean, view?: string, expects?: RegExp,
 *   prepare?: (page: any) => Promise<any>} & Record<string, any>} How
 */

/**
 * A fresh visitor, and what the page asked for and complained of meanwhile.
 * @param {How} [how]
 */
export async function visit({
  hash = '',
  width = 1440,
  height = 900,
  sampling = true,
  view: _,
  expects = /^$/,
  prepare,
  ...how
} = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    reducedMotion: 'reduce',
    serviceWorkers: 'block',
    permissions: ['clipboard-read', 'clipboard-write'],
    ...how,
  });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const requests = [],
    complaints = [];
  const complain = (/** @type {string} */ text) => {
    if (!/^Service Worker registration blocked by Playwright/.test(text) && !expects.test(text)) complaints.push(text);
  };
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complain(message.text());
  });
  page.on('pageerror', (error) => complain(error.stack ?? error.message));
  await watchQuiet(page);
  if (sampling) await page.addInitScript(unfold);
  await prepare?.(page);
  await page.goto(server.url + hash);
  return { page, requests, complaints, close: () => context.close() };
}

/** Without an address of their own tests come to the larger story model. */
const LARGER = '#model=weights/stories.gguf';

/**
 * A fresh visitor, once the page is as its address says: the model is there, and the text is written.
 * @param {How | string} [how]  or the address's hash
 */
export async function open(how = {}) {
  const all = typeof how === 'string' ? { hash: how } : { hash: LARGER, ...how },
    { hash = '', view } = all;
  const visitor = await visit(all);
  await visitor.page.waitForSelector('.tok:visible, .strip .line span:visible');
  const written = /&written=(\d+)/.exec(hash);
  if (written && !/view=(?!write)/.test(hash)) await complete(visitor.page, Number(written[1]));
  if (view) await openView(visitor.page, view);
  return visitor;
}

/**
 * @typedef {(visitor: {page: any, requests: string[], complaints: string[]}, t: import('node:test').TestContext) =>
 *   Promise<any>} Check
 */
const testOf =
  (/** @type {(how: any) => ReturnType<typeof visit>} */ come) =>
  (/** @type {string} */ name, /** @type {How | string} */ how, /** @type {Check} */ check) =>
    test(name, async (t) => {
      const { close, ...visitor } = await come(how);
      try {
        await check(visitor, t);
        assert.deepEqual(visitor.complaints, []);
      } finally {
        await close();
      }
    });
/** A test with a page that is ready, which must not complain. */
export const pageTest = testOf(open);

/**
 * Tests of one page, which the first of them opens: each begins in its view and with what the ones before it left.
 * @param {How | string} how
 */
export function samePage(how) {
  /** @type {Awaited<ReturnType<typeof open>>} */
  let visitor;
  return (/** @type {string} */ name, /** @type {Check} */ check) =>
    test(name, async (t) => {
      visitor ??= await open(how);
      if (typeof how !== 'string' && how.view) await openView(visitor.page, how.view);
      await check(visitor, t);
      assert.deepEqual(visitor.complaints, []);
    });
}
/** A test with a page that has only been requested, which must not complain. */
export const visitTest = testOf(visit);
