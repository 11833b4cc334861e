// config.js - the documentation site: docs/ as pages, built into site/docs beside the page
//
// DOCS_BASE is the path of the site's folder on its host, /docs/ by default; ./build.sh site --base PATH sets it.
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const docs = fileURLToPath(new URL('..', import.meta.url));
const repository = 'https://github.com/glassformer/glassformer';

/** A heading's address on GitHub, where the documents are read too. @param {string} heading */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replace(/ /g, '-');

/**
 * Lets links to files that are no pages of the site lead to the repository.
 * @param {import('markdown-it')} md
 */
function linkRepository(md) {
  md.core.ruler.push('link-repository', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.attrGet('href');
      if (!href || /^(?:[a-z]+:|#)/.test(href)) continue;
      const [path, heading] = href.split('#');
      const file = posix.join('docs', posix.dirname(env.relativePath), path);
      if (file.startsWith('docs/') && /\.md$|\/$/.test(file) && !LEFT_OUT.includes(file)) continue;
      if (!existsSync(join(docs, '..', file))) throw new Error(`${env.relativePath} links to ${href}: no such file`);
      token.attrSet('href', `${repository}/blob/main/${file}${heading ? `#${heading}` : ''}`);
    }
  });
}

/** Entries of the package with a page of their own: scripts/docs.js. */
const ENTRIES = ['elements', 'openai', 'ai-sdk', 'react', 'vue', 'labs'];

/** Documents for those who work on the project. */
const LEFT_OUT = ['docs/release.md'];

const page = (/** @type {string} */ text, /** @type {string} */ link) => ({ text, link: `/${link}` });

const RECIPES = [
  ...['React', 'Vue', 'Svelte', 'Solid', 'Next.js', 'Angular', 'Astro', 'VitePress', 'reveal.js'],
  ...['PWA', 'Extension', 'Cloudflare'],
];

const sidebar = [
  {
    text: 'Start',
    items: [
      page('Five minutes to a figure', 'start'),
      page('Tutorial: induction heads', 'tutorials/induction-heads'),
      page('Tutorial: from nanoGPT to the browser', 'tutorials/nanogpt'),
      page('Tutorial: a chat in a page', 'tutorials/chat'),
      page('Concepts', 'concepts'),
    ],
  },
  {
    text: 'Guide',
    items: [
      page('Guide by task', 'guide'),
      page('Own checkpoints', 'own-checkpoints'),
      page('For TransformerLens users', 'transformerlens'),
      page('Sparse dictionaries', 'dictionaries'),
      page('Hosting', 'hosting'),
    ],
  },
  {
    text: 'Recipes',
    collapsed: true,
    items: [
      page('All recipes', 'recipes/'),
      ...RECIPES.map((name) => page(name, `recipes/${name.toLowerCase().replace('.js', '')}`)),
      page('Bundlers and runtimes', 'bundlers'),
    ],
  },
  {
    text: 'Help',
    items: [page('Troubleshooting', 'troubleshooting'), page('Questions', 'faq')],
  },
  {
    text: 'Reference',
    items: [
      page('API', 'api'),
      ...ENTRIES.map((entry) => page(`API: ${entry}`, `api/${entry}`)),
      page('Command line', 'cli'),
      page('Models and formats', 'models'),
      page('Labs', 'labs'),
    ],
  },
];

export default {
  title: 'Glassformer',
  description: 'See inside a transformer while it runs: in a browser, in Node, in your own page.',
  lang: 'en',
  base: process.env.DOCS_BASE ?? '/docs/',
  outDir: '../site/docs',
  cacheDir: '../build/vitepress',
  srcExclude: ['examples/**', ...LEFT_OUT.map((file) => file.replace('docs/', ''))],
  markdown: { anchor: { slugify }, toc: { slugify }, config: linkRepository },
  vue: { template: { compilerOptions: { isCustomElement: (/** @type {string} */ tag) => tag.startsWith('glass-') } } },
  vite: {
    // the site has the files of the package beside it: no copies, as in vite.config.js
    resolve: {
      alias: [
        {
          find: /^\.\/(embedded_(?:worker|worker_more|worker_files|engine|train)\.js)$/,
          replacement: join(docs, '../web/lib/api/embedded/$1'),
        },
      ],
    },
    build: { chunkSizeWarningLimit: 2000 }, // the index of the search
  },
  themeConfig: {
    sidebar,
    nav: [page('Start', 'start'), page('Guide', 'guide'), page('Recipes', 'recipes/'), page('API', 'api')],
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path` },
  },
};
