// first_token.js - the parts of the time to the first token in a cold page: which begin when, which wait for which
//
// The measured page (page.js) is opened in a fresh browser context. A script that runs before it records when it starts
// its worker and compiles the binary, and each message that the worker posts; the browser records requests.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { untilIdle } from './browser_use.js';
import { buildPage, html } from './build_page.js';

/**
 * Milliseconds since the navigation began. Names of parts: see ROWS.
 * @typedef {Record<string, number>} Times
 */

/** Each part: its name in the table, and the times at which it begins and ends. @type {[string, string, string][]} */
const ROWS = [
  ['page and its script: request, parse', 'navigation', 'load'],
  ['binary: request', 'wasmStart', 'wasmEnd'],
  ['binary: compilation after its last byte', 'wasmEnd', 'compiled'],
  ['worker: its script, first answer', 'load', 'ready'],
  ['model file: request', 'modelStart', 'modelEnd'],
  ['worker: instance, file read, weights put in panels', 'ready', 'opened'],
  ['of these after the last byte of the file', 'modelEnd', 'opened'],
  ['prefill of 16 tokens, first token', 'opened', 'token'],
  ['all', 'navigation', 'token'],
];

/** Runs in the page before its scripts: records the times that no other interface gives. */
function record() {
  const times = /** @type {Times} */ ({ navigation: 0 });
  /** @type {any} */ (globalThis).firstTokenTimes = times;
  const note = (/** @type {string} */ name) => {
    times[name] ??= performance.now();
  };
  const { Worker, WebAssembly } = globalThis;
  globalThis.Worker = class extends Worker {
    /** @param {string | URL} url @param {WorkerOptions} [options] */
    constructor(url, options) {
      note('load');
      super(url, options);
      this.addEventListener('message', ({ data }) => {
        if (data?.ready) note('ready');
        else if (data?.value) note('opened');
        else if (data?.steps) note('token');
      });
    }
  };
  const compile = WebAssembly.compileStreaming;
  WebAssembly.compileStreaming = async (source) => {
    const module = await compile.call(WebAssembly, source);
    note('compiled');
    return module;
  };
}

/** Runs in the page after the first token: adds the times of requests. */
function addRequests() {
  const times = /** @type {any} */ (globalThis).firstTokenTimes;
  for (const { name, startTime, responseEnd } of performance.getEntriesByType('resource')) {
    const kind = /\.wasm$/.test(name) ? 'wasm' : /\.gguf$/.test(name) ? 'model' : null;
    if (kind) Object.assign(times, { [`${kind}Start`]: startTime, [`${kind}End`]: responseEnd });
  }
  return times;
}

/**
 * One visit.
 * @param {import('playwright-core').Browser} browser
 * @param {string} url    of the measured page
 * @param {string} empty  of a page without content
 * @param {object} job    for page.js
 * @returns {Promise<Times>}
 */
async function visit(browser, url, empty, job) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(empty);
    await untilIdle(browser);
    await page.addInitScript(record);
    await page.goto(`${url}#${encodeURIComponent(JSON.stringify(job))}`);
    await page.waitForFunction(() => /** @type {any} */ (globalThis).cold, null, { timeout: 300_000 });
    const { error } = await page.evaluate(() => /** @type {any} */ (globalThis).cold);
    if (error) throw new Error(error);
    return await page.evaluate(addRequests);
  } finally {
    await context.close();
  }
}

/**
 * Prints the parts of each model's first token, one thread: medians of the visits.
 * @param {Record<string, string>} libraries  by the name of a checkout, such as now, its dist/index.js
 * @param {string} models   folder of the model files
 * @param {{title: string, file: string}[]} list
 * @param {number} repeats  visits of each
 */
export async function measureFirstToken(libraries, models, list, repeats) {
  const site = mkdtempSync(join(tmpdir(), 'glassformer-first-token-'));
  const sides = Object.keys(libraries);
  for (const side of sides) await buildPage(join(site, side), libraries[side]);
  writeFileSync(join(site, 'empty.html'), html(''));
  const server = await serve(site, { also: { '/models/': models } });
  const browser = await launch();
  try {
    const columns = list.flatMap(({ title, file }) =>
      sides.map((side) => ({
        title: sides.length > 1 ? `${title}, ${side}` : title,
        job: { engine: 'glassformer', kvDtype: 'default', threads: 1, model: `/models/${file}` },
        side,
        visits: /** @type {Times[]} */ ([]),
      })),
    );
    for (let i = 0; i < repeats; i++)
      for (const { side, job, visits } of i % 2 ? columns.toReversed() : columns)
        visits.push(await visit(browser, `${server.url}${side}/`, `${server.url}empty.html`, job));
    printTable(columns);
  } finally {
    await browser.close();
    await server.close();
    rmSync(site, { recursive: true, force: true });
  }
}

/** @param {{title: string, visits: Times[]}[]} columns */
function printTable(columns) {
  const median = (/** @type {number[]} */ all) => all.sort((a, b) => a - b)[all.length >> 1].toFixed(0);
  console.log(`| ms (from, to), medians | ${columns.map(({ title }) => title).join(' | ')} |`);
  console.log(`|---|${'---:|'.repeat(columns.length)}`);
  for (const [name, from, to] of ROWS) {
    const cells = columns.map(({ visits }) => {
      const [begin, end] = [from, to].map((time) => median(visits.map((times) => times[time])));
      return `${median(visits.map((times) => times[to] - times[from]))} (${begin}, ${end})`;
    });
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}
