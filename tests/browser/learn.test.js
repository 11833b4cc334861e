// learn.test.js - "Predict, then reveal"; patching and steering under Experiment. What the
// page says is compared with the library in Node.
import assert from 'node:assert/strict';
import { pageTest } from './built_page.js';
import { opened } from './expected.js';
import { openView, says } from './page_parts.js';
import { quiet } from './quiet.js';

const MODEL = 'weights/stories-1m-q4_0.gguf';
const model = await opened(MODEL);

const address = (view, prompt = 'Once upon a time, a little fox found a', more = '') =>
  `#view=${view}&model=${MODEL}&t=0&prompt=${encodeURIComponent(prompt)}${more}`;

pageTest(
  'a guess is scored by the model’s probability, and the layer that knew is told',
  address('learn'),
  async ({ page }) => {
    const game = page.locator('#predict');
    await says(page, '#predict [data-role="story"]', /\w/);
    const before = (await game.locator('[data-role="story"]').innerText()).replace(/\s*…$/, '');
    await game.getByLabel('the next word').fill('green');
    await game.locator('form').evaluate((form) => [1, 2].forEach(() => form.requestSubmit())); // counts once
    await game.locator('[data-role="tally"]').waitFor();
    await quiet(page);
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

// It offered beginnings of stories, which have no token of such a model, and an empty story to guess in.
pageTest(
  'a model of numbers says so, is offered no words and has none to guess',
  '#model=weights/addition/',
  async ({ page }) => {
    await page.getByText('Its vocabulary is the numbers 0 to 112').waitFor();
    assert.equal(await page.getByRole('group', { name: 'Example prompts' }).count(), 0);
    await openView(page, 'learn');
    await says(page, '#predict', /a model that predicts the next word/);
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
    const rounded = await patch
      .locator('td.n')
      .evaluateAll((list) =>
        list.map((cell) => [parseInt(cell.textContent), Number(/(-?[\d.]+) %/.exec(cell.title)[1])]),
      );
    for (const [said, exact] of rounded) assert.ok(Math.abs(said - exact) < 0.56, `${said}, not ${exact}`);
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
