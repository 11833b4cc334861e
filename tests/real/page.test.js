// page.test.js - the page opens the file of Gemma 3 270M and writes what Node writes
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { load } from '../../web/lib/api/index.js';
import { pageTest } from '../browser/built_page.js';
import { fast, run, says, writtenText } from '../browser/page_parts.js';
import { expected } from './expected_values.js';
import { real } from './fetch.js';

const GEMMA = join(real, 'gemma-3-270m-q4_k_m.gguf');
const TOKENS = 12;
const { prompt } = expected.gemma;

pageTest(
  'the page writes the text that Node writes',
  `#model=weights/stories-1m.gguf&prompt=${encodeURIComponent(prompt)}&t=0`,
  async ({ page }) => {
    await page.locator('#model-file').setInputFiles(GEMMA);
    await says(page, '.pill', /^Gemma 3 270m/);
    await page.getByLabel('Prompt', { exact: true }).fill(prompt);
    await fast(page, TOKENS);
    await run(page);
    const model = await load(GEMMA);
    try {
      const { text } = await model.complete(prompt, { temperature: 0, maxTokens: TOKENS });
      assert.equal(await writtenText(page), text);
    } finally {
      model.dispose();
    }
  },
);
