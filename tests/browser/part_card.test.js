// part_card.test.js - the built page in Chromium: whatever of the anatomy is pointed at has one card, with its value of
// this pass, the numbers that made it, the lines of the reference and a page of the textbook; by mouse, keys and finger
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pageTest, samePage } from './built_page.js';
import { opened, top } from './expected.js';
import { accessible, ids, inAddress, makeRandom, openView, point, read, says, shows, stop } from './page_parts.js';

const FILE = 'weights/stories-1m.gguf';
const TEXT = `#model=${FILE}&prompt=Once upon a time&seed=3&written=12&head=1.0`;
const INSIDE = { hash: TEXT, view: 'inside' };
const insideTest = samePage(INSIDE);
const model = await opened(FILE);
const { dHead, nHeads, dModel, dFf } = model.config;

const here = (page) => page.locator('.part-card [data-role="here"]').innerText();
const numbers = (text) => text.match(/-?\d+\.\d+/g).map(Number);

insideTest('arrow keys move over the parts, Enter leads into the card, Escape back', async ({ page }) => {
  const title = () => page.locator('.part-card h3').innerText();
  await page.locator('.anatomy [role="application"]').first().focus();
  await page.keyboard.press('ArrowRight');
  await page.locator('.part-card').waitFor();
  const seen = new Set([await title()]);
  for (let i = 0; i < 24; i++) {
    await page.keyboard.press('ArrowRight');
    seen.add(await title());
  }
  for (const word of [
    /embedding|residual stream/,
    /this token pays/,
    /weight|masked/,
    /attention output/,
    /feed-forward/,
    /probability/,
  ])
    assert.ok(
      [...seen].some((text) => word.test(text)),
      `${word} of ${[...seen].join(', ')}`,
    );
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.closest('.part-card'));
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.activeElement.matches('.anatomy [role="application"]'));
  assert.equal(await page.locator('.part-card').count(), 0);
});

insideTest('a strip, a dot, a bar and a norm say what they are and which value they have', async ({ page }) => {
  const all = await ids(page);
  const at = 'blocks.1.attn.hook_';
  const { captured, logits } = await model.forward(all, {
    capture: [`${at}q`, `${at}pattern`, 'blocks.1.ln1.hook_normalized'],
  });
  const first = all.length - 10; // nine lanes, the last is that of the selected token, which is the last but one
  await point(page, '.lane[data-lane="4"] [data-part="q"]');
  assert.match(await page.locator('.part-card').innerText(), /What this token looks for query, q[^]*q = W_q x/);
  assert.match(
    await page.locator('.part-card').innerText(),
    new RegExp(`${nHeads} heads × ${dHead} = ${nHeads * dHead}`),
  );
  await says(page, '.part-card [data-role="here"]', /\d\.\d/); // it may still be read
  const q = captured[`${at}q`].data.subarray((first + 4) * nHeads * dHead, (first + 4) * nHeads * dHead + dHead);
  numbers(await here(page))
    .slice(0, 4)
    .forEach((x, i) => assert.ok(Math.abs(x - q[i]) < 6e-3, `${x}, expected ${q[i]}`));
  await page.mouse.move(5, 5); // the card lies over the next part
  await page.locator('.part-card').waitFor({ state: 'detached' });
  await point(page, '.stack [data-lane="5"] [data-part="weight"][data-index="4"]');
  await says(page, '.part-card h3', /attention weight/);
  const pattern = captured[`${at}pattern`].data[(first + 5) * all.length + first + 4];
  assert.ok(Math.abs(read(await here(page)) - pattern) < 6e-4, `${await here(page)}, expected ${pattern}`);
  await point(page, '.lane[data-lane="2"] [data-part="norm1"]');
  await says(page, '.part-card [data-role="here"]', /largest/);
  const normed = captured['blocks.1.ln1.hook_normalized'].data.subarray((first + 2) * dModel, (first + 3) * dModel);
  assert.ok(Math.abs(numbers(await here(page))[0] - normed[0]) < 6e-3);
  await point(page, '.lane[data-lane="2"] [data-part="ffn"]');
  await says(page, '.part-card .stage-facts', new RegExp(`${dFf} neurons for each token`));
  await accessible(page, 'the card', '.part-card');
  await point(page, '.bar-hit');
  await says(page, '.part-card h3', /may follow/);
  const row = logits.data.subarray((all.length - 2) * logits.shape[1], (all.length - 1) * logits.shape[1]);
  const most = Math.max(...row);
  const p = 1 / row.reduce((sum, x) => sum + Math.exp(x - most), 0);
  assert.ok(Math.abs(read(await here(page)) - p) < 0.01, `${await here(page)}, expected ${p}`);
});

