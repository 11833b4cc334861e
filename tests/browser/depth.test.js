// depth.test.js - the depth laboratory of the built page in Chromium: its values against the library in Node.
// tests/node/panel_texts.test.js has what it says of them.
import assert from 'node:assert/strict';
import { depth } from '../../web/lib/api/index.js';
import { until } from '../patience.js';
import { WAYS } from '../../web/page/views/experiment/depth_measurement.js';
import { pageTest } from './built_page.js';
import { STORY, cells, counts, openView, read, says } from './page_parts.js';

pageTest(
  'Stop ends the measuring worker and keeps earlier results; picture and table have what is measured',
  STORY,
  async ({ page }) => {
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
    await page.locator('#depth-width').selectOption('64');
    await press('Measure');
    await counts(page, '#depth tbody tr', 8);
    assert.equal(await page.locator('#depth output[aria-live]').textContent(), '');
    const config = { kind: 'decoder', d_model: 64, n_layers: 8, n_heads: 4, d_ff: 256, context_length: 64 };
    const how = { ...config, norm: 'layernorm', ffn: 'gelu_erf', position: 'learned' };
    const rows = await cells(page, '#depth tbody tr');
    for (const [i, changes] of Object.values(WAYS).entries()) {
      const want = (await depth({ ...how, ...changes }, { seed: 1, tokens: 64 })).map(({ weights }) => weights);
      want.forEach((x, layer) => {
        const shown = read(rows[layer][i + 1]);
        assert.ok(Math.abs(shown - x) <= 0.06 * x, `${Object.keys(WAYS)[i]}, layer ${layer}: ${shown}, measured ${x}`);
      });
    }
    const [pre, post] = await Promise.all(
      [0, 1].map((kind) =>
        page
          .locator(`.depth figure >> nth=0 >> circle.kind-${kind}`)
          .evaluateAll((list) => list.map((dot) => Number(dot.getAttribute('cy')))),
      ),
    );
    assert.deepEqual([pre.length, post.length], [8, 8]);
    assert.ok(pre[0] < post[0] && pre[0] < pre[7], 'more gradient is higher up');
    await page.locator('#depth-shows').selectOption('stream');
    await says(page, '#depth caption', /^size of the residual stream/);
  },
);
