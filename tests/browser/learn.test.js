// learn.test.js - the lesson, the chapters and "Predict, then reveal"; patching and steering under Experiment. What the
// page says is compared with the library in Node.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { countParameters, load } from '../../web/lib/index.js';
import { pageTest } from './built_page.js';
import { sum, top } from './expected.js';
import { cells, ids } from './page_parts.js';
import { quiet } from './quiet.js';

const MODEL = 'weights/stories-1m-q4_0.gguf';
const model = await load(top + MODEL);
after(() => model.dispose());

const address = (view, prompt = 'Once upon a time, a little fox found a', more = '') =>
  `#view=${view}&model=${MODEL}&t=0&prompt=${encodeURIComponent(prompt)}${more}`;

pageTest(
  'the lesson plays by itself, can be paused, and tells the numbers of the pass',
  address('learn'),
  async ({ page }) => {
    const lesson = page.locator('#lesson');
    await lesson.getByRole('button', { name: 'Play the lesson' }).press('Enter');
    await lesson.locator('h3').waitFor();
    const ids = await model.encode('Once upon a time, a little fox found a');
    assert.match(await lesson.locator('.stop').innerText(), new RegExp(`has the number ${ids.at(-1)}\\b`));
    await lesson.getByRole('button', { name: 'Pause' }).click();
    const titles = [];
    const next = lesson.getByRole('button', { name: 'Next' });
    let said = '';
    while ((await next.getAttribute('aria-disabled')) !== 'true') {
      titles.push(await lesson.locator('h3').innerText());
      await next.press('Enter');
      await quiet(page);
      if ((await lesson.locator('h3').innerText()) === 'Logits') said = await lesson.locator('.stop').innerText();
    }
    assert.ok(titles.length >= 8, titles.join());
    const { logits } = await model.forward(ids);
    const row = logits.data.slice(-logits.shape[1]);
    const best = row.reduce((b, x, i) => (x > row[b] ? i : b), 0);
    const word = (await model.decode([ids.at(-1), best])).slice((await model.decode([ids.at(-1)])).length);
    assert.ok(said.includes(`belongs to “${word}”`), said);
    // the last stop let the sampler draw
    assert.equal(await page.locator('.strip .line span:not(.given)').count(), 1);
    assert.match(await lesson.locator('.stop').innerText(), /At temperature 0 the likeliest token is taken/);
  },
);

pageTest(
  'each chapter can be completed by keyboard, and a wrong answer is not accepted',
  address('learn'),
  async ({ page }) => {
    const { dModel, vocabSize, nLayers } = model.config;
    const { rows, total } = countParameters(model.config);
    const ffn = rows.filter((r) => r.component === 'ffn').reduce((n, r) => n + r.count, 0);
    const prompt = 'Once upon a time, a little fox found a';
    const ids = await model.encode(prompt);
    await page.waitForFunction(() => /head=/.test(location.hash)); // the address is written a moment after the text
    const head = await page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get('head'));
    const [layer, h] = head.split('.').map(Number);
    const point = `blocks.${layer}.attn.hook_pattern`;
    const { captured } = await model.forward(ids, { capture: [point] });
    const [, n] = captured[point].shape;
    const weights = captured[point].data.subarray((h * n + n - 1) * n, (h * n + n) * n);
    const most = weights.reduce((b, x, i) => (x > weights[b] ? i : b), 0);
    const texts = await Promise.all(ids.map((_, i) => model.decode(ids.slice(0, i + 1))));
    const answers = {
      tokens: String((await model.encode('Strawberries grow slowly')).length),
      embedding: (vocabSize * dModel).toLocaleString('en'),
      attention: texts[most].slice(most ? texts[most - 1].length : 0).trim(),
      ffn: `${((100 * ffn) / total).toFixed(1)} %`,
      stream: String(2 * nLayers),
      logits: '10',
      sampling: '100',
      training: Math.log(vocabSize).toFixed(2),
      'encoder-decoder': '2',
    };
    for (const [id, answer] of Object.entries(answers)) {
      const chapter = page.locator(`#chapter-${id}`);
      await chapter.locator('summary').press('Enter');
      const field = chapter.getByLabel('your answer');
      await field.fill('zebra');
      await field.press('Enter');
      await chapter.getByText('Not yet.').waitFor();
      await field.fill(answer);
      await field.press('Enter');
      await chapter.locator('.verdict', { hasText: 'Right' }).waitFor();
    }
    assert.match(await page.locator('#chapters [role="status"]').first().innerText(), /^9 of 9 questions answered$/);
  },
);

