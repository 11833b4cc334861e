// own_features.test.js - dictionaries of the view Features beside the shipped one, in Chromium: one that is trained on the
// page, its files, names and links; the published one of Gemma 3 270M, from a small model of that family
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dictionary, load } from '../../web/lib/api/index.js';
import { ownTexts } from '../../web/page/views/features/own_texts.js';
import { safetensors } from '../node/checkpoint_files.js';
import { randomTensor } from '../node/random_values.js';
import { temporaryFolder } from '../temporary.js';
import { open, pageTest, samePage } from './built_page.js';
import { top } from './expected.js';
import { STORIES, accessible, inAddress, read, says, shows } from './page_parts.js';

const RECIPE = { at: 'blocks.1.hook_resid_post', size: 64, k: 4, tokens: 600, seed: 5 };
const TRAIN = '.train-dictionary .primary';
const shared = { hash: `#view=features&model=${STORIES}` };
const trainTest = samePage(shared);
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, 16);
const hashOf = async (page) => new URLSearchParams((await page.evaluate(() => location.hash)).slice(1));

/** What the view trains, by the library in Node. */
async function trainedHere() {
  const model = await load(`${top}${STORIES}`);
  const texts = await ownTexts(model, RECIPE.tokens + 60, RECIPE.seed, '', new AbortController().signal, () => {});
  const run = dictionary(model, texts, { ...RECIPE, heldOut: 60, epochs: 5 });
  const made = await run.dictionary();
  const files = Object.fromEntries((await made.files()).map(({ name, bytes }) => [name, bytes]));
  model.dispose();
  return files;
}

async function fill(page) {
  await page.locator('#dictionary-layer').selectOption({ label: '2' });
  await page.locator('#dictionary-size').selectOption(String(RECIPE.size));
  await page.locator('#dictionary-k').selectOption(String(RECIPE.k));
  for (const [id, value] of [
    ['#dictionary-tokens', RECIPE.tokens],
    ['#dictionary-seed', RECIPE.seed],
  ]) {
    await page.locator(id).fill(String(value));
    await page.locator(id).press('Tab');
  }
}

trainTest('the training of a dictionary is stopped by its button, and nothing is kept', async ({ page }) => {
  await page.locator('.features-text').getByRole('button', { name: 'Train your own dictionary' }).press('Enter');
  await page.locator(`${TRAIN}:focus`).waitFor();
  await page.locator('#dictionary-tokens').fill('900000');
  await page.locator('#dictionary-tokens').press('Tab');
  await page.locator(TRAIN).press('Enter');
  await says(page, '.dictionary-curves [role="status"]', /The model writes texts: [\d,]+ of 990,000 tokens/);
  await says(page, TRAIN, /^Stop$/);
  await page.locator(TRAIN).press('Enter');
  await says(page, TRAIN, /^Train a dictionary$/);
  assert.equal(await page.locator('.train-dictionary [role="alert"]').count(), 0);
  assert.equal(await page.locator('.features-tokens button').count(), 0);
});

