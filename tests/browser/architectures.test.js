// architectures.test.js - made models of unusual architectures in Chromium: every view of the model, no gap in any text,
// no error, and the parts of the architecture that is loaded. tests/node/architectures_page.test.js and stages.test.js
// have the words about each concept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visit } from './built_page.js';
import { openView as open, point, says } from './page_parts.js';
import { quiet } from './quiet.js';

const SMALL = { vocab_size: 256, d_model: 32, n_layers: 3, n_heads: 4, d_ff: 48, context_length: 96 };
const WRITTEN = 4;
const made = (/** @type {any} */ config) =>
  `#made=${encodeURIComponent(JSON.stringify({ ...SMALL, ...config, seed: 3 }))}&prompt=Once upon a ti&seed=3&t=1` +
  `&written=${WRITTEN}&head=0.1${config.kind === 'encoder_decoder' ? '&source=two words' : ''}`;

/** @param {any} page @param {string} view */
async function openView(page, view) {
  await open(page, view);
  await quiet(page);
}

/** Lines of a view with a gap where a word or number belongs. */
const gaps = (/** @type {any} */ page) =>
  page
    .locator('body')
    .innerText()
    .then((/** @type {string} */ text) =>
      text.split('\n').filter((line) => /undefined|NaN|\[object|\bnull\b/.test(line)),
    );

/** Title, sentence, formula and numbers of a stage. @param {any} page @param {string | RegExp} title @param {number} [nth] */
async function openStage(page, title, nth = 0) {
  const stage = page.locator('.anatomy .stage', { hasText: title }).nth(nth);
  if ((await stage.getAttribute('aria-pressed')) === 'false') await stage.press('Enter');
  await page.waitForFunction(
    (/** @type {any} */ element) => element.getAttribute('aria-pressed') === 'true',
    await stage.elementHandle(),
  );
  await page.locator('.inspector .stage-facts dd').first().waitFor();
  await quiet(page);
  return page.locator('.stage-text').innerText();
}

/** Views of the model are opened and read. @param {any} page @param {string[]} [views]  those that are drawn from it */
async function readViews(page, views = ['write', 'inside', 'count', 'experiment']) {
  for (const view of views) {
    await openView(page, view);
    assert.deepEqual(await gaps(page), [], view);
  }
}

/**
 * A visit to a made model.
 * @param {any} config
 * @param {(page: any) => Promise<void>} look
 * @param {number} [written]  tokens
 */
async function seen(config, look, written = WRITTEN) {
  const { page, complaints, close } = await visit({ hash: made(config) });
  await page.waitForFunction(
    (/** @type {number} */ n) =>
      /random weights/.test(document.querySelector('.pill')?.textContent ?? '') &&
      document.querySelectorAll('.tok:not(.given)').length === n,
    written,
  );
  await readViews(page);
  await look(page);
  assert.deepEqual(complaints, []);
  await close();
}

test('parallel blocks with ALiBi: one sum in the picture, formula and parameters of the architecture', async () => {
  await seen({ parallel_residual: true, position: 'alibi', norm: 'layernorm', ffn: 'gelu_tanh' }, async (page) => {
    await openView(page, 'inside');
    assert.match(await openStage(page, /^Out\[/), /a = W_o z[^]*Parameters\s+1,024/);
    assert.equal((await page.locator('.lane .plus').first().getAttribute('d')).split('M').length - 1, 1);
  });
});

test('attention alone, without norms: neither FFN nor norm in the picture and the switches', async () => {
  const config = { ffn: 'none', d_ff: 0, norm: 'none', position: 'learned', tie_word_embeddings: false };
  await seen(config, async (page) => {
    await openView(page, 'inside');
    assert.equal(await page.locator('.anatomy .stage', { hasText: /norm|FFN|SwiGLU/i }).count(), 0);
    await openView(page, 'experiment');
    assert.equal(await page.locator('.switches button', { hasText: 'FFN' }).count(), 0);
    assert.ok(!(await page.locator('.live .ideas button').allInnerTexts()).some((idea) => /norm/.test(idea)));
  });
});

test('sandwich norms, soft caps, GEGLU and windows by layer: both norms, the caps, the window of the layer', async () => {
  const config = {
    norm_placement: 'sandwich',
    ffn: 'geglu_tanh',
    score_softcap: 20,
    logit_softcap: 30,
    score_scale: 0.25,
    sliding_window: 5,
    window_layers: [true, false],
  };
  await seen(config, async (page) => {
    await openView(page, 'inside');
    assert.equal(await page.locator('.anatomy .stage', { hasText: /^RMSNorm/ }).count(), 4);
    assert.match(
      await openStage(page, '4 heads'),
      /the 4 before it[^]*soft cap keeps each score between −20 and 20[^]*softmax\(20 tanh\(0\.25 · q kᵀ \/ 20\) \+ mask\)/,
    );
    const steps = page.getByRole('radiogroup', { name: 'Stage of the score' }).getByRole('radio');
    assert.deepEqual(await steps.allInnerTexts(), ['scores', '× 0.25', 'capped, masked', 'softmax']);
    await page.getByRole('button', { name: 'Next layer' }).click();
    assert.match(await openStage(page, '4 heads'), /every key before it\. Other layers use a sliding window/);
  });
});

test('norms of outputs and of whole q and k: the values of the stage, and refusals are sentences', async () => {
  await seen({ norm_placement: 'output', qk_norm: true, qk_norm_span: 'projection' }, async (page) => {
    await openView(page, 'inside');
    await openStage(page, 'qkv');
    assert.match(await page.locator('.inspector').innerText(), /q, before its norm/);
    await page.locator('.lens-card').scrollIntoViewIfNeeded();
    await page.locator('.lens td.n').first().waitFor();
    await quiet(page);
    const hints = (await page.locator('.lens-card .hint').allInnerTexts()).join('\n');
    assert.match(
      hints,
      /Each cell is the most likely next token[^]*(add up to|attribution cannot divide a logit where .*\.$)/,
    );
  });
});

test('experts in every second layer: how many of them work on a token, and the layer without', async () => {
  await seen({ n_experts: 6, n_experts_used: 2, d_expert: 24, expert_layers: [true, false] }, async (page) => {
    await openView(page, 'inside');
    // 6 × (3 × 24 × 32) and the router's 6 × 32
    assert.match(await openStage(page, 'Experts, 2 of 6'), /each of 6 small FFNs[^]*Parameters\s+14,016/);
    assert.match(await page.locator('.inspector').innerText(), /router, before softmax/);
    await page.getByRole('button', { name: 'Next layer' }).click();
    assert.match(await openStage(page, 'SwiGLU'), /32 numbers become 48/);
    await openView(page, 'count');
    assert.match(await page.locator('.parameters tfoot').innerText(), /active per token/);
  });
});

test('BERT: an encoder with a head for masked words writes nothing and shows both ways of attention', async () => {
  const config = {
    kind: 'encoder',
    norm: 'layernorm',
    norm_placement: 'post',
    final_norm: false,
    position: 'learned',
    embed_norm: true,
    n_token_types: 2,
    ffn: 'gelu_erf',
    bias_qkv: true,
    bias_attn_out: true,
    bias_ffn: true,
    bias_head: true,
    mlm_head: true,
    pooler: true,
  };
  await seen(
    config,
    async (page) => {
      await readViews(page, ['train', 'learn']);
      await openView(page, 'inside');
      assert.match(await openStage(page, /^Embed/), /type/);
      assert.match(await openStage(page, '4 heads'), /softmax/);
      assert.match(await openStage(page, 'Head, Pooler'), /\[MASK\][^]*pooler[^]*tanh\(W x₀ \+ b\)/);
      await openView(page, 'count');
      assert.match(
        await page.locator('.parameters').innerText(),
        /Transform before the head\s+d² \+ 2 · d \+ 32 biases/,
      );
    },
    0,
  );
});

test('T5: biases of distances instead of positions, and the factor of the logits in the explanation', async () => {
  const config = {
    kind: 'encoder_decoder',
    n_encoder_layers: 2,
    position: 'none',
    relative_buckets: 8,
    relative_max_distance: 20,
    scale_scores: false,
    logit_scale: 32 ** -0.5,
    ffn: 'relu',
  };
  await seen(config, async (page) => {
    await readViews(page, ['train', 'learn']);
    await openView(page, 'inside');
    assert.match(await openStage(page, /^Scores/), /logits = 0\.1768 · E x/);
    await point(page, '.anatomy .bar-hit', 'Explain');
    await page.locator('.part-card p', { hasText: /^= row/ }).waitFor();
    await quiet(page);
    const said = await page.locator('.part-card').innerText();
    assert.match(said, /times 0\.1768/);
    assert.doesNotMatch(said, /\d\.0*[1-9]\d{7}/);
    await openView(page, 'count');
    assert.match(await page.locator('.parameters').innerText(), /Relative position bias[^]*buckets · h/);
  });
});

test('an encoder with other heads than the decoder: its own grid, links, switches', async () => {
  const config = { kind: 'encoder_decoder', n_encoder_layers: 2, n_encoder_heads: 8, position: 'learned' };
  await seen(config, async (page) => {
    await openView(page, 'inside');
    const heads = (/** @type {number} */ n) =>
      page.waitForFunction((/** @type {number} */ all) => document.querySelectorAll('.grid .tile').length === all, n);
    const choose = (/** @type {string} */ stack) => page.getByRole('radio', { name: stack, exact: true }).click();
    await heads(3 * 4);
    await choose('encoder');
    await heads(2 * 8);
    await page.locator('.grid .tile').last().click();
    await says(page, '[data-panel="attention"] h2', /layer 2, head 8/i);
    await quiet(page);
    assert.match(await page.locator('.anatomy').textContent(), /layer 2, head 4 of 4/); // it draws the decoder
    await choose('decoder');
    await says(page, '[data-panel="attention"] h2', /head 4/i);
    await heads(3 * 4);
    await openView(page, 'experiment');
    const titles = await page.locator('.switches button').evaluateAll((all) => all.map(({ title }) => title));
    assert.equal(titles.length, 2 * (8 + 1) + 3 * (4 + 1 + 4));
    assert.ok(titles.some((title) => title.startsWith('encoder layer 2, head 8')));
  });
});
