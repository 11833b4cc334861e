// browser_use.js - memory and processor time of the processes of a browser's pages
import { existsSync, readFileSync } from 'node:fs';

/**
 * Whether a process shows the browser's own surface: Chromium loads the list below its address bar as a page for each
 * new window, which takes half a second of processor time and 50 MB.
 * @param {number} id
 */
function isBrowserUi(id) {
  try {
    return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('--top-chrome-webui');
  } catch {
    return false;
  }
}

/** The processes of pages, with the processor time of each in seconds. */
async function renderers(browser) {
  const cdp = await browser.newBrowserCDPSession();
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
  await cdp.detach();
  return processInfo.filter(({ type }) => type === 'renderer');
}

const resident = (id) => {
  try {
    return Number(readFileSync(`/proc/${id}/statm`, 'utf8').split(' ')[1]) * 4096;
  } catch {
    return 0;
  }
};

/**
 * Memory of the pages' processes in MB (Linux only, otherwise null), and processor time in ms by process.
 * @param {import('playwright-core').Browser} browser
 */
export async function rendererUse(browser) {
  const pages = (await renderers(browser)).filter(({ id }) => !isBrowserUi(id));
  return {
    memory: existsSync('/proc/self/statm') ? pages.reduce((total, { id }) => total + resident(id), 0) / 1e6 : null,
    cpu: new Map(pages.map(({ id, cpuTime }) => [id, cpuTime * 1e3])),
  };
}

/** Processor time of the pages between two results of rendererUse, ms. */
export const cpuBetween = (before, after) =>
  [...after.cpu].reduce((total, [id, ms]) => total + ms - (before.cpu.get(id) ?? 0), 0);

const STEP_MS = 100;
/** Steps without processor time after which the browser counts as idle, and most steps that are waited. */
const STILL = 3;
const MOST = 100;

/**
 * Waits until no process of a page computes: a new window starts the process of its own surface and a spare one, which
 * would compete with the page.
 * @param {import('playwright-core').Browser} browser
 */
export async function untilIdle(browser) {
  let last = -1;
  for (let still = 0, step = 0; still < STILL && step < MOST; step++) {
    const total = (await renderers(browser)).reduce((sum, { cpuTime }) => sum + cpuTime, 0);
    still = total - last < 0.011 ? still + 1 : 0; // Linux counts in steps of 10 ms
    last = total;
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
}
