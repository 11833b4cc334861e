// drawing.js - measures how fast a text is written while the page draws it, as a share of the speed in an empty page
//
// Two shares: of the engine's speed, by the times of its steps (`step.ms`, as the page's header shows it), and of the
// whole text's, from the call until its last token is there. Both pages run in one browser and in turn, so that a slow
// minute of the machine affects both. The page is the build in site/ (`./build.sh page`).
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { serveLibrary } from '../browser/engines/fixture.js';
import { quiet, watchQuiet } from '../browser/quiet.js';

const PROMPT = 'Once upon a time',
  MOST = 400; // tokens, past the end of the story

/**
 * @param {string} top  of the project, with a slash at its end
 * @param {number} rounds  each a text in the empty page and one in the page
 */
export async function measureDrawing(top, rounds) {
  const [bareSite, site] = [await serveLibrary(false), await serve(`${top}site`, { isolate: false })];
  const browser = await launch();
  try {
    const bare = await browser.newPage();
    await bare.goto(bareSite.url);
    await bare.waitForFunction(() => window.library);
    await bare.evaluate(async (url) => {
      window.model = await window.library.load(url);
    }, `${bareSite.url}weights/stories.gguf`);
    const plain = () =>
      bare.evaluate(
        async ([prompt, maxTokens]) => {
          const start = performance.now();
          let steps = 0;
          for await (const { ms } of window.model.generate(prompt, {
            maxTokens,
            seed: 1,
            temperature: 0.8,
            topK: 40,
            topP: 0.95,
            ignoreEos: true,
          }))
            steps += ms;
          return { steps, whole: performance.now() - start };
        },
        [PROMPT, MOST],
      );
    await plain();

    const page = await (
      await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' })
    ).newPage();
    await watchQuiet(page);
    await page.goto(
      `${site.url}#model=weights/stories.gguf&pace=fast&seed=1&past=1&prompt=${encodeURIComponent(PROMPT)}&written=1`,
    );
    const ended = () =>
      quiet(
        page,
        () =>
          performance.getEntriesByName('generation').length > 0 &&
          /Continue|Run again/.test(document.querySelector('.go').textContent),
      );
    const drawn = async () => {
      await page.bringToFront();
      await page.waitForTimeout(500);
      await page.evaluate(() => performance.clearMeasures('generation'));
      await page.evaluate(() => document.querySelector('form.prompt').requestSubmit());
      await ended();
      return page.evaluate(() => ({
        steps: performance.getEntriesByName('generation').at(-1).detail.engineMs,
        whole: performance.getEntriesByName('generation').at(-1).duration,
        n: document.querySelectorAll('.tok:not(.given)').length,
      }));
    };
    await ended();
    await page.locator('button[aria-controls="sampling"]').click();
    await page.locator('#max-tokens').fill(String(MOST));
    await page.locator('#max-tokens').blur();
    await drawn();
    /** @type {{ engine: number[], text: number[] }} */
    const shares = { engine: [], text: [] };
    for (let i = 0; i < rounds; i++) {
      await bare.bringToFront();
      const alone = await plain(),
        { steps, whole, n } = await drawn();
      if (n !== MOST) throw new Error(`the page wrote ${n} tokens, expected ${MOST}`);
      shares.engine.push(alone.steps / steps);
      shares.text.push(alone.whole / whole);
    }
    return { tokens: MOST, ...shares };
  } finally {
    await browser.close();
    await Promise.all([bareSite.close(), site.close()]);
  }
}