let link = '';
let chosen = '';
/** @type {string} a folder with the files that were saved */
let saved;
trainTest('a dictionary is trained on the loaded model, bit for bit as in Node, and judged', async ({ page }) => {
  await fill(page);
  await page.locator(TRAIN).press('Enter');
  await page.locator('#feature-name').waitFor();
  await page.locator('.dictionary-curves table').waitFor();
  assert.match(await page.locator('.dictionary-curves [role="status"]').innerText(), /^Done, [\d,]+ tokens in five/);
  const curves = await page
    .locator('.two-curves .curves > svg path.curve')
    .evaluateAll((all) => all.map((path) => path.getAttribute('d').split('L').length));
  assert.equal(curves.length, 3); // unexplained, active, never active
  const rows = await page
    .locator('.dictionary-curves tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
  const [own, , random, mean] = rows.map(([, fvu]) => read(fvu));
  assert.ok(own < random && random < mean && Math.abs(mean - 1) < 0.005, JSON.stringify(rows));
  assert.match(
    await page.locator('#h-features').innerText(),
    /64 directions at blocks\.1\.hook_resid_post, trained here with seed 5/,
  );
  await inAddress(page, 'dictionary-sha256', 'weights-sha256');
  const q = await hashOf(page);
  const files = await trainedHere();
  assert.equal(q.get('dictionary-sha256'), sha256(files['sae_weights.safetensors']));
  assert.deepEqual(JSON.parse(q.get('dictionary')), { ...RECIPE, text: '' });
  assert.ok((await page.locator('.feature-contexts mark').count()) >= 1);
  await accessible(page, 'own features');
});

trainTest('its files are saved, and open as the same dictionary', async ({ page }) => {
  saved = temporaryFolder('saved-dictionary');
  mkdirSync(saved, { recursive: true });
  const downloads = [];
  page.on('download', (download) => downloads.push(download));
  await page.getByRole('button', { name: 'Save its files' }).press('Enter');
  await shows(page, async () => downloads.length, 3);
  for (const download of downloads) await download.saveAs(join(saved, download.suggestedFilename()));
  const sha = (await hashOf(page)).get('dictionary-sha256');
  assert.equal(sha256(readFileSync(join(saved, 'sae_weights.safetensors'))), sha);
  const strongest = () => page.locator('.features-list button').allInnerTexts();
  const before = await strongest();
  const names = ['cfg.json', 'sae_weights.safetensors', 'token_table.safetensors'];
  await page.locator('#dictionary-files').setInputFiles(names.map((name) => join(saved, name)));
  await says(page, '#h-features', /from your files/);
  await inAddress(page, 'dictionary=files', `dictionary-sha256=${sha}`);
  await shows(page, async () => (await strongest()).join(), before.join());
  await page.locator(TRAIN).press('Enter');
  await says(page, '#h-features', /trained here/);
});

trainTest('a name stands with its feature, and in the address', async ({ page }) => {
  await inAddress(page, 'weights-sha256');
  await page.locator('#feature-name').fill('  a <b>name</b> of mine ');
  await page.locator('#feature-name').press('Tab');
  await shows(page, () => page.locator('.features-list button').first().innerText(), 'a <b>name</b> of mine');
  await inAddress(page, 'names=');
  chosen = await page.locator('#h-feature').innerText();
  link = await page.evaluate(() => location.hash);
  const q = new URLSearchParams(link.slice(1));
  assert.deepEqual(JSON.parse(q.get('names')), { [q.get('feature')]: 'a <b>name</b> of mine' });
});

trainTest('another model takes its dictionary away', async ({ page }) => {
  await page.locator('.pill:visible').click();
  await page.locator('.models .shipped button').first().click();
  await says(page, '[data-panel="features"] [role="alert"]', /Another model was opened/);
  assert.equal(await page.locator('.features-tokens button').count(), 0);
});

pageTest('a link opens the same feature with its name', {}, async () => {
  assert.ok(link, 'the test before has the link');
  const { page, complaints, close } = await open({ hash: link });
  const note = page.locator('[data-role="link"]');
  await says(page, '[data-role="link"]', /trained at blocks\.1\.hook_resid_post.*calls it “a <b>name<\/b> of mine”/);
  assert.equal(await page.locator('#dictionary-size').inputValue(), '64');
  await page.locator(TRAIN).press('Enter');
  await says(page, '[data-role="link"]', /those of the link: the SHA-256 is the same/);
  await shows(page, () => page.locator('#h-feature').innerText(), chosen);
  assert.equal(await page.locator('#feature-name').inputValue(), 'a <b>name</b> of mine');
  // another seed is another dictionary, to which the name does not belong
  await page.locator('#dictionary-seed').fill('6');
  await page.locator('#dictionary-seed').press('Tab');
  await page.locator(TRAIN).press('Enter');
  await says(page, '[data-role="link"]', /not the dictionary of the link/);
  assert.equal(await page.locator('#feature-name').inputValue(), '');
  assert.match(await note.getAttribute('class'), /wrong/);
  assert.deepEqual(complaints, []);
  await close();
});

const SHIPPED = sha256(readFileSync(`${top}weights/dictionaries/stories/sae_weights.safetensors`));
pageTest(
  'a link to the shipped dictionary opens its feature',
  { hash: `#view=features&feature=172&names=${encodeURIComponent('{"172":"moral"}')}&dictionary-sha256=${SHIPPED}` },
  async ({ page }) => {
    await says(page, '[data-role="link"]', /feature 172 of the shipped dictionary.*“moral”/);
    await page.locator('[data-panel="features"] .primary').press('Enter');
    await says(page, '[data-role="link"]', /SHA-256 is the same/);
    await says(page, '#h-feature', /Feature 172/);
    assert.equal(await page.locator('#feature-name').inputValue(), 'moral');
    await inAddress(page, 'feature=172', 'weights-sha256');
  },
);

// ---- the published dictionary of Gemma 3 270M: its shapes where they tell it, everything else small

const [D, LAYERS, FEATURES] = [640, 18, 48];
const TOKENIZER = readFileSync(`${top}weights/dates/tokenizer.json`);
const VOCABULARY = Object.keys(JSON.parse(TOKENIZER).model.vocab).length;
const GEMMA = {
  ...JSON.parse(readFileSync(`${top}tests/golden/cases/gemma3_text_scaled/config.json`, 'utf8')),
  ...{ hidden_size: D, num_hidden_layers: LAYERS, num_attention_heads: 1, head_dim: 16, intermediate_size: 16 },
  ...{ layer_types: Array(LAYERS).fill('full_attention'), vocab_size: VOCABULARY, query_pre_attn_scalar: 16 },
};
function gemmaWeights() {
  let seed = 1;
  /** @type {Record<string, any>} */
  const all = {};
  const put = (name, shape, most = 0.08) => (all[name] = { shape, data: randomTensor(shape, seed++, most) });
  put('model.embed_tokens.weight', [VOCABULARY, D], 1);
  put('model.norm.weight', [D]);
  for (let i = 0; i < LAYERS; i++) {
    const at = `model.layers.${i}.`;
    for (const name of [
      'input_layernorm',
      'post_attention_layernorm',
      'pre_feedforward_layernorm',
      'post_feedforward_layernorm',
    ])
      put(`${at}${name}.weight`, [D]);
    for (const name of ['q_norm', 'k_norm']) put(`${at}self_attn.${name}.weight`, [16]);
    for (const name of ['q_proj', 'k_proj', 'v_proj']) put(`${at}self_attn.${name}.weight`, [16, D]);
    put(`${at}self_attn.o_proj.weight`, [D, 16]);
    for (const name of ['gate_proj', 'up_proj']) put(`${at}mlp.${name}.weight`, [16, D]);
    put(`${at}mlp.down_proj.weight`, [D, 16]);
  }
  return safetensors(all);
}
const tensor = (shape, seed, most) => ({ shape, data: randomTensor(shape, seed, most) });
const SCOPE = {
  w_enc: tensor([D, FEATURES], 901, 0.05),
  w_dec: tensor([FEATURES, D], 902, 0.05),
  b_enc: tensor([FEATURES], 903, 0.1),
  b_dec: tensor([D], 904, 0.1),
  threshold: { shape: [FEATURES], data: new Float32Array(FEATURES).fill(0.5) },
};
const HUB = 'https://huggingface.co/google/';
const FOLDER = 'gemma-scope-2-270m-pt/resolve/main/resid_post/layer_12_width_16k_l0_medium/';
const files = {
  'gemma-3-270m/resolve/main/config.json': JSON.stringify(GEMMA),
  'gemma-3-270m/resolve/main/model.safetensors': gemmaWeights(),
  'gemma-3-270m/resolve/main/tokenizer.json': TOKENIZER,
  [`${FOLDER}config.json`]: JSON.stringify({
    ...{ architecture: 'jump_relu', hf_hook_point_in: 'model.layers.12.output', width: FEATURES },
    model_name: 'google/gemma-3-270m-pt',
  }),
  [`${FOLDER}params.safetensors`]: safetensors(SCOPE),
};
/** @type {string[]} of the dictionary's weights */
const fetched = [];
const hub = (page) =>
  page.route(`${HUB}**`, (route) => {
    const name = route.request().url().slice(HUB.length);
    if (name.endsWith('params.safetensors')) fetched.push(name);
    const body = files[name];
    const headers = { 'access-control-allow-origin': '*' };
    return route.fulfill(body ? { body: Buffer.from(body), headers } : { status: 404, headers });
  });

/** What a JumpReLU dictionary gives for a row, by plain loops in double precision. */
function activations(row) {
  return Array.from({ length: FEATURES }, (_, i) => {
    let sum = SCOPE.b_enc.data[i];
    for (let c = 0; c < D; c++) sum += row[c] * SCOPE.w_enc.data[c * FEATURES + i];
    return sum > SCOPE.threshold.data[i] ? sum : 0;
  });
}

pageTest(
  'Gemma 3 270M gets its published dictionary when the visitor asks',
  { ...shared, prepare: hub, expects: /404/ },
  async ({ page }) => {
    const card = page.locator('[data-panel="other-dictionaries"]');
    assert.equal(await card.locator('[data-role="published"]').count(), 0); // not for a story model
    await page.locator('.pill:visible').click();
    await page.locator('#model-address').fill('hf:google/gemma-3-270m');
    await page.locator('#model-address').press('Enter');
    const button = card.locator('[data-role="published"]');
    await button.waitFor();
    assert.match(await card.innerText(), /84\.0 MB to download/);
    const panels = await page.locator('[data-panel]:visible').evaluateAll((all) => all.map((one) => one.dataset.panel));
    assert.ok(panels.indexOf('other-dictionaries') < panels.indexOf('features'), `${panels}`); // before the story model's
    assert.deepEqual(fetched, []);
    await button.press('Enter');
    await says(page, '#h-features', /48 directions at blocks\.12\.hook_resid_post/);
    await page.locator('.features-list li').first().waitFor();
    assert.equal(fetched.length, 1);

    const text = await page.locator('#features-text').inputValue();
    const model = await load(
      {
        weights: files['gemma-3-270m/resolve/main/model.safetensors'],
        config: GEMMA,
        tokenizer: JSON.parse(TOKENIZER),
      },
      { dtype: 'q8_0' }, // as the page loads it
    );
    const ids = await model.encode(text);
    const { captured } = await model.forward(ids, { capture: ['blocks.12.hook_resid_post'], logits: 'none' });
    const rows = captured['blocks.12.hook_resid_post'].data;
    const want = activations(rows.subarray(rows.length - D));
    model.dispose();
    const listed = await page
      .locator('.features-list li')
      .evaluateAll((all) =>
        all.map((item) => [item.querySelector('button').textContent, item.querySelector('.hint').textContent]),
      );
    assert.equal(listed.length, Math.min(8, want.filter(Boolean).length));
    const most = Math.max(...want);
    for (const [name, said] of listed) {
      const index = Number(/\d+/.exec(name)[0]);
      const value = read(said.replace('activation ', ''));
      assert.ok(Math.abs(value - want[index]) < 0.03 * most, `feature ${index}: ${value}, ${want[index]}`);
    }
    const first = Number(/\d+/.exec(listed[0][0])[0]);
    const elsewhere = page.locator('.feature-card a');
    assert.equal(
      await elsewhere.getAttribute('href'),
      `https://www.neuronpedia.org/gemma-3-270m/12-gemmascope-2-res-16k/${first}`,
    );
    assert.ok((await page.locator('.feature-contexts mark').count()) >= 1);
    await page.locator('.dose-texts .primary').press('Enter');
    await page.locator('.dose-columns').waitFor();
    await says(page, '.dose-texts .primary', /Write three texts/);
    assert.equal(await page.locator('.dose-columns dd').count(), 3);

    // it is kept: the second time nothing is fetched
    await page.locator('.pill:visible').click();
    await page.locator('.models .shipped button').first().click();
    await says(page, '[data-panel="features"] [role="alert"]', /Another model was opened/);
    await page.locator('.pill:visible').click();
    await page.locator('#model-address').fill('hf:google/gemma-3-270m');
    await page.locator('#model-address').press('Enter');
    await button.press('Enter');
    await says(page, '#h-features', /48 directions/);
    assert.equal(fetched.length, 1);
  },
);
