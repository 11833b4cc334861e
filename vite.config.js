// The page: web/page and the package in dist/, built into site/, a folder that any static server
// can serve from any path.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { licenceTexts } from './scripts/licences.js';
import { SHIPPED } from './web/page/state/facts/shipped_models.js';

const here = fileURLToPath(new URL('.', import.meta.url));

// Nothing from elsewhere, except a model that the visitor names by its address.
const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "connect-src 'self' https:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** The models that the labs measure: files of the repository by their names beside the page. */
async function filesOfLabs() {
  const { LABS, openLab } = await import(new URL('dist/labs.js', import.meta.url).href);
  const labs = await Promise.all(LABS.map(openLab));
  return labs.flatMap(({ model }) => (model && !model.endsWith('/') ? [[`weights/${model}`, `weights/${model}`]] : []));
}

/** The files of the dictionary of the view Features. */
const DICTIONARY = ['cfg.json', 'sae_weights.safetensors', 'token_table.safetensors', 'features.json'];

/** The files of the models that the page offers, and of the labs, beside the page, built or in development. */
async function shippedFiles() {
  const models = SHIPPED.flatMap(({ file, parts = [''] }) => parts.map((part) => [file + part, file + part]));
  const folder = 'weights/dictionaries/stories';
  const dictionary = DICTIONARY.map((name) => [`${folder}/${name}`, `${folder}/${name}`]);
  const files = new Map(
    [...models, ...dictionary, ...(await filesOfLabs())].filter(([, file]) => existsSync(join(here, file))),
  );
  return {
    name: 'shipped-files',
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const name = request.url.split('?')[0].slice(1);
        if (!files.has(name)) return next();
        const file = join(here, files.get(name));
        response.setHeader('Content-Type', 'application/octet-stream');
        response.setHeader('Content-Length', statSync(file).size);
        createReadStream(file).pipe(response);
      });
    },
    generateBundle() {
      for (const [fileName, file] of files)
        this.emitFile({ type: 'asset', fileName, source: readFileSync(join(here, file)) });
    },
  };
}

/** The licences of the packages in the page: those of its own modules and those that dist/ has bundled. */
const licences = () => ({
  name: 'licences',
  apply: 'build',
  generateBundle(_, bundle) {
    const fonts = Object.values(bundle).flatMap((file) => file.originalFileNames ?? []);
    const bundled = readFileSync(join(here, 'dist/THIRD_PARTY_LICENSES.txt'), 'utf8');
    const names = [...bundled.matchAll(/^(\S+) [\d.]+ \(\S+\)$/gm)].map(([, name]) => `node_modules/${name}/`);
    const source = licenceTexts([...this.getModuleIds(), ...fonts, ...names]);
    this.emitFile({ type: 'asset', fileName: 'THIRD_PARTY_LICENSES.txt', source });
  },
});

/**
 * Requests the first model before any other script is there: the model is most of what a first visit downloads. main.js
 * takes the response. An address that names another model needs that one instead.
 */
const firstRequest =
  `if(!/[#&](model|made|from)=/.test(location.hash))` +
  `(window.firstModel=fetch(${JSON.stringify(`./${SHIPPED[0].file}`)},{priority:"low"})).catch(()=>{})`;

/** Inline script and policy belong to the built page only: Vite's development client needs other inline scripts. */
function headOfBuiltPage() {
  const hash = createHash('sha256').update(firstRequest).digest('base64');
  return {
    name: 'head-of-built-page',
    apply: 'build',
    transformIndexHtml: () => [
      {
        tag: 'meta',
        injectTo: 'head-prepend',
        attrs: {
          'http-equiv': 'Content-Security-Policy',
          content: policy.replace("script-src 'self'", `script-src 'self' 'sha256-${hash}'`),
        },
      },
      { tag: 'script', injectTo: 'head-prepend', children: firstRequest },
    ],
  };
}

export default defineConfig({
  root: join(here, 'web/page'),
  base: './',
  plugins: [svelte(), shippedFiles(), headOfBuiltPage(), licences()],
  build: {
    outDir: join(here, 'site'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0, // data: addresses are against the policy
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    rolldownOptions: {
      output: {
        // One file instead of one for each chunk of the package: fewer requests before the first paint. main.js stays
        // apart: it awaits the first model, and a module that is imported meanwhile must not depend on its end.
        codeSplitting: {
          groups: [{ name: 'start', tags: ['$initial'], test: (id) => !/\/page\/(?:index\.html|main\.js)$/.test(id) }],
        },
      },
    },
  },
  resolve: {
    alias: [
      { find: /^glassformer$/, replacement: join(here, 'dist/index.js') },
      { find: /^glassformer\/labs$/, replacement: join(here, 'dist/labs.js') },
      // the page has its files beside it: no copies
      {
        find: /^\.\/(embedded_(?:worker|worker_more|worker_files|engine|train)\.js)$/,
        replacement: join(here, 'web/lib/api/embedded/$1'),
      },
    ],
  },
  server: { host: '127.0.0.1', fs: { allow: [here] } },
});
