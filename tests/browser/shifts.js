// shifts.js - layout shifts of a page: what moves without the visitor having done anything

/** All shifts added up, at most: from the opening of a page to the end of its story. */
export const MOST = 0.02;

/** Runs in a page before its scripts: collects layout shifts that no input caused. */
export function watchShifts() {
  window.shifts = [];
  const name = (/** @type {any} */ node) => {
    const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    return element ? `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}` : 'removed';
  };
  new PerformanceObserver((list) => {
    for (const entry of /** @type {any[]} */ (list.getEntries()))
      if (!entry.hadRecentInput)
        window.shifts.push({ value: entry.value, of: entry.sources.map((source) => name(source.node)) });
  }).observe({ type: 'layout-shift', buffered: true });
}

/**
 * Their sum so far, and the four largest, for a message.
 * @param {import('playwright-core').Page} page  of `watchShifts`
 * @returns {Promise<{ sum: number, worst: string[] }>}
 */
export async function shiftsOf(page) {
  await page.waitForTimeout(200); // the observer is told once a frame
  const shifts = await page.evaluate(() => window.shifts);
  const worst = [...shifts].sort((a, b) => b.value - a.value).slice(0, 4);
  return {
    sum: shifts.reduce((/** @type {number} */ sum, { value }) => sum + value, 0),
    worst: worst.map(({ value, of }) => `${value.toFixed(4)} ${of.join(' ')}`),
  };
}
