// The page: web/page and the package in dist/, built into site/, a folder that any static server
// can serve from any path.
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));
const weights = join(here, 'weights');

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

/** The shipped checkpoints appear as weights/NAME.gguf or weights/NAME/, a folder with a config.json, beside the page, built or in
 * development. */
function shippedWeights() {
  const parts = ['config.json', 'model.safetensors', 'tokenizer.json'];
  const names = () =>
    (existsSync(weights) ? readdirSync(weights) : []).flatMap((name) =>
      name.endsWith('.gguf')
        ? [name]
        : existsSync(join(weights, name, 'config.json'))
          ? parts.map((part) => `${name}/${part}`)
          : [],
    );
  return {
    name: 'shipped-weights',
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const name = /^\/weights\/(.+)$/.exec(request.url.split('?')[0])?.[1];
        if (!names().includes(name)) return next();
        const file = join(weights, name);
        response.setHeader('Content-Type', 'application/octet-stream');
        response.setHeader('Content-Length', statSync(file).size);
        createReadStream(file).pipe(response);
      });
    },
    generateBundle() {
      for (const name of names()) {
        this.emitFile({ type: 'asset', fileName: `weights/${name}`, source: readFileSync(join(weights, name)) });
      }
    },
  };
}

/** The policy belongs to the built page only: Vite's development client needs inline scripts. */
function contentSecurityPolicy() {
  return {
    name: 'content-security-policy',
    apply: 'build',
    transformIndexHtml: () => [
      {
        tag: 'meta',
        injectTo: 'head-prepend',
        attrs: { 'http-equiv': 'Content-Security-Policy', content: policy },
      },
    ],
  };
}

export default defineConfig({
  root: join(here, 'web/page'),
  base: './',
  plugins: [shippedWeights(), contentSecurityPolicy()],
  build: {
    outDir: join(here, 'site'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0, // data: addresses are against the policy
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  resolve: {
    alias: [
      { find: /^glassformer$/, replacement: join(here, 'dist/index.js') },
      // the page has its files beside it: no copies
      { find: /^\.\/embedded_((?:worker|engine|train)\.js)$/, replacement: join(here, 'web/lib/embedded/$1') },
    ],
  },
  server: { host: '127.0.0.1', fs: { allow: [here] } },
});
