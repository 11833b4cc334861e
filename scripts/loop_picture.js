// loop_picture.js - makes docs/page.webp, the moving picture of the README: the built page writes words, then a head and
// a token are chosen. Each frame is a picture of the real page; img2webp (Debian: webp) joins them.
//
//   ./build.sh page && node scripts/loop_picture.js
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { launch } from './chromium.js';
import { serve } from './serve.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const folder = `${top}build/loop`;
const WRITTEN = 47;
const STEPS = 12;
const HASH = `#model=weights/stories.gguf&prompt=Once+upon+a+time,+a+little+fox+found+a&written=${WRITTEN}&head=2.3`;
/** A mouse pointer, which a picture of a page does not have. */
const POINTER =
  '<svg width="26" height="26" viewBox="0 0 26 26"><path d="M4 2v19l5-4 3 7 4-2-3-7h7z" fill="#000" stroke="#fff" stroke-width="1.6"/></svg>';

const server = await serve(`${top}site`, { isolate: false });
const browser = await launch();
const viewport = { width: 1440, height: 900 };
const page = await (await browser.newContext({ viewport, colorScheme: 'light', reducedMotion: 'reduce' })).newPage();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
/** Options of img2webp: a duration and a file for each frame. @type {string[]} */
const frames = [];
const frame = async (/** @type {number} */ ms) => {
  const path = `${folder}/${String(frames.length).padStart(3, '0')}.png`;
  await page.screenshot({ path });
  frames.push('-d', String(ms), path);
};
const written = (/** @type {number} */ n) =>
  page.waitForFunction((count) => document.querySelectorAll('.tok:not(.given)').length === count, n, {
    timeout: 120_000,
  });
let at = { x: 900, y: 620 };
/** Move the pointer to a place in some frames, and press there. */
async function press(/** @type {import('playwright-core').Locator} */ target, /** @type {number} */ ms) {
  const box = await target.boundingBox();
  if (!box) throw new Error('the target is not on the page');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const from = at;
  for (let i = 1; i <= 8; i++) {
    const t = (1 - Math.cos((Math.PI * i) / 8)) / 2;
    at = { x: from.x + (x - from.x) * t, y: from.y + (y - from.y) * t };
    await page.evaluate(
      ([html, left, top]) => {
        const own = document.querySelector('#pointer') ?? document.body.appendChild(document.createElement('div'));
        own.id = 'pointer';
        own.innerHTML = String(html);
        const style = { position: 'fixed', zIndex: '999', pointerEvents: 'none', left: `${left}px`, top: `${top}px` };
        if (own instanceof HTMLElement) Object.assign(own.style, style); // the page's policy forbids a style attribute
      },
      [POINTER, at.x - 4, at.y - 2],
    );
    await frame(60);
  }
  await target.click();
  await page.mouse.move(10, 10); // no hint of what is under the mouse
  await page.waitForTimeout(1200);
  await frame(ms);
}

await page.goto(server.url + HASH);
await written(WRITTEN);
await page.waitForTimeout(2500); // measured numbers arrive
await frame(500);
for (let i = 1; i <= STEPS; i++) {
  await page.getByRole('button', { name: 'Step', exact: true }).click();
  await written(WRITTEN + i);
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
  await page.waitForTimeout(900);
  await frame(290);
}
await press(page.locator('.tile[aria-label="layer 4, head 3"]'), 1300);
await press(page.locator('.tok', { hasText: 'rock' }).last(), 1700);
await browser.close();
await server.close();
execFileSync('img2webp', ['-loop', '0', '-mixed', '-q', '88', '-m', '6', ...frames, '-o', `${top}docs/page.webp`]);
