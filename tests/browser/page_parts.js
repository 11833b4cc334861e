// page_parts.js - parts of the built page by the names that tests use: reading them, waiting for them, operating them
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { PATIENCE, until } from '../patience.js';
import { quiet } from './quiet.js';

/** @typedef {import('playwright-core').Page} Page */

const axe = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
/** The address of a page with the small story model, which writes nothing yet. */
export const STORY = '#model=weights/stories-1m.gguf&prompt=Once upon a time&pace=fast';
export const STORIES = 'weights/stories-1m.gguf';
/** A text of 20 tokens in the view Inside. @param {string} [more] of the address @param {object} [how]  as of pageTest */
export const insideStory = (more = '', how = {}) => ({
  hash: `#model=${STORIES}&prompt=Once upon a time&seed=3&written=20${more}`,
  view: 'inside',
  ...how,
});

/** A small model, to be made on the page. */
export const SMALL = {
  ...{ kind: 'decoder', vocabSize: 256, dModel: 32, nLayers: 2, nHeads: 2, dFf: 64, contextLength: 64 },
  ...{ norm: 'rmsnorm', ffn: 'swiglu', position: 'rope' },
};
/** Part of an address: a model with random weights from this seed. @param {object} config @param {number} seed */
export const made = (config, seed) => `made=${encodeURIComponent(JSON.stringify({ ...config, seed }))}`;

// ---- reading

/** Ids of the text's tokens. @param {Page} page @param {string} [only]  e.g. `.given` @returns {Promise<number[]>} */
export const ids = (page, only = '') =>
  page.locator(`.tok${only}`).evaluateAll((list) => list.map((t) => Number(t.dataset.id)));
/** Number of tokens that were written, the prompt's not counted. @param {Page} page */
export const written = (page) => page.locator('.tok:not(.given)').count();
/** What was written. @param {Page} page @returns {Promise<string>} */
export const writtenText = (page) =>
  page
    .locator('.tok:not(.given)')
    .allTextContents()
    .then((list) => list.join(''));
/** The cells of a table as their texts, a list for each row. @param {Page} page @param {string} rows */
export const cells = (page, rows) =>
  page
    .locator(rows)
    .evaluateAll((list) =>
      list.map((row) => [...row.cells].map((cell) => cell.textContent.replace(/\s+/g, ' ').trim())),
    );

/** A number as the page writes it: −0.5, 12 %, 3 × 10⁻⁴, 1,234. @param {string} text */
export const read = (text) =>
  parseFloat(
    text
      .replaceAll(',', '')
      .replace('−', '-')
      .replace(' %', 'e-2')
      .replace(
        / × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/,
        (_, power) => `e${power.replace('⁻', '-').replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, (c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(c))}`,
      ),
  );

// ---- waiting

/** The text of an element matches. @param {Page} page @param {string} selector @param {RegExp} pattern */
export const says = (page, selector, pattern) =>
  page.waitForFunction(
    ([selector, source]) => new RegExp(source).test(document.querySelector(selector)?.textContent ?? ''),
    [selector, pattern.source],
  );
/** There are so many elements. @param {Page} page @param {string} selector @param {number} n */
export const counts = (page, selector, n) =>
  page.waitForFunction(([selector, n]) => document.querySelectorAll(selector).length === n, [selector, n]);
/** There are at least so many elements. @param {Page} page @param {string} selector @param {number} n */
export const atLeast = (page, selector, n) =>
  page.waitForFunction(([selector, n]) => document.querySelectorAll(selector).length >= n, [selector, n]);
/** The tokens of the text are these. @param {Page} page @param {number[]} want */
export const hasIds = (page, want) => shows(page, async () => (await ids(page)).join(), want.join());
/** Every one of these is in the address. @param {Page} page @param {...string} parts */
export const inAddress = (page, ...parts) =>
  page.waitForFunction((parts) => parts.every((part) => location.hash.includes(part)), parts);

/**
 * What is read becomes this; the page paints when it finds time.
 * @template T
 * @param {Page} page @param {() => Promise<T>} get @param {T} want @param {string} [what]
 */
