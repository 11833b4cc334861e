// page.test.js - the page with Gemma 3 270M: it loads the file from another server, and writes what Node writes
import assert from 'node:assert/strict';
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { pageTest } from '../browser/built_page.js';
import { complete, writtenText } from '../browser/page_parts.js';
import { expected } from './expected_values.js';
import { real } from './fetch.js';

const FILE = 'gemma-3-270m-q4_k_m.gguf';
const TOKENS = 12;

const files = createServer((request, response) => {
  response.setHeader('access-control-allow-origin', '*');
  if (request.url !== `/${FILE}`) return response.writeHead(404).end();
  response.setHeader('content-length', statSync(join(real, FILE)).size);
  createReadStream(join(real, FILE)).pipe(response);
});
await new Promise((resolve) => files.listen(0, '127.0.0.1', () => resolve(undefined)));
after(() => files.close());
const url = `http://127.0.0.1:${/** @type {any} */ (files.address()).port}/${FILE}`;
const { prompt } = expected.gemma;

pageTest(
  'the page writes the text that Node writes',
  `#model=${encodeURIComponent(url)}&prompt=${encodeURIComponent(prompt)}&t=0&written=${TOKENS}`,
  async ({ page }) => {
    await complete(page, TOKENS);
    const model = await load(join(real, FILE));
    try {
      const { text } = await model.complete(prompt, { temperature: 0, maxTokens: TOKENS });
      assert.equal(await writtenText(page), text);
    } finally {
      model.dispose();
    }
  },
);
