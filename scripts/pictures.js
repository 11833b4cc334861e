// pictures.js - takes pictures of the built page into build/pictures: each view, or those that are named, light and
// dark, from a phone to a desktop. docs/page.png, the README's still picture, is write-1440-light.png.
//
//   ./build.sh page && node scripts/pictures.js [VIEW ...]
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { VIEWS } from '../web/page/state/facts/views.js';
import { launch } from './chromium.js';
import { serve } from './serve.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const folder = `${top}build/pictures`;
const named = process.argv.slice(2);
const WIDTHS = [1440, 1024, 820, 390];
const HASH = '#model=weights/stories.gguf&prompt=Once+upon+a+time,+a+little+fox+found+a&written=58&head=2.3';

const server = await serve(`${top}site`, { isolate: false });
const browser = await launch();
mkdirSync(folder, { recursive: true });
for (const width of WIDTHS)
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const height = width === 390 ? 844 : 900;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    await page.goto(server.url + HASH);
    await page.waitForFunction(() => document.querySelectorAll('.tok:not(.given)').length === 58, null, {
      timeout: 120_000,
    });
    for (const { id } of VIEWS.filter((view) => !named.length || named.includes(view.id))) {
      await page.locator(`[data-opens="${id}"]`).click();
      await page.locator(`#view-${id}`).waitFor();
      await page.waitForTimeout(2500); // measured numbers arrive
      await page.screenshot({ path: `${folder}/${id}-${width}-${colorScheme}.png` });
    }
    await context.close();
  }
await browser.close();
await server.close();