pageTest(
  'a guess is scored by the model’s probability, and the layer that knew is told',
  address('learn'),
  async ({ page }) => {
    const game = page.locator('#predict');
    const before = (await game.locator('[data-role="story"]').innerText()).replace(/\s*…$/, '');
    await game.getByLabel('the next word').fill('green');
    await game.getByLabel('the next word').press('Enter');
    await game.locator('[data-role="tally"]').waitFor();
    const said = await game.innerText();
    const ids = await model.encode(before);
    const id = (await model.encode(`${before} green`))[ids.length];
    const { logits } = await model.forward(ids);
    const row = logits.data.slice(-logits.shape[1]);
    const top = Math.max(...row);
    const p = Math.exp(row[id] - top) / row.reduce((sum, x) => sum + Math.exp(x - top), 0);
    const shown = p < 0.0005 ? '<0.1 %' : `${(100 * p).toFixed(1)} %`;
    assert.ok(said.includes(`Your guess “green”: probability ${shown}`), said);
    assert.match(said, /first from layer \d of 5 on|No layer of the model had that word first/);
    assert.match(said, /After 1 word: you [01] right/);
    await game.getByRole('button', { name: 'Next word' }).press('Enter');
    assert.equal(await game.getByLabel('the next word').inputValue(), '');
  },
);

pageTest(
  'patching shows a table of layers by positions, whose first cell is the full answer',
  address('experiment'),
  async ({ page }) => {
    const patch = page.locator('#patch');
    await patch.getByLabel('first prompt').fill('Once upon a time, there was a child named Lily. One day,');
    await patch.getByLabel('second prompt').fill('Once upon a time, there was a child named Tim. One day,');
    await patch.getByRole('button', { name: 'Patch every layer and position' }).click();
    await quiet(page, () => {
      const cells = [...document.querySelectorAll('#patch td.n')];
      return cells.length > 0 && cells.every((cell) => cell.textContent.trim());
    });
    const cells = await patch
      .locator('tbody tr')
      .evaluateAll((list) => list.map((row) => [...row.cells].slice(1).map((cell) => cell.textContent.trim())));
    assert.equal(cells.length, model.config.nLayers);
    assert.equal(cells[0][0], '100 %'); // the only token that differs
    assert.match(await patch.locator('[data-role="answers"]').innerText(), /“ Lily”.*“ Tim”/);
    await patch.getByLabel('second prompt').fill('Too short');
    await patch.getByRole('button', { name: 'Patch every layer and position' }).click();
    await patch.getByText(/Patching needs equally many/).waitFor();
  },
);

pageTest(
  'a steered text is that of the library with the same addition',
  address('experiment', 'One day', '&seed=7'),
  async ({ page }) => {
    const steer = page.locator('#steer');
    await steer.locator('[data-role="steered"]').waitFor();
    await steer.getByLabel('strength').fill('0');
    await quiet(page, () => {
      const [plain, steered] = document.querySelectorAll('#steer .story');
      return plain.textContent === steered.textContent && plain.textContent.length > 20;
    });
    await steer.getByLabel('strength').fill('3');
    await quiet(page, () => {
      const [plain, steered] = document.querySelectorAll('#steer .story');
      return plain.textContent !== steered.textContent;
    });
    const at = `blocks.${Math.ceil(model.config.nLayers / 2) - 1}.hook_resid_post`;
    const mean = async (text) => {
      const { data, shape } = (await model.forward(await model.encode(text), { capture: [at] })).captured[at];
      return Array.from({ length: shape[1] }, (_, j) => {
        let sum = 0;
        for (let i = 1; i < shape[0]; i++) sum += data[i * shape[1] + j];
        return sum / (shape[0] - 1);
      });
    };
    const [to, from] = [
      await mean(await steer.getByLabel('towards').inputValue()),
      await mean(await steer.getByLabel('away from').inputValue()),
    ];
    const add = Float32Array.from(to, (x, i) => 3 * (x - from[i]));
    let text = '';
    for await (const step of model.generate('One day', { temperature: 0, maxTokens: 48, edits: [{ at, add }] }))
      text += step.text;
    assert.equal((await steer.locator('[data-role="steered"]').textContent()).slice(0, 40), text.slice(0, 40));
  },
);