export async function shows(page, get, want, what) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const last = await get();
    if (last === want) return;
    if (Date.now() > end) assert.equal(last, want, what);
    await page.waitForTimeout(50);
  }
}

/** The first model is there. @param {Page} page */
export const settled = (page) => says(page, '.pill', /^stories-1M/);
/**
 * Nothing is under way, neither what was just asked for nor a run, and all of it is painted. The button alone says
 * "Continue" until a run that was just asked for has begun.
 * @param {Page} page
 */
export const resting = (page) =>
  quiet(page, () => /Continue|Run again/.test(document.querySelector('.go').textContent));
/** A text of so many tokens is there and its run has ended, which is a moment later. @param {Page} page @param {number} n */
export const complete = (page, n) => quiet(page, `document.querySelectorAll('.tok:not(.given)').length === ${n}`);
/** Opens the panel "Next token" over the end of the machine. @param {Page} page */
export async function openCandidates(page) {
  if (!(await page.locator('.next:visible').count()))
    await page.locator('.anatomy-svg.brief .stage[data-part="logits"]').click();
  await page.locator('.next').waitFor();
}
/** The next token's probabilities are exact, and its own is marked. @param {Page} page */
export const distribution = async (page) => {
  await openCandidates(page);
  await page.waitForSelector('.bar.on');
  await says(page, '#h-next', /entropy/);
};
/** A sentence says what went wrong. @param {Page} page */
export const refused = (page) => page.locator('.error [role="alert"]').waitFor();

// ---- operating

/** @param {Page} page @param {string} id */
export async function openView(page, id) {
  const view = page.locator(`#view-${id}:not([hidden])`);
  if (!(await view.count())) await page.locator(`[data-opens="${id}"]`).click();
  await view.waitFor({ state: 'attached' });
  await counts(page, '[data-fetching]', 0);
}

/** Opens the textbook at its first page. @param {Page} page */
export async function openTextbook(page) {
  await openView(page, 'learn');
  await page.locator('.contents button', { hasText: 'Token' }).first().press('Enter');
  await page.waitForSelector('.textbook .primary');
}

/** Texts are written at full speed, so many tokens. @param {Page} page @param {number} tokens */
export async function fast(page, tokens) {
  await page.locator('#pace').selectOption('fast');
  await page.locator('#max-tokens').fill(String(tokens));
  await page.locator('#max-tokens').press('Tab');
}
/** Write on to the end. @param {Page} page */
export async function run(page) {
  await page.locator('.go').press('Enter');
  await resting(page);
}
/** Type a prompt; it will run at full speed. @param {Page} page @param {string} prompt */
export async function prepare(page, prompt, { tokens = 40, seed = 7 } = {}) {
  await fast(page, tokens);
  await page.locator('#seed').fill(String(seed));
  await page.locator('#seed').press('Tab');
  await page.getByLabel('Prompt', { exact: true }).fill(prompt);
}
/** Type a prompt and run it to its end at full speed. @param {Page} page @param {string} prompt */
export async function runPrompt(page, prompt, how = {}) {
  await prepare(page, prompt, how);
  await page.getByLabel('Prompt', { exact: true }).press('Enter');
  await resting(page);
}
/** @param {Page} page */
export const stop = (page) => page.getByRole('button', { name: 'Stop', exact: true }).first().click();

/** Words of the panel "Next token" that were not drawn, those excluded by the sampler too. @param {Page} page */
export async function otherWords(page) {
  await openCandidates(page);
  await quiet(page);
  return page.locator('.bar:not(.on):visible button');
}
/** Choose the likeliest other token after this one of the text, and write on. @param {Page} page @param {any} token */
export async function another(page, token) {
  await token.click();
  await distribution(page);
  const n = await page.locator('.branches li').count();
  const other = (await otherWords(page)).first(),
    id = Number(await other.getAttribute('data-id'));
  await other.click();
  await atLeast(page, '.branches li', n + 1);
  await resting(page);
  return id;
}

/** Point at a drawn part of the anatomy, and press a button of its card. @param {Page} page @param {string} selector @param {string} [button] */
export async function point(page, selector, button) {
  await page.locator(selector).first().hover({ force: true });
  await page.locator('.part-card').waitFor();
  if (button) await page.locator('.part-card').getByRole('button', { name: button, exact: true }).click();
}

