// slow_line.js - measures the built page on a slow line: when it paints, when the first story begins, and what was
// requested until then
//
// Chromium emulates the line (CDP, Network.emulateNetworkConditions): every request of the page and its workers waits for
// the latency, and together they share the rate. Each visit is a fresh browser context without caches. The page is the
// build in site/ (`./build.sh page`), served by scripts/serve.js.
import { join } from 'node:path';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';

/** A line of the third mobile generation, as Lighthouse and WebPageTest define it. */
const LINE = { megabits: 1.6, latency: 150 };
/** Times by which the page's main thread is slowed down: not at all, and as Lighthouse does to stand for a phone. */
const SLOWDOWNS = [1, 4];
const TIMEOUT = 120_000;

/**
 * @typedef {object} Request
 * @property {string} name  path below the page's address
 * @property {number} start  ms since the navigation began
 * @property {number | null} end  null where it had not ended at the first token
 * @property {number} bytes  received until then, compressed as sent; without headers
 *
 * @typedef {object} Visit
 * @property {number} paint  first contentful paint, ms since the navigation began
 * @property {number} prompt  the prompt's tokens are on the page
 * @property {number} story  the first generated token is on the page
 * @property {Request[]} requests  begun before the first token, in order
 */

/** Records in the page when the first token of the prompt, and the first generated one, appear. */
function watchTokens() {
  const seen = /** @type {Record<string, number>} */ ({});
  /** @type {any} */ (globalThis).firstTokens = seen;
  new MutationObserver(() => {
    if (document.querySelector('.tok')) seen.prompt ??= performance.now();
    if (document.querySelector('.tok:not(.given)')) seen.story ??= performance.now();
  }).observe(document, { subtree: true, childList: true });
}

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {{megabits: number, latency: number}} line  megabits a second downwards; ms
 * @param {number} slowdown
 * @returns {Promise<Visit>}
 */
async function visit(browser, url, { megabits, latency }, slowdown) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    await cdp.send('Network.enable');
    await cdp.send('Network.emulateNetworkConditions', {
      offline: false,
      latency,
      downloadThroughput: (megabits * 1e6) / 8,
      uploadThroughput: (megabits * 1e6) / 8,
    });
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
    await page.addInitScript(watchTokens);
    /** @type {Map<import('playwright-core').Request, {start: number, end: number | null}>} */
    const requests = new Map();
    page.on('request', (request) => requests.set(request, { start: performance.now(), end: null }));
    page.on('requestfinished', (request) => {
      const times = requests.get(request);
      if (times) times.end = performance.now();
    });
    const began = performance.now();
    await page.goto(url, { waitUntil: 'commit' });
    await page.waitForFunction(() => /** @type {any} */ (globalThis).firstTokens?.story, null, { timeout: TIMEOUT });
    const times = await page.evaluate(() => ({
      .../** @type {any} */ (globalThis).firstTokens,
      paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
    }));
    const rows = [];
    for (const [request, { start, end }] of requests) {
      if (!request.url().startsWith(url) || start - began > times.story) continue;
      const done = end !== null && end - began <= times.story;
      const response = done ? await request.response() : null;
      rows.push({
        name: request.url().slice(url.length) || './',
        start: start - began,
        end: done ? end - began : null,
        bytes: Number((await response?.allHeaders())?.['content-length'] ?? 0),
      });
    }
    return { ...times, requests: rows };
  } finally {
    await context.close();
  }
}

/**
 * Visit the built page and print the medians, and the requests of the visit with the median story.
 * @param {string} top  of the project, with a slash at its end
 * @param {number} repeats  visits
 */
export async function measureSlowLine(top, repeats) {
  const server = await serve(join(top, 'site'));
  const browser = await launch();
  try {
    /** @type {Visit[][]} */
    const visits = SLOWDOWNS.map(() => []);
    for (let i = 0; i < repeats; i++)
      for (const [k, slowdown] of SLOWDOWNS.entries()) visits[k].push(await visit(browser, server.url, LINE, slowdown));
    for (const list of visits) list.sort((a, b) => a.story - b.story);
    const middle = visits[0][repeats >> 1];
    const seconds = (/** @type {number} */ ms) => (ms / 1e3).toFixed(2);
    const row = (/** @type {'paint'|'prompt'|'story'} */ name) =>
      visits.map((list) => seconds(list.map((each) => each[name]).sort((a, b) => a - b)[repeats >> 1])).join(' | ');
    console.log(`${LINE.megabits} Mbit/s, ${LINE.latency} ms; medians of ${repeats} visits without caches\n`);
    console.log(
      `| s after the navigation began | ${SLOWDOWNS.map((x) => `${x === 1 ? 'as it is' : `main thread ${x} x slower`}`).join(' | ')} |`,
    );
    console.log(`|---|${'---:|'.repeat(SLOWDOWNS.length)}`);
    console.log(`| first contentful paint | ${row('paint')} |`);
    console.log(`| prompt on the page | ${row('prompt')} |`);
    console.log(`| first token of the story | ${row('story')} |`);
    for (const [k, list] of visits.entries())
      console.log(`\nall visits, ${SLOWDOWNS[k]} x: ${list.map((each) => seconds(each.story)).join(', ')}`);
    console.log();
    console.log('| request | from | to | bytes sent |\n|---|---:|---:|---:|');
    for (const { name, start, end, bytes } of middle.requests)
      console.log(
        `| ${name} | ${seconds(start)} | ${end === null ? '' : seconds(end)} | ${end === null ? '' : bytes} |`,
      );
    const all = middle.requests.reduce((sum, each) => sum + each.bytes, 0);
    console.log(`| together | | | ${all} |`);
  } finally {
    await browser.close();
    await server.close();
  }
}
