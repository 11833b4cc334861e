// page.test.js - the built page in Chromium: a visitor types, runs, reads, chooses, stops, breaks.
// What the page shows is held against the library in Node on the same file.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { countParameters, load } from '../../web/lib/index.js';
import { axe, browser, kept, openView, otherWords, site, resting, server, settled, top, visit } from './built_page.js';
import { quiet } from './quiet.js';
import { ownTasks } from './tasks.js';

const shipped = `${top}weights/stories.gguf`;

let model;
before(async () => {
  model = await load(shipped);
});
after(() => model?.dispose());

/** A fresh page with its model loaded; window.longTasks has what blocked its thread. */
async function open(how = {}) {
  const visitor = await visit({
    ...how,
    prepare: (page) =>
      page.addInitScript(() => {
        window.longTasks = [];
        new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((e) => e.duration))).observe({
          type: 'longtask',
        });
      }),
  });
  if (!/model=/.test(how.hash)) await settled(visitor.page);
  await visitor.page.waitForSelector('.tok:visible, .strip .line span:visible', { timeout: 30_000 });
  return visitor;
}

const written = (page) => page.locator('.tok:not(.given)').count();
const ids = (page) => page.locator('.tok').evaluateAll((list) => list.map((t) => Number(t.dataset.id)));

/** The page paints when it finds time: wait until it shows this. */
async function shows(page, read, want, what) {
  const end = Date.now() + 60_000;
  for (;;) {
    const last = await read();
    if (last === want) return;
    if (Date.now() > end) assert.equal(last, want, what);
    await page.waitForTimeout(50);
  }
}

/** Write a prompt by keyboard; it runs at full speed. */
async function prepare(page, prompt, { tokens = 40, seed = 7 } = {}) {
  await page.locator('#pace').selectOption('fast');
  await page.locator('#max-tokens').fill(String(tokens));
  await page.locator('#seed').fill(String(seed));
  await page.locator('#seed').press('Tab');
  await page.getByLabel('Prompt', { exact: true }).fill(prompt);
}

/** Write a prompt by keyboard and run it to its end at full speed. */
async function runPrompt(page, prompt, how = {}) {
  await prepare(page, prompt, how);
  await page.getByLabel('Prompt', { exact: true }).press('Enter');
  await resting(page);
}