pageTest(
  'a finger shows the card with its first tap and opens the stage with the second',
  { ...INSIDE, width: 390, height: 844, hasTouch: true, isMobile: true },
  async ({ page }) => {
    const strip = page.locator('.lane[data-lane="1"] [data-part="ffn"]');
    await strip.tap();
    await says(page, '.part-card h3', /Neurons of this token/);
    assert.equal(await page.locator('.inspector').count(), 0);
    await accessible(page, 'the sheet', '.part-card');
    const sizes = await page.locator('.part-card button').evaluateAll((list) => list.map((b) => b.offsetHeight));
    assert.ok(Math.min(...sizes) >= 44, sizes.join());
    await strip.tap();
    await says(page, '.inspector h3', /SwiGLU/);
    await shows(page, () => page.locator('.part-card').count(), 0);
  },
);

pageTest(
  'the arithmetic of a head is stepped through, scrubbed and played, with the numbers of the pass',
  { ...INSIDE, hash: `${TEXT}&open=heads`, reducedMotion: 'no-preference' },
  async ({ page }) => {
    const words = () => page.locator('.play-words').innerText();
    await page.locator('.play table').waitFor();
    assert.match(await words(), /^Number 0 of the query times number 0 of the key/);
    await page.getByRole('button', { name: 'Next step' }).press('Enter');
    await says(page, '.play-words', /^Number 1 of the query/);
    await accessible(page, 'the steps', '.play');
    const all = await ids(page);
    const at = 'blocks.1.attn.hook_pattern';
    const { data } = (await model.forward(all, { capture: [at] })).captured[at];
    await page.locator('#play-step').press('End');
    await says(page, '.play-words', /added to the residual stream/);
    const weights = await page.locator('.play tbody tr td:nth-child(7)').allInnerTexts();
    const query = all.length - 2;
    const shown = weights.slice(1, -1).map(read); // without the sum of the earlier keys and the masked one
    shown.forEach((weight, i) => {
      const want = data[query * all.length + query - shown.length + 1 + i];
      assert.ok(/^</.test(weights[i + 1]) || Math.abs(weight - want) < 6e-3, `${weight}, expected ${want}`);
    });
    await page.locator('#play-speed').press('End');
    await page.locator('.play').getByRole('button', { name: 'Play' }).press('Enter');
    await page.locator('.play').getByRole('button', { name: 'Play' }).waitFor(); // at the end again
    await says(page, '.play-words', /added to the residual stream/);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await shows(page, () => page.locator('.play').getByRole('button', { name: 'Play' }).count(), 0);
  },
);

// The table showed the numbers of the text before under the new tokens, until the text rested.
pageTest(
  'values of another text are not shown while the text is written again',
  { ...INSIDE, hash: `${TEXT}&open=heads&at=3` },
  async ({ page }) => {
    await page.locator('.play table').waitFor();
    await page.evaluate(() => {
      const token = () => document.querySelector('#h-play').textContent;
      const before = token();
      [window.tokens, window.wrong] = [new Set(), []];
      const look = () => {
        if (token() !== before) window.tokens.add(token());
        if (token() !== before && document.querySelector('.play table')) window.wrong.push(token());
        requestAnimationFrame(look);
      };
      look();
    });
    await page.locator('.anatomy [data-part="next"] .bar-hit').nth(3).click({ force: true });
    await page.waitForFunction(() => window.tokens.size > 2);
    assert.deepEqual(await page.evaluate(() => window.wrong), []);
    await stop(page);
    await page.locator('.play table').waitFor();
  },
);

// The card looked for the token, which stopped all of the page.
pageTest('a card whose token is no longer there says nothing of it', TEXT, async ({ page }) => {
  await point(page, '.lane[data-lane="7"] [data-part="token"]', 'Code');
  await page.getByLabel('Prompt', { exact: true }).fill('Once');
  await shows(page, () => page.locator('.tok').count(), 2);
  await says(page, '.part-card [data-role="here"]', /writing pauses/);
  assert.equal(await page.locator('.part-card .hint').first().innerText(), '');
});

