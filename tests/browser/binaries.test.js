// binaries.test.js - every binary gives the same numbers: logits of the shipped model in Chromium,
// from each binary and from each tier of V8's compiler, are those of Node bit for bit.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { launch } from '../../scripts/chromium.js';
import { serve } from '../../scripts/serve.js';
import { load } from '../../web/lib/index.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const model = 'weights/stories-3m.gguf';
const skip = !existsSync(top + model) && `${model} is missing`;
const text = 'Once upon a time, there was a little girl named Lily. She loved to play outside in the sun.';

const folder = mkdtempSync(join(tmpdir(), 'glassformer-binaries-'));
let server, expected;

before(async () => {
  writeFileSync(join(folder, 'index.html'), '<!doctype html><html><head><title></title></head><body><script type="module" src="./main.js"></script></body></html>\n');
  writeFileSync(join(folder, 'main.js'), `
import { load } from ${JSON.stringify(join(top, 'web/lib/index.js'))};
window.logits = async (text, backend) => {
  const model = await load(new URL('/${model}', document.baseURI), { backend });
  const { logits } = await model.forward(text);
  const used = model.backend;
  model.dispose();
  return { used, bits: Array.from(new Uint32Array(logits.data.buffer)) };
};
`);
  await build({ root: folder, base: './', configFile: false, logLevel: 'error', publicDir: false, build: { target: 'es2022' } });
  server = await serve(join(folder, 'dist'), { also: { '/weights/': join(top, 'weights') } });
  if (skip) return;
  const engine = await load(top + model);
  expected = new Uint32Array((await engine.forward(text)).logits.data.buffer);
  engine.dispose();
});

after(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

for (const [tier, flag] of [['first', '--liftoff-only'], ['optimising', '--no-liftoff']]) {
  for (const backend of ['simd', 'relaxed']) {
    test(`${backend} in Chromium, V8's ${tier} tier`, { skip }, async () => {
      const browser = await launch({ args: [`--js-flags=${flag}`] });
      try {
        const page = await browser.newPage();
        await page.goto(server.url);
        await page.waitForFunction(() => window.logits);
        const { used, bits } = await page.evaluate(([text, backend]) => window.logits(text, backend), [text, backend]);
        assert.match(used, new RegExp(backend));
        assert.equal(bits.length, expected.length);
        const at = bits.findIndex((value, i) => value !== expected[i]);
        assert.equal(at, -1, `logit ${at} differs`);
      } finally {
        await browser.close();
      }
    });
  }
}
