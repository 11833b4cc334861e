// extras.test.js - the package built without one extra, a folder of tests/layout.json: it loads, generates and captures,
// and the call that needs the extra names it
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { temporaryFolder } from '../temporary.js';
import { splitWorker } from '../../scripts/split_worker.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const model = join(top, 'weights/stories-1m.gguf');
const layout = JSON.parse(readFileSync(join(top, 'tests/layout.json'), 'utf8'));
const folder = temporaryFolder('extras');
symlinkSync(join(top, 'node_modules'), join(folder, 'node_modules'));

const common = {
  bundle: true,
  target: 'es2022',
  platform: 'neutral',
  external: ['node:*'],
  mainFields: ['module', 'main'],
};

/**
 * The source tree without one folder, and what is built from it.
 * @param {string} extra
 */
async function packageWithout(extra) {
  const lib = join(folder, extra, 'web/lib'),
    dist = join(folder, extra, 'dist');
  const without = (path) => ![join(top, 'web/lib', extra), join(top, 'web/lib/wasm')].includes(path);
  cpSync(join(top, 'web/lib'), lib, { recursive: true, filter: without });
  writeFileSync(join(folder, extra, 'package.json'), '{ "type": "module" }');
  const [{ core, more }] = await Promise.all([
    splitWorker(common, lib),
    build({ ...common, entryPoints: [join(lib, 'index.js')], outfile: join(dist, 'index.js'), format: 'esm' }),
  ]);
  writeFileSync(join(dist, 'worker.js'), core);
  writeFileSync(join(dist, 'worker_more.js'), more);
  for (const each of [lib, dist]) symlinkSync(join(top, 'web/lib/wasm'), join(each, 'wasm'));
  return { lib, library: await import(pathToFileURL(join(dist, 'index.js')).href) };
}

/** A call that needs the extra. @type {Record<string, (library: any, model: any, lib: string) => Promise<unknown>>} */
const CALLS = {
  constrain: (_, loaded) => loaded.generate('Once', { maxTokens: 4, json: { type: 'number' } }).next(),
  pytorch: ({ load }) => load(join(top, 'tests/golden/pytorch/mingpt.pt'), { worker: true }),
  llama2c: ({ load }) => load(new Uint8Array([0x32, 0x34, 0x6b, 0x61, 1, 0, 0, 0]), { worker: true }),
  adapters: ({ load }) => load(model, { worker: true, adapters: [{ source: 'adapter.gguf' }] }),
  infer: ({ load }) => load(join(top, 'tests/golden/pytorch/mingpt.pt'), { worker: true }),
  beams: (_, loaded) => loaded.generate('Once', { maxTokens: 4, beams: 2 }).next(),
  analysis: (_, loaded) => loaded.matrix('embed.weight'),
  explain: (_, loaded) => loaded.explain([1, 2], { at: 'blocks.0.hook_resid_post', index: 0 }),
  cache: ({ load }) => load(model, { worker: true, cache: 'file', cacheDir: join(folder, 'cached') }),
  node: ({ load }) => load(model, { worker: true }),
  encoders: (_, loaded) => loaded.embed('Once'),
  train: ({ train }) => train({ d_model: 16, n_layers: 1, n_heads: 2 }, 'a text', { steps: 1 }).next(),
  labs: (_, __, lib) => promisify(execFile)(process.execPath, [join(lib, 'cli/cli.js'), 'lab', 'cache']),
  convert: (_, __, lib) =>
    promisify(execFile)(process.execPath, [join(lib, 'cli/cli.js'), 'convert', model, join(folder, 'out.gguf')]),
};

for (const extra of Object.keys(layout.extras)) {
  test(`without ${extra}/ the package loads, generates and captures, and names what is missing`, async () => {
    const { lib, library } = await packageWithout(extra);
    const loaded = await library.load(readFileSync(model), { worker: true });
    try {
      let text = '';
      for await (const step of loaded.generate('Once upon a time', { maxTokens: 8, temperature: 0 })) text += step.text;
      assert.ok(text.length > 8, text);
      const { captured } = await loaded.forward('Once', { capture: ['blocks.0.hook_resid_post'] });
      assert.equal(captured['blocks.0.hook_resid_post'].shape.at(-1), loaded.config.dModel);
      if (!['cli', 'apps', 'elements'].includes(extra))
        // nothing in the core calls it
        await assert.rejects(CALLS[extra](library, loaded, lib), (error) => {
          const said = `${error.stderr ?? ''}${error.message}`;
          assert.match(said, new RegExp(`this call needs the extra ${extra}, `));
          return (
            error.stderr !== undefined || (error instanceof library.GlassformerError && error.code === 'not-found')
          );
        });
    } finally {
      loaded.dispose();
    }
  });
}