/** Pick one of the shipped models in the dialog. @param {Page} page @param {string} name */
export async function choose(page, name) {
  await page.locator('.pill:visible').click();
  await page.locator('dialog.models').getByRole('button', { name, exact: true }).click();
  await says(page, '.pill', new RegExp(`^${name} ·`));
}
/**
 * Make a model with random weights from a preset of the view "Experiment".
 * @param {Page} page @param {string} preset @param {string} [kind]
 */
export async function makeRandom(page, preset, kind) {
  await openView(page, 'experiment');
  await page.locator('#preset').selectOption(preset);
  if (kind) await page.locator('#build-kind').selectOption(kind);
  await page.getByRole('button', { name: 'Make it with random weights' }).click();
  await says(page, '.pill', /random weights/);
  await page.waitForSelector('.tok', { state: 'attached' });
}
/** Offer a file as a model. @param {Page} page @param {string} name @param {string | Buffer} content */
export const offer = (page, name, content) =>
  page
    .locator('#model-file')
    .setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });

/** Opens the menu of links, programs and files. @param {Page} page */
export async function openShare(page) {
  if (await page.locator('#share:popover-open').count()) return;
  await page.locator('[data-role="share"]').press('Enter');
  await page.locator('#share [data-role="present"]').waitFor();
}
const closeShare = (/** @type {Page} */ page) =>
  page.evaluate(() => document.querySelector('#share:popover-open')?.hidePopover());

/** What a button copies, which says so for a moment. @param {Page} page @param {string} name @returns {Promise<string>} */
export async function copied(page, name) {
  if (name === 'Copy link' || name.startsWith('Copy as')) await openShare(page);
  const button = page.getByRole('button', { name, exact: true });
  const labels = await button.evaluateHandle((b) => {
    const seen = [];
    new MutationObserver(() => seen.push(b.textContent)).observe(b, {
      subtree: true,
      childList: true,
      characterData: true,
    });
    return seen;
  });
  await button.click();
  await until(async () => (await labels.jsonValue()).includes('Copied'), 'the button says Copied');
  await closeShare(page);
  return page.evaluate(() => navigator.clipboard.readText());
}
/** The text as the page saves it. @param {Page} page @returns {Promise<any>} */
export async function saved(page) {
  await openShare(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('#share').getByRole('button', { name: 'Save as JSON' }).click(),
  ]);
  await closeShare(page);
  return JSON.parse(readFileSync(await download.path(), 'utf8'));
}

/**
 * axe-core finds nothing in what is shown, and nothing lies beyond the right edge.
 * @param {Page} page @param {string} what  for the message @param {string} [where]
 * @param {string[]} [rules]  only these, since other tests check the same elements by all
 */
export async function accessible(page, what, where, rules) {
  await quiet(page);
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const violations = await page.evaluate(
    async ([where, runOnly]) =>
      // axe-core describes every element that passes, too, unless it is told not to
      (await window.axe.run(where ?? document, { resultTypes: ['violations'], ...(runOnly && { runOnly }) }))
        .violations,
    [where, rules],
  );
  assert.deepEqual(
    violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join('; ')}`),
    [],
    what,
  );
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(over <= 0, `${what}: the page is ${over} px too wide`);
}

/**
 * Names of the files that the service worker has kept, once all code of the page is among them, of which some comes last.
 * @param {Page} page
 * @returns {Promise<string[]>}
 */
export const kept = (page) =>
  page.evaluate(
    async (code) => {
      await navigator.serviceWorker.ready;
      for (let i = 0; ; i++) {
        const own = (await caches.keys()).find((name) => name.startsWith('glassformer-page-'));
        const list = (own ? await (await caches.open(own)).keys() : []).map((r) =>
          new URL(r.url).pathname.split('/').pop(),
        );
        if (i === 2400 || code.every((name) => list.includes(name))) return list;
        await new Promise((r) => setTimeout(r, 100));
      }
    },
    readdirSync(new URL('../../site/assets', import.meta.url)).filter((name) => /\.(?:js|css)$/.test(name)),
  );
