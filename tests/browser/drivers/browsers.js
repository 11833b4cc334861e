// browsers.js - one interface to Chromium, Firefox and WebKit, for tests that run in all three
//
// node tests/browser/drivers/browsers.js ENGINE prints why a browser engine cannot be used on this machine and exits with status 1;
// prints nothing where it can be used
import { fileURLToPath } from 'node:url';
import { launch as launchChromium, findChromium } from '../../../scripts/chromium.js';
import { PATIENCE, sleep } from '../../patience.js';
import { findFirefox, launchFirefox } from './firefox.js';
import { findWebKit, launchWebKit } from './webkit.js';

/** @typedef {'chromium' | 'firefox' | 'webkit'} Engine */
/**
 * One page. All pages of a browser share storage and caches. Each port of a server is a separate origin.
 * @typedef {object} Page
 * @property {<R>(work: (...args: any[]) => R | Promise<R>, ...args: any[]) => Promise<R>} evaluate runs the function's
 *   source in the page; arguments and result are JSON
 * @property {(width: number, height: number) => Promise<void>} resize     CSS pixels of the viewport
 * @property {() => Promise<Uint8Array>} screenshot                        PNG of the viewport
 * @property {() => Promise<string[]>} complaints errors and warnings of the console so far, and uncaught errors.
 *   WebKit's driver does not report them: there they are read from window.complaints, which
 *   tests/browser/engines/complaints.js fills when the server adds it to the page
 * @property {() => Promise<void>} close
 */
/**
 * @typedef {object} Browser
 * @property {string} version
 * @property {(url: string, options?: {width?: number, height?: number}) => Promise<Page>} open  1440 x 900 by default
 * @property {() => Promise<void>} close  ends all processes of the browser
 */

/** All engines, or those that $ENGINES names. @type {Engine[]} */
export const ENGINES = /** @type {any} */ ((process.env.ENGINES || 'chromium firefox webkit').split(/[\s,]+/));

/**
 * Why an engine cannot be used here, in one sentence, or null.
 * @param {Engine} engine
 * @returns {string | null}
 */
export function whyMissing(engine) {
  if (engine === 'chromium')
    return findChromium() ? null : 'Chromium is missing: run ./build.sh setup, or set CHROMIUM to its path.';
  if (engine === 'firefox')
    return findFirefox() ? null : 'Firefox is missing: apt-get install firefox-esr, or set FIREFOX to its path.';
  return findWebKit().missing;
}

/**
 * @param {Engine} engine
 * @param {{sharedMemory?: boolean}} [options] sharedMemory: false leaves SharedArrayBuffer undefined in WebKit, as by
 *   default
 * @returns {Promise<Browser>}
 */
export async function openBrowser(engine, options = {}) {
  const missing = whyMissing(engine);
  if (missing) throw new Error(missing);
  return engine === 'chromium' ? chromium() : engine === 'firefox' ? firefox() : launchWebKit(options);
}

/**
 * Errors and warnings of a page of playwright or puppeteer, whose events have the same names.
 * @param {any} page
 * @returns {string[]}
 */
function listen(page) {
  /** @type {string[]} */
  const complaints = [];
  page.on('console', (/** @type {any} */ message) => {
    if (['error', 'warn', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (/** @type {any} */ error) => complaints.push(error?.stack ?? String(error)));
  return complaints;
}

/** @returns {Promise<Browser>} */
async function chromium() {
  const browser = await launchChromium({ shell: true });
  const context = await browser.newContext({ viewport: null });
  context.setDefaultTimeout(PATIENCE);
  return {
    version: `Chromium ${browser.version()}`,
    async open(url, { width = 1440, height = 900 } = {}) {
      const page = await context.newPage();
      const complaints = listen(page);
      await page.setViewportSize({ width, height });
      await page.goto(url);
      return {
        evaluate: (work, ...args) =>
          page.evaluate(/** @type {any} */ (async ([source, list]) => (0, eval)(`(${source})`)(...list)), [
            String(work),
            args,
          ]),
        resize: (w, h) => page.setViewportSize({ width: w, height: h }),
        screenshot: () => page.screenshot(),
        complaints: async () => [...complaints],
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}

/** @returns {Promise<Browser>} */
async function firefox() {
  const browser = await launchFirefox();
  return {
    version: (await browser.version()).replace('firefox/', 'Firefox '),
    async open(url, { width = 1440, height = 900 } = {}) {
      const page = await browser.newPage();
      page.setDefaultTimeout(PATIENCE);
      const complaints = listen(page);
      await page.setViewport({ width, height });
      await page.goto(url);
      return {
        evaluate: (work, ...args) => page.evaluate(work, ...args),
        resize: (w, h) => page.setViewport({ width: w, height: h }),
        screenshot: () => page.screenshot(),
        complaints: async () => [...complaints],
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}

/** Address, text and requests of a page, for the message of a test that failed. Runs in the page. */
function stateOfPage() {
  const texts = (/** @type {any} */ root) =>
    [...root.querySelectorAll('*')].flatMap(({ shadowRoot }) => (shadowRoot ? [shadowRoot.textContent] : []));
  const requests = performance.getEntriesByType('resource').map((entry) => {
    const { name, startTime, responseEnd } = /** @type {PerformanceResourceTiming} */ (entry);
    return `${name} ${Math.round(startTime)} to ${Math.round(responseEnd)} ms`;
  });
  const text = [document.body?.innerText, ...texts(document)].join(' | ').slice(0, 1000);
  return [`${location.href} is ${document.readyState}: ${text}`, ...requests].join('\n');
}

/**
 * Wait in a page until a condition holds. A condition that throws does not hold yet: an element may not exist yet.
 * @param {Page} page
 * @param {(...args: any[]) => any} condition
 * @param {any[]} args
 * @returns {Promise<any>} the value of the condition
 */
export async function until(page, condition, args = []) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    let cause;
    const value = await page.evaluate(condition, ...args).catch((error) => {
      cause = error;
    });
    if (value) return value;
    if (Date.now() > end) {
      const where = await page.evaluate(stateOfPage).catch(String);
      throw new Error(`this did not become true within ${PATIENCE / 1000} s: ${condition}\n${where}`, { cause });
    }
    await sleep(50);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const engine = /** @type {Engine} */ (process.argv[2]);
  const missing = ENGINES.includes(engine)
    ? whyMissing(engine)
    : `There is no engine "${engine}"; the engines are: ${ENGINES.join(' ')}.`;
  if (missing) {
    console.log(missing);
    process.exitCode = 1;
  }
}
