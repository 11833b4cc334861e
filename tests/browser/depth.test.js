// depth.test.js - the depth laboratory of the built page in Chromium: its values against the library in Node
import assert from 'node:assert/strict';
import { depth } from '../../web/lib/api/index.js';
import { until } from '../patience.js';
import { pageTest } from './built_page.js';
import { STORY, counts, openView, says } from './page_parts.js';

pageTest('depth: Stop ends the measuring worker and keeps earlier results', STORY, async ({ page }) => {
  await openView(page, 'experiment');
  // the view opens with a text of a second model, in a worker of its own, which ends
  await says(page, '.live .outcome', /differ/);
  const workers = 1;
  await until(() => page.workers().length === workers, 'the worker of the second model has ended');
  const press = (name) => page.locator('#depth').getByRole('button', { name, exact: true }).press('Enter');
  await page.waitForSelector('.depth circle');
  const onlyThose = () => until(() => page.workers().length === workers, 'the worker has ended'); // the browser reports it late
  await onlyThose();
  await page.locator('#depth-layers').fill('64');
  await page.locator('#depth-width').selectOption('128');
  await press('Measure');
  await until(() => page.workers().length > workers, 'a worker measures');
  await press('Stop');
  await says(page, '#depth output[aria-live]', /^Stopped/);
  await onlyThose();
  await page.locator('#depth .as-table').evaluate((d) => {
    d.open = true;
  });
  assert.equal(await page.locator('#depth tbody tr').count(), 32);
  await page.locator('#depth-layers').fill('8');
  await page.locator('#depth-width').selectOption('32');
  await press('Measure');
  await counts(page, '#depth tbody tr', 8);
  assert.equal(await page.locator('#depth output[aria-live]').textContent(), '');
});

pageTest(
  "depth: picture and text have the library's values, and the last layers agree with Xiong et al.",
  STORY,
  async ({ page }, t) => {
    await openView(page, 'experiment');
    await page.waitForSelector('.depth circle');
    await page.locator('#depth .as-table').evaluate((d) => {
      d.open = true;
    });
    const last = [];
    for (const layers of [32, 16, 64]) {
      if (layers !== 32) {
        await page.locator('#depth-layers').fill(String(layers));
        await page.locator('#depth').getByRole('button', { name: 'Measure' }).press('Enter');
        await counts(page, '#depth tbody tr', layers);
      }
      const heights = await page
        .locator('.depth figure')
        .evaluateAll((list) =>
          list.map((f) =>
            [0, 1].map((kind) =>
              [...f.querySelectorAll(`circle.kind-${kind}`)].map((c) => Number(c.getAttribute('cy'))),
            ),
          ),
        );
      assert.deepEqual(
        heights.flat().map((list) => list.length),
        [layers, layers, layers, layers],
      );
      const rows = await page.locator('#depth tbody tr').evaluateAll((list) =>
        list.map((row) =>
          [...row.cells].slice(1).map((c) =>
            Number(
              c.textContent
                .replace(' × 10', 'e')
                .replace('⁻', '-')
                .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, (x) => String('⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(x))),
            ),
          ),
        ),
      );
      const [[pre, post, carried, bare]] = rows;
      const shown = parseFloat(await page.locator('[data-role="factor"]').textContent());
      assert.ok(
        post < pre && Math.abs(pre / post / shown - 1) < 0.1,
        `pre-norm ${pre}, post-norm ${post}, shown ${shown}`,
      );
      assert.ok(bare < 1e-6 * carried, `residuals ${carried}, neither ${bare}`);
      assert.ok(
        heights[0][0][0] < heights[0][1][0] && heights[0][0][0] < heights[0][0][layers - 1],
        'more gradient is higher up',
      );
      const said = await page.locator('.depth-result').textContent();
      assert.match(said, /less than under pre-norm/);
      t.diagnostic(`${layers} layers: ${said.slice(said.indexOf('Pre-norm:'), said.indexOf('Xiong'))}`);
      if (layers <= 32) {
        const config = {
          kind: 'decoder',
          d_model: 64,
          n_layers: layers,
          n_heads: 4,
          d_ff: 256,
          context_length: 64,
          norm: 'layernorm',
          ffn: 'gelu_erf',
          position: 'learned',
        };
        const ways = [{}, { norm_placement: 'post' }, { use_norm: false }, { use_norm: false, use_residual: false }];
        for (const [i, way] of ways.entries()) {
          const want = await depth({ ...config, ...way }, { seed: 1, tokens: 64 });
          want.forEach(({ weights }, l) =>
            assert.ok(
              Math.abs(rows[l][i] - weights) <= 0.06 * weights,
              `${JSON.stringify(way)}, layer ${l}: shown ${rows[l][i]}, measured ${weights}`,
            ),
          );
        }
      }
      last.push(rows[layers - 1]);
    }
    // four times the layers: half the gradient in the last one under pre-norm, the same under post-norm
    const [, of16, of64] = last;
    assert.ok(of16[0] / of64[0] > 1.6 && of16[0] / of64[0] < 2.5, `pre-norm: ${of16[0]} and ${of64[0]}`);
    assert.ok(of16[1] / of64[1] > 0.9 && of16[1] / of64[1] < 1.1, `post-norm: ${of16[1]} and ${of64[1]}`);
    await page.locator('#depth-shows').selectOption('stream');
    await says(page, '#depth caption', /^size of the residual stream/);
    assert.deepEqual(
      await page
        .locator('#depth tbody tr')
        .evaluateAll((list) => [...new Set(list.map((row) => Math.round(Number(row.cells[2].textContent) * 100)))]),
      [100],
      'post-norm keeps the stream at 1',
    );
  },
);