test('a prompt is continued, the same seed gives the library’s text, and nothing leaves the origin', async (t) => {
  const { page, requests, complaints, close } = await open();
  const prompt = 'Once upon a time, there was a little';
  await runPrompt(page, prompt, { tokens: 40, seed: 7 });
  const promptIds = await model.encode(prompt);
  const expected = [...promptIds];
  for await (const step of model.generate(promptIds, {
    maxTokens: 40,
    seed: 7,
    temperature: 0.8,
    topK: 40,
    topP: 0.95,
  }))
    expected.push(step.id);
  assert.deepEqual(await ids(page), expected);
  const text = await page.locator('.text').innerText();
  assert.ok(text.includes('Once upon a time, there was a little'), text);
  assert.match(await page.locator('[data-role="speed"]').innerText(), /^[\d,.]+ tok\/s$/);
  t.diagnostic(`engine speed shown: ${await page.locator('[data-role="speed"]').innerText()}`);
  const origin = new URL(server.url).origin;
  const outside = requests.filter((url) => !url.startsWith(origin) && !url.startsWith('data:'));
  assert.deepEqual(outside, []);
  assert.ok(
    requests.every((url) => url.startsWith(server.url) || url === `${origin}/favicon.ico`),
    'a request left the folder',
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('the table of parameters adds up to what the configuration predicts', async () => {
  const { page, close } = await open();
  await openView(page, 'count');
  const total = (await page.locator('[data-role="total"]').textContent()).replace(/\D/g, '');
  assert.equal(Number(total), countParameters(model.config).total);
  const counts = await page.locator('tr.group td.n:nth-child(3)').allTextContents();
  assert.equal(
    counts.reduce((n, text) => n + Number(text.replace(/\D/g, '')), 0),
    Number(total),
  );
  const head = page.locator('tr.group', { hasText: 'Head' });
  assert.match(await head.textContent(), /shared with the embedding/);
  assert.equal((await head.locator('td.n').first().textContent()).trim(), '0');
  await page.getByRole('button', { name: 'Attention, 6 blocks' }).click();
  const tensors = await page.locator('tr.tensor:not([hidden])').count();
  const rows = model.parameters.rows.filter((r) => r.component === 'attention');
  assert.equal(tensors, rows.length);
  // where each lies: inside the region of the weights, none over another
  const places = (await page.locator('tr.tensor:not([hidden]) .numbers').allTextContents()).map((text) =>
    /^at ([\d,. ]+) in linear memory, ([\d,. ]+) bytes there(?:, one matrix with (.*))?$/
      .exec(text)
      ?.slice(1, 3)
      .map((x) => Number(x.replace(/\D/g, ''))),
  );
  assert.equal(places.length, rows.length);
  assert.deepEqual(
    places.map(([, size]) => size),
    rows.map((r) => r.memoryBytes),
  );
  const matrices = new Map(); // q, k and v are one matrix
  for (const [start, size] of places) matrices.set(start, (matrices.get(start) ?? 0) + size);
  assert.equal(matrices.size, 2 * model.config.nLayers);
  [...matrices]
    .sort(([a], [b]) => a - b)
    .forEach(([start], i, list) =>
      assert.ok(i === 0 || start >= list[i - 1][0] + list[i - 1][1], `two matrices at ${start}`),
    );
  await close();
});

test('a head and a cell are chosen by keyboard, and the value read is the uncached pass’s', async () => {
  const { page, close } = await open();
  await runPrompt(page, 'The dragon was sad because', { tokens: 24 });
  await openView(page, 'inside');
  const all = await ids(page);
  const { captured } = await model.forward(all, { capture: ['*.attn.hook_pattern'] });
  const first = page.locator('.tile[aria-checked="true"]');
  await first.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await shows(page, () => page.locator('.tile[aria-checked="true"]').getAttribute('aria-label'), 'layer 3, head 2');
  await page.waitForFunction(() => /Layer 3, head 2/.test(document.querySelector('#h-attention').textContent));
  const pattern = captured['blocks.2.attn.hook_pattern'];
  const n = pattern.shape[1];
  await page.locator('.matrix').focus();
  await page.keyboard.press('ArrowLeft'); // the first key selects a cell
  await page.waitForFunction(() => /→/.test(document.querySelector('#cell').textContent));
  const seen = new Set();
  for (const key of [
    'ArrowLeft',
    'ArrowLeft',
    'ArrowUp',
    'ArrowUp',
    'ArrowLeft',
    'PageUp',
    'Home',
    'ArrowDown',
    'ArrowRight',
    'ArrowRight',
  ]) {
    await page.keyboard.press(key);
    await quiet(page);
    const said = await page.locator('#cell').textContent();
    const [, q, k, value] = /query (\d+) .* → key (\d+) [^]*: ([^:]+)$/.exec(said) ?? assert.fail(said);
    seen.add(`${q},${k}`);
    if (Number(k) > Number(q)) {
      assert.equal(value, 'masked');
      continue;
    }
    const want = pattern.data[(1 * n + Number(q)) * n + Number(k)] * 100;
    if (value === '<0.1 %') assert.ok(want < 0.0501, `${said}, expected ${want}`);
    else assert.ok(Math.abs(parseFloat(value) - want) <= 0.051, `${said}, expected ${want}`);
  }
  assert.ok(seen.size >= 6, `the cursor moved over ${[...seen].join(' ')}`);
  // the same numbers as a table
  await page.locator('.attention .as-table:not(.explain) summary').click();
  await page.waitForFunction(() => document.querySelectorAll('.attention .as-table:not(.explain) td').length > 20);
  await close();
});

test('Enter pressed while the prompt is being read waits for it', async () => {
  const { page, close } = await open();
  await runPrompt(page, 'Tom and Sue', { tokens: 12, seed: 3 });
  const want = await ids(page);
  await page
    .getByLabel('Prompt', { exact: true })
    .fill('The dragon was sad because its friend had gone away for a long time');
  await quiet(page);
  // in one task: what was typed is taken up after a moment's rest, and Run comes while it is
  await page.evaluate(
    () =>
      new Promise((done) => {
        const box = document.querySelector('textarea[name="prompt"]');
        box.value = 'Tom and Sue';
        box.dispatchEvent(new Event('input', { bubbles: true }));
        setTimeout(() => {
          box.form.requestSubmit();
          done();
        }, 151);
      }),
  );
  await shows(page, async () => (await ids(page)).join(), want.join(), 'the text of the new prompt');
  await resting(page);
  await close();
});

test('Stop stops, Step adds one token, Run goes on', async () => {
  const { page, close } = await open();
  await page.locator('#pace').selectOption('reading');
  await page.locator('.go').click();
  await page.waitForFunction(() => document.querySelectorAll('.tok:not(.given)').length >= 3);
  await page.locator('.prompt').getByRole('button', { name: 'Stop' }).click();
  await resting(page);
  const n = await written(page);
  await page.waitForTimeout(500);
  await quiet(page);
  assert.equal(await written(page), n, 'the text grew after Stop');
  await page.getByRole('button', { name: 'Step' }).click();
  await page.waitForFunction((m) => document.querySelectorAll('.tok:not(.given)').length === m, n + 1);
  await page.locator('#pace').selectOption('fast');
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.waitForFunction((m) => document.querySelectorAll('.tok:not(.given)').length > m, n + 1);
  await resting(page);
  await close();
});

test('paused and continued text equals the text written in one go', async () => {
  const { page, close } = await open();
  await runPrompt(page, 'Tom and Sue went to the park', { tokens: 20, seed: 11 });
  const whole = await ids(page);
  await page.getByRole('button', { name: 'Run again' }).click();
  await shows(page, async () => (await ids(page)).join(), whole.join(), 'run again');
  await page.waitForFunction(() => /again/.test(document.querySelector('.go').textContent));
  await page.getByRole('button', { name: 'Start over' }).click();
  for (let i = 1; i <= 20; i++) {
    await page.getByRole('button', { name: 'Step' }).click();
    await page.waitForFunction(
      (n) =>
        document.querySelectorAll('.tok:not(.given)').length === n ||
        /again/.test(document.querySelector('.go').textContent),
      i,
    );
  }
  assert.deepEqual(await ids(page), whole);
  await close();
});

test('another token is chosen, and the text goes on from there', async () => {
  const { page, close } = await open();
  await runPrompt(page, 'Once upon a time', { tokens: 12 });
  const before = await ids(page);
  const given = await page.locator('.tok.given').count();
  await page
    .locator('.tok')
    .nth(given + 2)
    .click();
  await page.waitForFunction(() => document.querySelector('.bar.on'));
  await page.waitForFunction(() => /entropy/.test(document.querySelector('#h-next').textContent));
  const other = (await otherWords(page)).first();
  const id = Number(await other.getAttribute('data-id'));
  await other.click();
  await page.waitForFunction((n) => document.querySelectorAll('.tok').length > n, given + 4);
  await resting(page);
  const now = await ids(page);
  assert.deepEqual(now.slice(0, given + 3), before.slice(0, given + 3));
  assert.equal(now[given + 3], id);
  assert.notEqual(id, before[given + 3]);
  await close();
});

test('what could follow a token is told of the text that is there, whatever was there before', async () => {
  /** The distribution after the second token written, word by word, once it is exact. */
  const told = async (page) => {
    const given = await page.locator('.tok.given').count();
    await page
      .locator('.tok')
      .nth(given + 1)
      .click();
    await quiet(page, () => /entropy/.test(document.querySelector('#h-next').textContent));
    return page.locator('#h-next, .bar:visible').allInnerTexts();
  };
  const one = await open();
  await runPrompt(one.page, 'Once upon a time', { tokens: 12 });
  await told(one.page);
  await runPrompt(one.page, 'The cat sat on the mat because', { tokens: 12 });
  const after = await told(one.page);
  await one.close();
  const two = await open();
  await runPrompt(two.page, 'The cat sat on the mat because', { tokens: 12 });
  assert.deepEqual(after, await told(two.page));
  await two.close();
});

test('a broken file is refused in a sentence, and the model still runs', async () => {
  const { page, close } = await open();
  const broken = readFileSync(shipped).subarray(0, 5000);
  for (const [name, buffer] of [
    ['cut.gguf', broken],
    ['notes.gguf', Buffer.from('these are not weights')],
  ]) {
    await page.locator('#model-file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    await page.waitForFunction(() => !document.querySelector('.error').hidden, null, { timeout: 20_000 });
    const sentence = await page.locator('.error [role="alert"]').innerText();
    assert.ok(sentence.includes(name), `the sentence does not name the file: ${sentence}`);
    assert.match(sentence, /still here and works/);
    await page.getByRole('button', { name: 'Dismiss' }).click();
  }
  await runPrompt(page, 'The cat', { tokens: 8 });
  assert.ok((await written(page)) >= 1);
  await close();
});

test('a file from disk is loaded here, and its name is text whatever it says', async () => {
  const { page, requests, close } = await open();
  await kept(page);
  const before = requests.length;
  const name = '<img src=x onerror=window.broken=1>.gguf';
  await page
    .locator('#model-file')
    .setInputFiles({ name, mimeType: 'application/octet-stream', buffer: readFileSync(shipped) });
  await page.waitForFunction((wanted) => document.querySelector('.pill').textContent.includes(wanted), name, {
    timeout: 30_000,
  });
  await runPrompt(page, '<img src=x onerror=window.broken=1> said the fox', { tokens: 4 });
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.match(await page.locator('.text').innerText(), /<img src=x onerror=window\.broken=1>/);
  assert.deepEqual(
    requests.slice(before).filter((url) => !/\/assets\/|\/icon\.svg$/.test(url)),
    [],
    'opening a local file asked the network for something',
  ); // the icon is asked for again with each new address
  await close();
});

/** Layer and head that a heading counts from 1, counted from 0 as in the names of points. */
function headOf(text) {
  const [, layer, head] = /Layer (\d+), head (\d+)/.exec(text) ?? assert.fail(text);
  return { layer: layer - 1, head: head - 1 };
}

test('the stages of a score agree with one another', async () => {
  const { page, complaints, close } = await open();
  await runPrompt(page, 'One day a bird', { tokens: 6 });
  await openView(page, 'inside');
  const all = await ids(page);
  await page.locator('.matrix').focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => /: [\d.]+ %$/.test(document.querySelector('#cell').textContent));
  await quiet(page);
  const said = async () => /query (\d+) .* → key (\d+) [^]*: ([^:]+)$/.exec(await page.locator('#cell').textContent());
  const [, q, k] = await said();
  const { layer, head } = await page.locator('#h-attention').textContent().then(headOf);
  const { captured } = await model.forward(all, { capture: [`blocks.${layer}.attn.*`] });
  for (const [stage, point] of [
    ['scores', 'hook_attn_scores_raw'],
    ['÷ √d', 'hook_attn_scores_scaled'],
    ['masked', 'hook_attn_scores'],
  ]) {
    await page.getByRole('radio', { name: stage, exact: true }).click();
    await page.waitForFunction(
      (name) => document.querySelector('#h-attention').textContent.includes(name),
      { scores: 'before scaling', '÷ √d': 'scores, scaled', masked: 'scores, masked' }[stage],
    );
    await page.waitForFunction(() => !/%$|not read/.test(document.querySelector('#cell').textContent));
    await quiet(page);
    const [, q2, k2, shown] = await said();
    assert.deepEqual([q2, k2], [q, k], 'the selected cell moved');
    const tensor = captured[`blocks.${layer}.attn.${point}`];
    const n = tensor.shape[1];
    const want = tensor.data[(Number(head) * n + Number(q)) * n + Number(k)];
    assert.ok(Math.abs(Number(shown.replace('−', '-')) - want) < 2e-4, `${stage}: ${shown}, expected ${want}`);
  }
  assert.deepEqual(complaints, []);
  await close();
});

/** A number as the page writes it. */
const read = (text) =>
  Number(
    text
      .replace('−', '-')
      .replace(' %', 'e-2')
      .replace(
        / × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/,
        (_, power) => `e${power.replace('⁻', '-').replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, (c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(c))}`,
      ),
  );

/** What an explanation shows: where it is, its number, its terms. */
const explanation = (page, panel) =>
  page.locator(`${panel} .explanation`).evaluate((e) => ({
    at: e.querySelector('.number small').textContent,
    value: e.querySelector('.number b').textContent,
    words: e.querySelector('.number').textContent,
    note: e.querySelector(':scope > .hint').textContent,
    terms: [...e.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((c) => c.textContent)),
    steps: e.querySelectorAll('.trail li').length,
    computed: e.querySelector('[data-role="computed"]')?.textContent,
    sum: e.querySelector('[data-role="sum"]')?.textContent,
  }));
const explains = (page, panel, at) =>
  page.waitForFunction(
    ([panel, at]) =>
      document.querySelector(`${panel} .explanation .number small`)?.textContent === at &&
      !document.querySelector(`${panel} .explanation[aria-busy]`),
    [panel, at],
  );

test('one weight is explained by terms that make it, and the way goes on to its query and its key, by keyboard', async () => {
  const { page, requests, complaints, close } = await open();
  await runPrompt(page, 'One day a bird', { tokens: 10 });
  await openView(page, 'inside');
  const all = await ids(page);
  await page.locator('.matrix').focus();
  for (const key of ['ArrowLeft', 'ArrowLeft', 'ArrowUp']) await page.keyboard.press(key);
  await page.waitForFunction(() => /: [\d.]+ %$/.test(document.querySelector('#cell').textContent));
  assert.ok(!requests.some((url) => /explanation/i.test(url)), 'fetched before anybody asked');
  await page.keyboard.press('Enter');
  const [, q, k] = /query (\d+) .* → key (\d+) /.exec(await page.locator('#cell').textContent()).map(Number);
  const { layer, head } = headOf(await page.locator('#h-attention').textContent());
  const { captured } = await model.forward(all, { capture: [`blocks.${layer}.attn.*`] });
  const point = (name) => `blocks.${layer}.attn.${name}`;
  const cell = (name, index = k) => {
    const {
      data,
      shape: [, n],
    } = captured[point(name)];
    return data[(Number(head) * n + q) * n + index];
  };
  const vector = (name, position) => {
    const {
      data,
      shape: [, heads, d],
    } = captured[point(name)];
    return data.subarray((position * heads + Number(head)) * d, (position * heads + Number(head) + 1) * d);
  };
  await explains(page, '.attention', point('hook_pattern'));
  const weight = await explanation(page, '.attention');
  assert.ok(
    Math.abs(read(weight.value) - cell('hook_pattern')) < 6e-4 &&
      Math.abs(read(weight.computed) - cell('hook_pattern')) < 6e-4,
    `${weight.value}, ${weight.computed}, expected ${cell('hook_pattern')}`,
  );
  assert.match(weight.terms[0][0], new RegExp(`^key ${k} `));
  const most = Math.max(...Array.from({ length: q + 1 }, (_, i) => cell('hook_attn_scores', i)));
  for (const [name, score, power] of weight.terms) {
    const want = cell('hook_attn_scores', Number(/^key (\d+)/.exec(name)[1]));
    assert.ok(
      Math.abs(read(score) - want) < 1e-4 && Math.abs(read(power) - Math.exp(want - most)) < 1e-4,
      `${name}: ${score}, ${power}, expected ${want}`,
    );
  }
  // down to the score of this key
  await page.locator('.explanation tbody .follow').first().press('Enter');
  await explains(page, '.attention', point('hook_attn_scores'));
  assert.ok(
    await page.evaluate(() => document.activeElement.matches('.explanation .number')),
    'what was asked for has no focus',
  );
  const score = await explanation(page, '.attention');
  const [vq, vk] = [vector('hook_rot_q', q), vector('hook_rot_k', k)];
  assert.ok(Math.abs(read(score.value) - cell('hook_attn_scores')) < 1e-4);
  // The engine's int8 cache rounds query and key to at most half a step of largest / 127; the terms contain that.
  assert.ok(Math.abs(read(score.computed) - cell('hook_attn_scores')) < 2e-4);
  const [stepQ, stepK] = [vq, vk].map((v) => Math.max(...v.map(Math.abs)) / 127);
  for (const [name, x, roundedX, y, roundedY, product] of score.terms) {
    const i = Number(/^dimension (\d+)$/.exec(name)[1]);
    assert.ok(
      Math.abs(read(x) - vq[i]) < 1e-4 &&
        Math.abs(read(y) - vk[i]) < 1e-4 &&
        Math.abs(read(roundedX) - vq[i]) < stepQ / 2 + 1e-4 &&
        Math.abs(read(roundedY) - vk[i]) < stepK / 2 + 1e-4 &&
        Math.abs(read(product) - read(roundedX) * read(roundedY)) < 1e-4 * (1 + Math.abs(vq[i]) + Math.abs(vk[i])),
      `${name}: ${x} (${roundedX}) times ${y} (${roundedY}) is ${product}`,
    );
  }
  // to the other factor, which is the key's, and back along the trail
  const [i, y] = [Number(score.terms[0][0].split(' ')[1]), score.terms[0][3]];
  await page.locator('.explanation tbody tr').first().locator('.follow').nth(1).press('Enter');
  await explains(page, '.attention', point('hook_rot_k'));
  const key = await explanation(page, '.attention');
  assert.equal(key.value, y);
  assert.equal(key.steps, 3);
  assert.ok(Math.abs(read(key.value) - vk[i]) < 1e-4);
  await page.locator('.trail .follow').first().press('Enter');
  await explains(page, '.attention', point('hook_pattern'));
  assert.deepEqual((await explanation(page, '.attention')).terms, weight.terms);
  // another stage, another cell
  await page.getByRole('radio', { name: 'scores', exact: true }).click();
  await explains(page, '.attention', point('hook_attn_scores_raw'));
  // Before the scaling, too, the terms add up to what the engine has, though it rounds query and key.
  const raw = cell('hook_attn_scores_raw');
  assert.ok(Math.abs(read((await explanation(page, '.attention')).sum) - raw) < 1e-4 * (1 + Math.abs(raw)));
  assert.deepEqual(complaints, []);
  await close();
});

test('a logit is followed down to the embedding, and what is read there is in the file', async () => {
  const { page, complaints, close } = await open();
  await runPrompt(page, 'Once upon a time', { tokens: 12 });
  const all = await ids(page);
  await page.locator('.stage', { hasText: /^Head/ }).press('Enter');
  await page.getByRole('button', { name: /^Explain the logit of/ }).press('Enter');
  await explains(page, '.anatomy', 'logits');
  const {
    logits: {
      data,
      shape: [n, size],
    },
    captured,
  } = await model.forward(all, { capture: ['hook_embed', '*hook_resid*'] });
  const first = await explanation(page, '.anatomy');
  assert.ok(
    Math.abs(read(first.value) - data[(n - 2) * size + all.at(-1)]) < 1e-3,
    `${first.value}, expected ${data[(n - 2) * size + all.at(-1)]}`,
  );
  let seen;
  for (let i = 0; i < 60; i++) {
    seen = await explanation(page, '.anatomy');
    const where = captured[seen.at],
      [, index] = /number (\d+) at/.exec(seen.words) ?? [];
    // attention may have led to another position
    const column = where && Array.from({ length: n }, (_, p) => where.data[p * where.shape[1] + Number(index)]);
    assert.ok(
      !column || column.some((x) => Math.abs(x - read(seen.value)) < 1e-4),
      `${seen.words}, expected one of ${column}`,
    );
    if (/explanation ends here/.test(seen.note)) break;
    const before = seen.steps;
    await page.getByRole('button', { name: /^Explain the (largest|first) term$/ }).press('Enter');
    await page.waitForFunction((n) => document.querySelectorAll('.anatomy .trail li').length === n, before + 1);
  }
  assert.equal(seen.at, 'hook_embed', `ended at ${seen.words}`);
  assert.match(seen.terms[0][0], new RegExp(`^token (${all.join('|')})$`));
  assert.deepEqual(complaints, []);
  await close();
});

test('a value of a stage is chosen by mouse and by keyboard, in a model of two stacks, and explained', async () => {
  const { page, complaints, close } = await open({ hash: '#model=weights/dates/' });
  await page.locator('#pace').selectOption('fast');
  await page.locator('.go').press('Enter');
  await resting(page);
  await page.locator('.stage', { hasText: 'heads, cross-attention' }).press('Enter');
  await page.getByRole('radio', { name: 'z, the mixed values' }).click();
  await page.locator('.values-box').focus();
  for (const key of ['ArrowUp', 'ArrowRight', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
  const layer = Number(/layer (\d+)/.exec(await page.locator('.anatomy-svg').textContent())[1]) - 1;
  const point = `decoder.${layer}.cross_attn.hook_z`;
  await explains(page, '.anatomy', point);
  const dates = await load(`${top}weights/dates/`);
  const all = await ids(page);
  const source = 'Friday the 13th of September, 2024';
  const pattern = `decoder.${layer}.cross_attn.hook_pattern`,
    made = `decoder.${layer}.cross_attn.hook_v`;
  const { captured } = await dates.forward(all, { source, capture: [point, pattern, made] });
  dates.dispose();
  const said = await page.locator('.values .cell').textContent(); // the row above that of the selected token
  const [position, h, index] = [
    all.length - 3,
    Number(/head (\d+), /.exec(said)[1]) - 1,
    Number(/, (\d+): /.exec(said)[1]),
  ];
  const {
    shape: [, heads, d],
  } = captured[point];
  const seen = await explanation(page, '.anatomy');
  const z = captured[point].data[(position * heads + h) * d + index];
  assert.ok(Math.abs(read(seen.value) - z) < 1e-4, `${seen.words}, expected ${z}`);
  const {
    data: p,
    shape: [, queries, keys],
  } = captured[pattern];
  for (const [name, weight, v] of seen.terms) {
    const key = Number(/^key (\d+) /.exec(name)[1]);
    assert.ok(
      Math.abs(read(weight) - p[(h * queries + position) * keys + key]) < 1e-4 &&
        Math.abs(read(v) - captured[made].data[(key * heads + h) * d + index]) < 1e-4,
      `${name}: ${weight} times ${v}`,
    );
  }
  // a click on the picture asks as well
  await page.locator('.values-box canvas').click({ position: { x: 40, y: 20 } });
  await page.waitForFunction(
    (before) => document.querySelector('.anatomy .explanation .number').textContent !== before,
    seen.words,
  );
  // and the way leads into the encoder
  await page.locator('.anatomy .explanation tbody tr').first().locator('.follow').nth(1).press('Enter');
  await explains(page, '.anatomy', made);
  await page.getByRole('button', { name: /^Explain the (largest|first) term$/ }).press('Enter');
  await page.waitForFunction(() =>
    /^encoder\./.test(document.querySelector('.anatomy .explanation .number small').textContent),
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('the anatomy follows the loaded architecture and opens its values', async () => {
  const { page, complaints, close } = await open();
  await page.locator('.stage', { hasText: 'Head, tied' }).first().waitFor();
  const captions = await page.locator('.stage').allTextContents();
  for (const word of ['Embedding', `${model.config.nHeads} heads`, 'SwiGLU', 'Head, tied']) {
    assert.ok(
      captions.some((text) => text.includes(word)),
      `no stage ${word} among ${captions.join(' | ')}`,
    );
  }
  await page.locator('.stage', { hasText: 'SwiGLU' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('.inspector canvas:visible');
  await page.waitForFunction(() => /hook_/.test(document.querySelector('.values .cell')?.textContent));
  assert.match(await page.locator('.values .cell').textContent(), /blocks\.\d\.mlp\.hook_/);
  assert.deepEqual(complaints, []);
  await close();
});

test('a part is switched off, and the loss beside the untouched run is the library’s', async () => {
  const { page, complaints, close } = await open();
  await runPrompt(page, 'Once upon a time', { tokens: 16 });
  await openView(page, 'experiment');
  const all = await ids(page);
  await page.getByRole('button', { name: /^layer 2, FFN/ }).click();
  await page.waitForSelector('.compare .story');
  const shown = (await page.locator('.compare .num').allTextContents())
    .filter((text) => /bits a token/.test(text))
    .map(parseFloat);
  const loss = async (edits) => {
    const {
      logits: {
        data,
        shape: [n, size],
      },
    } = await model.forward(all, { edits });
    let bits = 0;
    for (let p = 0; p + 1 < n; p++) {
      const row = data.subarray(p * size, (p + 1) * size);
      const max = row.reduce((a, b) => Math.max(a, b), -Infinity);
      bits += Math.log2(row.reduce((sum, x) => sum + Math.exp(x - max), 0)) - (row[all[p + 1]] - max) / Math.LN2;
    }
    return bits / (n - 1);
  };
  const want = [await loss([]), await loss([{ at: 'blocks.1.hook_mlp_out', scale: 0 }])];
  shown.forEach((x, i) =>
    assert.ok(Math.abs(x - want[i]) < 0.006 * Math.max(1, want[i]), `shown ${x}, expected ${want[i]}`),
  );
  assert.equal(shown.length, 2);
  assert.ok(want[1] > want[0]);
  assert.deepEqual(complaints, []);
  await close();
});

test('the lens ends in the model’s own answer, and the votes add up to the logit', async () => {
  const { page, complaints, close } = await open();
  await runPrompt(page, 'Once upon a time', { tokens: 12 });
  await openView(page, 'inside');
  await page.locator('.lens-card').scrollIntoViewIfNeeded();
  await page.waitForSelector('.vote', { timeout: 20_000 });
  const all = await ids(page);
  const {
    logits: {
      data,
      shape: [, size],
    },
  } = await model.forward(all.slice(0, -1));
  const rows = await page.locator('.lens tbody tr').count();
  assert.equal(rows, model.config.nLayers);
  const last = await page
    .locator('.lens tbody tr')
    .last()
    .locator('td:not(.n)')
    .evaluateAll((cells) => cells.map((c) => c.firstChild.textContent));
  const n = all.length - 1;
  for (let i = 0; i < last.length; i++) {
    const p = n - last.length + i;
    const row = data.subarray(p * size, (p + 1) * size);
    const best = row.indexOf(row.reduce((a, b) => Math.max(a, b), -Infinity));
    const anchor = await model.encode('a', { addSpecialTokens: false });
    const word = (await model.decode([...anchor, best])).slice(1).trim();
    if (word) assert.equal(last[i], word, `position ${p}`);
  }
  const said = await page.locator('.lens-card .hint').last().textContent();
  const [, sum, logit] = /add up to (-?\d+\.\d+); the logit is (-?\d+\.\d+)/.exec(said) ?? assert.fail(said);
  const want = data[(n - 1) * size + all[n]];
  assert.ok(Math.abs(Number(logit) - want) < 0.001, `${said}, expected ${want}`);
  // Q8_0 keeps activations in int8 blocks, so each projected part is rounded by itself
  assert.ok(Math.abs(Number(sum) - Number(logit)) < 0.1, said);
  assert.deepEqual(complaints, []);
  await close();
});

test('an address reproduces text, head and cell', async () => {
  const first = await open();
  await runPrompt(first.page, 'The little bear', { tokens: 18, seed: 5 });
  await first.page.locator('.tok').nth(9).click();
  await openView(first.page, 'inside');
  await first.page.locator('.tile').nth(9).click();
  await first.page.waitForFunction(
    () => /written=\d+/.test(location.hash) && /at=9/.test(location.hash) && /head=1\.1/.test(location.hash),
  );
  const hash = await first.page.evaluate(() => location.hash);
  const [text, weights] = [await ids(first.page), await first.page.locator('.attends').textContent()];
  await first.close();
  const second = await open({ hash });
  await shows(
    second.page,
    () => second.page.locator('.tile[aria-checked="true"]').getAttribute('aria-label'),
    'layer 2, head 2',
  );
  await second.page.waitForFunction((want) => document.querySelector('.attends').textContent === want, weights);
  await openView(second.page, 'write');
  await second.page.waitForFunction((n) => document.querySelectorAll('.tok').length === n, text.length);
  assert.deepEqual(await ids(second.page), text);
  await second.close();
});

test('the counts of other models come out', async () => {
  const { page, close } = await open();
  await openView(page, 'experiment');
  const counted = async () =>
    (await page.locator('.compare-models tr.total td').nth(1).textContent()).replace(/\D/g, '');
  for (const [name, total] of [
    ['gpt2', 124_439_808],
    ['gpt2-xl', 1_557_611_200],
    ['llama-7b', 6_738_415_616],
    ['modern-124m', 123_551_232],
  ]) {
    await page.locator('#preset').selectOption(name);
    await shows(page, counted, String(total), name);
  }
  await page.locator('#build-tieWordEmbeddings').uncheck();
  await shows(page, counted, '162148608', 'untied');
  await close();
});

test('a model built here runs, though its weights are random', async () => {
  const { page, complaints, close } = await open();
  await openView(page, 'experiment');
  await page.locator('#preset').selectOption('tutorial-5');
  await page.getByRole('button', { name: 'Make it with random weights' }).click();
  await page.waitForFunction(() => /random weights/.test(document.querySelector('.pill').textContent));
  await openView(page, 'write');
  await page.waitForFunction(() => document.querySelectorAll('.tok').length > 3);
  await page.locator('#pace').selectOption('fast');
  await page.locator('#max-tokens').fill('6');
  await page.locator('.go').click();
  await resting(page);
  assert.equal(await written(page), 6);
  assert.ok((await page.locator('.stage').allTextContents()).some((text) => text.includes('LayerNorm')));
  assert.deepEqual(complaints, []);
  await close();
});

test('every kind of architecture is drawn and counted as it is', async (t) => {
  const shared = `${top}../shared/cases/`;
  if (!existsSync(shared)) return t.skip('no shared data');
  const { page, complaints, close } = await open();
  for (const [name, words] of Object.entries({
    gpt2_prefix: ['Embedding + position', 'LayerNorm', 'GELU-tanh FFN', 'Head, tied'],
    llama_gqa_untied: ['RMSNorm', 'SwiGLU'],
    t1_postnorm: ['Final RMSNorm', 'SwiGLU'],
    t3_block: ['GELU-erf FFN'],
    t2_encdec_causal: ['4 heads, cross-attention', 'Encoder, 2 blocks', 'ReLU FFN'],
  })) {
    const { param_counts: counts } = JSON.parse(readFileSync(`${shared}${name}/case.json`, 'utf8'));
    await page
      .locator('#model-file')
      .setInputFiles(['config.json', 'model.safetensors'].map((file) => `${shared}${name}/${file}`));
    await openView(page, 'count');
    await shows(
      page,
      async () => (await page.locator('[data-role="total"]').textContent()).replace(/\D/g, ''),
      String(counts.total),
      name,
    );
    assert.equal(await page.locator('.parameters h2 .wrong').count(), 0, name);
    await openView(page, 'write');
    await page.waitForFunction(
      (list) =>
        list.every((word) => [...document.querySelectorAll('.stage')].some((s) => s.textContent.includes(word))),
      words,
    );
    await page.locator('#pace').selectOption('fast');
    await page.locator('#max-tokens').fill('3');
    await page.locator('#max-tokens').press('Tab');
    await page.waitForFunction(
      () => document.querySelectorAll('.tok.given').length > 0 && !document.querySelector('.tok:not(.given)'),
    );
    await page.locator('.go').click();
    await resting(page);
    assert.ok((await written(page)) >= 1);
    assert.equal(await page.locator('.error').isVisible(), false, name);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('dates: the encoder-decoder reads a date and writes it as numbers, and shows where it looked', async () => {
  const { page, complaints, close } = await open();
  await page.locator('.pill').click();
  await page.locator('dialog.models').getByRole('button', { name: 'dates', exact: true }).click();
  const text = () =>
    page
      .locator('.tok:not(.given)')
      .allTextContents()
      .then((list) => list.join(''));
  await shows(page, text, '2024-09-13', 'what it opens with');
  await resting(page);
  await openView(page, 'inside');
  assert.match(await page.locator('#h-attention').textContent(), /^Across, layer 2, head 2/);
  await openView(page, 'write');
  await page.locator('#pace').selectOption('fast');
  await page.locator('#source').fill('the 1st of may, 1999');
  await page.locator('#source').press('Enter');
  await shows(page, text, '1999-05-01', 'the date typed');
  await resting(page);
  // a row for each character written, against the library's own
  const dates = await load(`${top}weights/dates/`);
  const all = await ids(page);
  const { captured } = await dates.forward(all, {
    source: 'the 1st of may, 1999',
    capture: ['decoder.1.cross_attn.hook_pattern'],
  });
  dates.dispose();
  const {
    data,
    shape: [, queries, keys],
  } = captured['decoder.1.cross_attn.hook_pattern'];
  assert.deepEqual([queries, keys], [11, 20]);
  await page.locator('.tok').nth(3).click();
  await openView(page, 'inside');
  await page.waitForFunction(() =>
    document.querySelector('#h-attention').textContent.includes('pattern [10 queries, 20 keys]'),
  );
  const row = data.subarray((queries + 3) * keys, (queries + 4) * keys); // head 1
  const best = row.indexOf(row.reduce((a, b) => Math.max(a, b), 0));
  await shows(
    page,
    () =>
      page
        .locator('.attends li')
        .first()
        .textContent()
        .then((said) => said.replace(/\s/g, '')),
    `${'the 1st of may, 1999'[best]}${(row[best] * 100).toFixed(1).replace(/\.0$/, '')}%`,
    'the strongest key of the fourth character',
  );
  // each stack has rows
  for (const [name, want] of [
    ['encoder', '[20 queries, 20 keys]'],
    ['decoder', '[10 queries, 10 keys]'],
    ['across', '[10 queries, 20 keys]'],
  ]) {
    await page.getByRole('radio', { name, exact: true }).click();
    await page.waitForFunction((shape) => document.querySelector('#h-attention').textContent.includes(shape), want);
  }
  await openView(page, 'write');
  await page.getByRole('button', { name: '20991231' }).click();
  await shows(page, text, '2099-12-31', 'an example');
  await page.waitForFunction(() => /source=20991231/.test(location.hash) && /written=10/.test(location.hash));
  const hash = await page.evaluate(() => location.hash);
  assert.deepEqual(complaints, []);
  await close();
  const again = await open({ hash });
  await shows(
    again.page,
    () =>
      again.page
        .locator('.tok:not(.given)')
        .allTextContents()
        .then((list) => list.join('')),
    '2099-12-31',
    'from its address',
  );
  // back to stories: their own beginning
  await again.page.locator('.pill').click();
  await again.page.locator('dialog.models').getByRole('button', { name: 'stories-5M' }).click();
  await again.page.waitForFunction(
    () =>
      /Once upon a time/.test(document.querySelector('.text').textContent) && document.querySelector('.source').hidden,
  );
  await again.close();
});

test('a neuron is switched off from the picture, and the loss is the library’s', async () => {
  const { page, complaints, close } = await open();
  await runPrompt(page, 'Once upon a time', { tokens: 12 });
  const all = await ids(page);
  await page.locator('.stage', { hasText: 'SwiGLU' }).click();
  const first = page.locator('.anatomy .neurons button').first();
  await first.waitFor();
  const layer = Number(/layer (\d+)/.exec(await page.locator('.anatomy-svg').textContent())?.[1]) - 1;
  const index = Number((await first.textContent()).split(' ')[0]);
  const at = Number(await page.locator('.tok.here').getAttribute('data-position'));
  const point = `blocks.${layer}.mlp.hook_post`;
  const { captured } = await model.forward(all, { capture: [point] });
  const {
    data,
    shape: [, width],
  } = captured[point];
  const row = data.subarray(at * width, (at + 1) * width);
  assert.equal(
    index,
    row.reduce((b, x, i) => (Math.abs(x) > Math.abs(row[b]) ? i : b), 0),
  );
  await first.click();
  await openView(page, 'experiment');
  await page.waitForSelector('.compare .story');
  assert.match(
    await page.locator('.ablate .neurons').textContent(),
    new RegExp(`layer ${layer + 1}, neuron ${index}, off`),
  );
  const shown = (await page.locator('.compare .num').allTextContents())
    .filter((text) => /bits a token/.test(text))
    .map(parseFloat);
  const {
    logits: {
      data: cut,
      shape: [n, size],
    },
  } = await model.forward(all, { edits: [{ at: point, index, scale: 0 }] });
  let bits = 0;
  for (let p = 0; p + 1 < n; p++) {
    const logits = cut.subarray(p * size, (p + 1) * size);
    const max = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    bits += Math.log2(logits.reduce((sum, x) => sum + Math.exp(x - max), 0)) - (logits[all[p + 1]] - max) / Math.LN2;
  }
  assert.ok(
    Math.abs(shown[1] - bits / (n - 1)) < 0.006 * Math.max(1, bits / (n - 1)),
    `shown ${shown[1]}, expected ${bits / (n - 1)}`,
  );
  await page.locator('.ablate .neurons button').click();
  await page.waitForFunction(() => /Everything is on/.test(document.querySelector('.compare').textContent));
  assert.deepEqual(complaints, []);
  await close();
});

test('the guided walk goes from stop to stop by keyboard and sets the page up', async () => {
  const { page, complaints, close } = await open();
  await page.getByRole('button', { name: 'Guided walk' }).focus();
  await page.keyboard.press('Enter');
  const titles = [];
  for (let i = 1; i <= 12; i++) {
    await page.waitForFunction(
      (count) =>
        document.querySelector('.walk .num')?.textContent === count && document.activeElement.matches('.walk .primary'),
      `${i} of 12`,
    );
    titles.push(await page.locator('#h-walk').textContent());
    await page.keyboard.press('Enter');
  }
  assert.equal(new Set(titles).size, 12, titles.join(', '));
  await page.waitForSelector('.walk', { state: 'hidden' });
  assert.deepEqual(complaints, []);
  await close();
});

test('the page opens again without a network', async () => {
  const { page, close } = await open();
  const keeps = await kept(page);
  await page.context().setOffline(true);
  await page.reload();
  await page
    .waitForSelector('.tok', { timeout: 30_000 })
    .catch((error) => assert.fail(`${error.message}; kept: ${keeps.join(' ')}`));
  await runPrompt(page, 'The cat', { tokens: 5 });
  assert.ok((await written(page)) > 0);
  await close();
});

// Text to the end of the context: the end token does not end it. In the view Inside every head is in view, with the
// whole picture.
for (const [device, width, height, view] of [
  ['desktop', 1440, 2000, 'inside'],
  ['phone', 390, 844, 'write'],
]) {
  test(`the main thread stays free while 512 tokens stream with attention: ${device}`, async (t) => {
    const { page, close } = await open({ width, height });
    await kept(page);
    await page.locator('#past').check();
    await prepare(page, 'Once upon a time', { tokens: 600 });
    await openView(page, view);
    await quiet(page);
    const {
      result: { wall, frames },
      tasks: own,
    } = await ownTasks(browser, page, async () => {
      await page.evaluate(() => {
        window.longTasks.length = 0;
        window.frames = [];
        let last = performance.now();
        const frame = (now) => {
          window.frames.push(now - last);
          last = now;
          window.asked = window.quiet.frame(frame);
        };
        window.asked = window.quiet.frame(frame);
      });
      if (view === 'write') {
        await page.locator('.go').click();
        await resting(page);
      } else {
        await page.locator('.strip').getByRole('button', { name: 'Run' }).click();
        await page.locator('.strip').getByRole('button', { name: 'Stop' }).waitFor();
        await quiet(page, () => ![...document.querySelectorAll('.strip button')].some((b) => b.textContent === 'Stop'));
      }
      return page.evaluate(() => {
        cancelAnimationFrame(window.asked);
        return { wall: window.longTasks, frames: window.frames.sort((a, b) => a - b) };
      });
    });
    await openView(page, 'write');
    await quiet(page);
    assert.equal(await page.locator('.tok').count(), model.config.contextLength);
    assert.match(await page.locator('.stream [aria-live]').textContent(), /^Ended at the end of the context/);
    assert.ok(
      await page.locator('.text').evaluate((e) => e.scrollHeight <= e.clientHeight || e.scrollTop > 0),
      'the end of the text is out of sight',
    );
    const list = (tasks) =>
      tasks
        .filter((ms) => ms > 50)
        .map((ms) => `${Math.round(ms)} ms`)
        .join(', ') || 'none';
    const frame = (share) => Math.round(frames[Math.min(frames.length - 1, Math.floor(share * frames.length))]);
    t.diagnostic(
      `longest task ${Math.max(...own).toFixed(1)} ms of the thread's own time; above 50 ms: ${list(own)}; by the wall: ${list(wall)}; frames: median ${frame(0.5)}, 95 of 100 below ${frame(0.95)}, longest ${frame(1)} ms`,
    );
    assert.ok(Math.max(...own) < 75, `the main thread worked for ${Math.max(...own)} ms without a pause`);
    await close();
  });
}

test('with 512 tokens a pixel of a small head is the largest of the weights it stands for', async () => {
  const { page, close } = await open();
  await page.locator('#past').check();
  await runPrompt(page, 'Once upon a time', { tokens: 600 });
  await openView(page, 'inside');
  await page.locator('.heads').scrollIntoViewIfNeeded();
  await quiet(page);
  const { layer, head } = { layer: 3, head: 5 };
  const tile = page.locator(`.tile[aria-label="layer ${layer + 1}, head ${head + 1}"] canvas`);
  // the layers that were not shown while the text was written are read when it rests
  await page.waitForFunction(
    (c) => c.getContext('2d').getImageData(0, c.height - 1, 1, 1).data[3],
    await tile.elementHandle(),
  );
  const { size, pixels } = await tile.evaluate((c) => ({
    size: c.width,
    pixels: [...new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)],
  }));
  const {
    data,
    shape: [, n],
  } = (await model.forward(await ids(page), { capture: [`blocks.${layer}.attn.hook_pattern`] })).captured[
    `blocks.${layer}.attn.hook_pattern`
  ];
  assert.equal(n, 512);
  const wide = n / size;
  assert.ok(size <= 128 && Number.isInteger(wide), `${size} pixels`);
  // the newest token has not been read: its row is missing
  const largest = (y, x) => {
    let most = 0;
    for (let q = y * wide; q < Math.min(n - 1, (y + 1) * wide); q++)
      for (let k = x * wide; k <= Math.min(q, (x + 1) * wide - 1); k++)
        most = Math.max(most, data[(head * n + q) * n + k]);
    return most;
  };
  const lightness = (rgba) => (rgba & 255) + ((rgba >> 8) & 255) + ((rgba >> 16) & 255);
  const seen = [];
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      if (x > y) assert.equal(pixels[y * size + x], 0, 'a masked cell is painted');
      else seen.push([largest(y, x), lightness(pixels[y * size + x])]);
    }
  seen.sort(([a], [b]) => a - b);
  // the palette darkens with the weight, in 256 steps
  const wrong = seen.filter(([, light], i) => i && light > seen[i - 1][1]).length;
  assert.ok(wrong === 0, `${wrong} of ${seen.length} pixels are lighter than one of a smaller weight`);
  assert.ok(seen.at(-1)[1] < seen[0][1] - 200, 'the picture is flat');
  // its address goes past the end as well
  const written = await ids(page);
  await page.waitForFunction(() => /past=1/.test(location.hash) && /written=5\d\d/.test(location.hash));
  const hash = await page.evaluate(() => location.hash);
  await close();
  const again = await open({ hash });
  await openView(again.page, 'write');
  await shows(again.page, async () => (await ids(again.page)).join(), written.join(), 'from its address');
  assert.ok(await again.page.locator('#past').isChecked());
  await again.close();
});

test('a small model opens first, and the better one takes its place unless somebody has begun', async () => {
  for (const touch of [false, true]) {
    const context = await browser.newContext({ reducedMotion: 'reduce', serviceWorkers: 'block' });
    const page = await context.newPage();
    let release = () => {};
    const held = new Promise((resolve) => {
      release = () => resolve(undefined);
    });
    await page.route('**/weights/stories.gguf', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(server.url);
    await page.waitForFunction(
      () => /^stories-1M/.test(document.querySelector('.pill').textContent) && document.querySelector('.tok'),
    );
    if (touch) await page.getByLabel('Prompt', { exact: true }).click();
    const asked = page.waitForResponse('**/weights/stories.gguf');
    release();
    await asked;
    if (touch) {
      await page.waitForTimeout(1000);
      assert.match(await page.locator('.pill').textContent(), /^stories-1M/);
      await page.getByRole('button', { name: 'Step' }).click();
      await page.waitForFunction(
        () => document.querySelector('.tok:not(.given)') && !document.querySelector('.offer').hidden,
      );
      const before = await ids(page);
      await page.getByRole('button', { name: 'Use it' }).click();
      await page.waitForFunction(
        (n) =>
          /^stories-5M/.test(document.querySelector('.pill').textContent) &&
          document.querySelectorAll('.tok').length === n,
        before.length,
      );
      assert.deepEqual(await ids(page), before, 'the text went with the smaller model');
    } else {
      await page.waitForFunction(() => /^stories-5M/.test(document.querySelector('.pill').textContent));
      await page.waitForFunction(() => /Once upon a time/.test(document.querySelector('.text').textContent));
    }
    await context.close();
  }
});

for (const colorScheme of ['light', 'dark']) {
  for (const [device, width, height] of [
    ['desktop', 1440, 900],
    ['phone', 390, 844],
  ]) {
    test(`axe-core finds nothing: ${colorScheme}, ${device}`, async () => {
      const { page, close } = await open({ width, height, colorScheme });
      await runPrompt(page, 'Once upon a time', { tokens: 30 });
      await page.locator('.anatomy').scrollIntoViewIfNeeded(); // what is far out of view is not drawn
      await page.locator('.stage').nth(2).click();
      await page.waitForFunction(() => document.querySelector('.values .cell')?.textContent); // the values are there
      await page.locator('.values-box').press('Enter');
      await page.waitForSelector('.anatomy .explanation tbody tr');
      await page.getByRole('button', { name: /^Explain the (largest|first) term$/ }).click(); // a way of two steps
      await page.waitForSelector('.anatomy .trail .follow');
      const check = async (state) => {
        await quiet(page);
        await page.evaluate(axe);
        const found = await page.evaluate(async () =>
          (await window.axe.run()).violations.map(
            (v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`,
          ),
        );
        assert.deepEqual(found, [], state);
      };
      await check('Write');
      await openView(page, 'inside');
      await page.locator('.matrix').press('ArrowLeft');
      await page.locator('.matrix').press('Enter');
      await page.waitForSelector('.attention .explanation tbody tr');
      await page.locator('.attention .as-table:not(.explain) summary').click();
      await check('Inside');
      await page.locator('.pill').click();
      await check('dialog');
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(over <= 0, `the page is ${over} px too wide`);
      await close();
    });
  }
}

test('320 px is wide enough, and 4K is used', async () => {
  const small = await open({ width: 320, height: 640 });
  assert.ok(
    await small.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    'the page scrolls sideways at 320 px',
  );
  await small.close();
  const large = await open({ width: 3840, height: 2160 });
  const [main, size] = await large.page.evaluate(() => [
    document.querySelector('main').clientWidth,
    parseFloat(getComputedStyle(document.body).fontSize),
  ]);
  assert.ok(main > 2000 && size > 18, `at 4K the page is ${main} px wide in ${size} px type`);
  await large.close();
});

test('the theme is chosen and kept', async () => {
  const { page, close } = await open({ colorScheme: 'light' });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole('button', { name: 'Dark theme' }).click();
  const dark = await paper();
  assert.notEqual(dark, light);
  await page.reload();
  await page.waitForSelector('.tok');
  assert.equal(await paper(), dark);
  await close();
});