insideTest('a norm shows one vector on its way, an activation its curve with the neurons', async ({ page }) => {
  await page.locator('.stage', { hasText: 'RMSNorm' }).first().press('Enter');
  await says(page, '.play', /as it comes[^]*brought to one size/);
  await accessible(page, 'the norm', '.play');
  await page.locator('.stage', { hasText: 'SwiGLU' }).press('Enter');
  await says(page, '.play .hint', new RegExp(`of ${dFf} neurons are positive`));
  await page.locator('.play .curves circle').first().waitFor({ state: 'attached' });
  await accessible(page, 'the curve', '.play');
});

insideTest('the stage of q, k and v shows how positions turn them', async ({ page }) => {
  await page.locator('.stage:has(.word-q)').press('Enter');
  await says(page, '.positions', /Positions as rotations[^]*pair 0\s+1[^]*many positions away/);
  assert.equal(await page.locator('.positions .dials figure').count(), Math.min(8, dHead / 2));
  await accessible(page, 'the positions', '.positions');
});

// The heading named each token as it was written, over the turns of the token before.
pageTest(
  'positions keep their token while the text is written on',
  { ...INSIDE, hash: `${TEXT}&open=qkv` },
  async ({ page }) => {
    await page.locator('#h-positions small').waitFor();
    await page.evaluate(() => {
      window.named = {}; // by turns
      const look = () => {
        const turns = [...document.querySelectorAll('.dials path')].map((path) => path.getAttribute('d')).join();
        const named = document.querySelector('#h-positions small')?.textContent;
        if (turns && named) (window.named[turns] ??= new Set()).add(named);
        requestAnimationFrame(look);
      };
      look();
    });
    await page.locator('.strip').getByRole('button', { name: 'Run' }).click();
    await stop(page);
    await page.waitForFunction(() => Object.keys(window.named).length > 1); // a frame after the heading changes
    const named = await page.evaluate(() => Object.values(window.named).map((headings) => [...headings]));
    assert.ok(
      named.every((headings) => headings.length === 1),
      JSON.stringify(named),
    );
  },
);

insideTest('a press opens the stage, or continues the text with a token that may follow', async ({ page }) => {
  const all = await ids(page);
  await page.locator('.lane[data-lane="3"] [data-part="ffn"]').click();
  await says(page, '.inspector h3', /SwiGLU/);
  await inAddress(page, 'open=ffn');
  await page.locator('.anatomy [data-part="next"] .bar-hit').nth(3).click();
  await openView(page, 'write');
  await page.locator('.branches li').first().waitFor({ state: 'attached' });
  const now = await ids(page);
  const chosen = all.length - 7; // the fourth lane's token
  assert.deepEqual(now.slice(0, chosen + 1), all.slice(0, chosen + 1));
  assert.notEqual(now[chosen + 1], all[chosen + 1]);
  await stop(page); // lanes move while the text is written, away from the mouse of the next test
});

insideTest('Code shows the lines of the reference with sizes and values of this pass', async ({ page }) => {
  await point(page, '.lane[data-lane="4"] [data-part="q"]', 'Code');
  await page.locator('.part-card .code b', { hasText: '//' }).first().waitFor();
  const code = readFileSync(`${top}src/reference/decoder.c`, 'utf8');
  const shown = await page.locator('.part-card .code').evaluate((e) => {
    const copy = /** @type {HTMLElement} */ (e.cloneNode(true));
    for (const b of copy.querySelectorAll('b')) b.remove();
    return copy.textContent;
  });
  assert.ok(code.includes(shown.trimEnd()) && /static void project_qkv/.test(shown), shown);
  assert.match(
    await page.locator('.part-card .code').innerText(),
    new RegExp(`d_model=${dModel}[^]*n_heads=${nHeads}`),
  );
  await page.locator('.part-card').getByRole('button', { name: 'Learn' }).click();
  await says(page, '#h-textbook', /Query, key, value/);
  await makeRandom(page, 'tutorial-3', 'encoder');
  await openView(page, 'inside');
  await point(page, '.anatomy [data-part="ffn"]', 'Code');
  await says(page, '.part-card', /src\/model\/ffn\.c computes this stage/);
});
