// hosting.test.js - the built page on the hosts of docs/hosting.md, in a folder: with the headers of site/_headers,
// without any, on nginx and on Apache with the document's own configuration; and the package under the document's
// Content-Security-Policy.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { before, test } from 'node:test';
import { serve } from '../../scripts/serve.js';
import { PATIENCE, until } from '../patience.js';
import { temporaryFolder } from '../temporary.js';
import { browser, site } from './built_page.js';
import { continued, top, withModel } from './expected.js';
import { ids, runPrompt, says } from './page_parts.js';
import { watchQuiet } from './quiet.js';

const document = readFileSync(join(top, 'docs/hosting.md'), 'utf8');
/**
 * The first code block of a language in the document.
 * @param {string} language
 * @param {string} [holds]
 */
function block(language, holds = '') {
  const found = [...document.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].find(
    ([, name, text]) => name === language && text.includes(holds),
  );
  assert.ok(found, `docs/hosting.md has no block ${language} ${holds}`);
  return found[2];
}

const ISOLATION = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };
const PROMPT = 'Once upon a time',
  TOKENS = 24,
  SEED = 7;
const temporary = temporaryFolder('hosting');

/** @type {number[]} */
let expected;

before(async () => {
  expected = await withModel('weights/stories.gguf', (model) =>
    continued(model, PROMPT, { maxTokens: TOKENS, seed: SEED }),
  );
});
/**
 * Rules of a _headers file: a path, ending in * or not, and its indented headers.
 * @param {string} text
 */
function rulesOf(text) {
  /** @type {{path: string, headers: Record<string, string>}[]} */
  const rules = [];
  for (const line of text.split('\n')) {
    if (!line.trim() || line.startsWith('#')) continue;
    if (line.startsWith('/')) {
      rules.push({ path: line.trim(), headers: {} });
      continue;
    }
    const [, name, value] = /^\s+([\w-]+):\s*(.+)$/.exec(line) ?? assert.fail(`_headers: ${line}`);
    rules.at(-1).headers[name] = value;
  }
  return rules;
}

/**
 * @param {ReturnType<typeof rulesOf>} rules
 * @param {string} path
 */
const headersOf = (rules, path) =>
  Object.assign(
    {},
    ...rules
      .filter((rule) => (rule.path.endsWith('*') ? path.startsWith(rule.path.slice(0, -1)) : path === rule.path))
      .map((rule) => rule.headers),
  );

/** Wait for the model, and open the fold of the sampling. @param {any} page */
async function openFold(page) {
  await says(page, '.pill', /^stories-5M/);
  const fold = page.locator('button[aria-controls="sampling"]');
  if ((await fold.getAttribute('aria-expanded')) !== 'true') await fold.click();
}

/** Tick or untick the switch of threads, and wait until the page has loaded again. @param {any} page */
async function switchThreads(page) {
  const again = page.waitForEvent('load');
  await page.locator('#isolated').click();
  await again;
  await openFold(page);
}

/**
 * Open the page as on a machine with eight cores, and generate a text.
 * @param {string} url
 * @param {(page: any) => Promise<void>} [prepare]  with the fold of the sampling open
 */
async function written(url, prepare = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const complaints = [],
    requests = [];
  /** @type {Record<string, string>} */
  let headers = {};
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
  page.on('response', async (response) => {
    if (/assets\/index-.*\.js$/.test(response.url())) headers = await response.allHeaders();
  });
  await watchQuiet(page);
  await page.addInitScript(() => Object.defineProperty(navigator, 'hardwareConcurrency', { value: 8 }));
  try {
    await page.goto(`${url}#model=weights/stories.gguf`);
    await openFold(page);
    await prepare(page);
    await runPrompt(page, PROMPT, { tokens: TOKENS, seed: SEED });
    return {
      ids: await ids(page),
      isolated: await page.evaluate(() => crossOriginIsolated),
      complaints,
      requests,
      headers,
      backend: await page.locator('[data-role="backend"]').innerText(),
    };
  } finally {
    await context.close();
  }
}

/**
 * @param {Awaited<ReturnType<typeof written>>} visit
 * @param {string} url
 * @param {boolean} isolated
 */
function check({ ids, complaints, requests, ...visit }, url, isolated) {
  assert.deepEqual(ids, expected);
  assert.deepEqual(complaints, []);
  assert.deepEqual(
    requests.filter((request) => !request.startsWith(url) && !/^(?:data:|blob:)|\/favicon\.ico$/.test(request)),
    [],
  );
  assert.equal(visit.isolated, isolated);
  assert.equal(
    requests.some((request) => /-threads-[^/]*\.wasm$/.test(request)),
    isolated,
    'which binary',
  );
  if (!isolated) return;
  for (const [name, value] of Object.entries(ISOLATION)) assert.equal(visit.headers[name], value, name);
  assert.equal(visit.headers['cache-control'], 'public, max-age=31536000, immutable');
}

test('in a folder, without headers, the page uses one thread and generates the same text', async () => {
  const host = await serve(site, { base: '/some/folder/', isolate: false });
  try {
    check(await written(host.url), host.url, false);
  } finally {
    await host.close();
  }
});

test('without headers the service worker adds them when the visitor asks, until the visitor no longer does', async () => {
  const host = await serve(site, { base: '/some/folder/', isolate: false });
  try {
    const visit = await written(host.url, async (page) => {
      await switchThreads(page);
      assert.equal(await page.locator('#isolated').isChecked(), true);
      await page.reload(); // and on later visits
      await openFold(page);
      await runPrompt(page, PROMPT, { tokens: TOKENS, seed: SEED });
      assert.deepEqual(await ids(page), expected);
      assert.equal(await page.evaluate(() => crossOriginIsolated), true);
      await switchThreads(page);
      assert.equal(await page.locator('#isolated').isChecked(), false);
    });
    assert.ok(visit.requests.some((request) => /-threads-[^/]*\.wasm$/.test(request)));
    assert.deepEqual([visit.ids, visit.isolated, visit.complaints], [expected, false, []]);
  } finally {
    await host.close();
  }
});

test('in a folder, with the headers of site/_headers, the page uses threads and generates the same text', async () => {
  const rules = rulesOf(readFileSync(join(site, '_headers'), 'utf8')),
    base = '/some/folder/';
  const host = await serve(site, {
    base,
    isolate: false,
    headersOf: (path) => headersOf(rules, `/${path.slice(base.length)}`),
  });
  try {
    check(await written(host.url), host.url, true);
  } finally {
    await host.close();
  }
});

test('the page is published with the licences of what it contains', () => {
  const text = readFileSync(join(site, 'THIRD_PARTY_LICENSES.txt'), 'utf8');
  for (const name of ['musl', 'svelte 5', 'd3-scale', '@fontsource/inter', '@fontsource/source-serif-4'])
    assert.ok(text.includes(`\n${name}`) || text.startsWith(name), name);
});

test('docs/hosting.md shows the headers of site/_headers', () => {
  assert.deepEqual(rulesOf(block('', '/assets/*')), rulesOf(readFileSync(join(site, '_headers'), 'utf8')));
  assert.deepEqual(
    Object.fromEntries(
      block('http', 'Opener')
        .trim()
        .split('\n')
        .map((line) => line.toLowerCase().split(': ')),
    ),
    ISOLATION,
  );
});

/**
 * @param {string} program
 * @returns {string | null}
 */
const installed = (program) =>
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
    .map((folder) => join(folder, program))
    .find(existsSync) ?? null;

/**
 * Find a port that is free at the moment.
 * @returns {Promise<number>}
 */
const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });

/**
 * A server sends the precompressed copies with the type of the file, and the file itself to others.
 * @param {string} url @param {string} coding @param {string} extension
 */
async function checkCopies(url, coding, extension) {
  const binary = readdirSync(join(site, 'assets')).find((name) => /^glassformer-simd-[\w-]{8}\.wasm$/.test(name)),
    script = readdirSync(join(site, 'assets')).find((name) => /^start-.*\.js$/.test(name));
  for (const [name, type] of /** @type {[string, RegExp][]} */ ([
    [`assets/${binary}`, /^application\/wasm/],
    [`assets/${script}`, /javascript/],
    ['index.html', /^text\/html/],
  ])) {
    for (const accepted of [coding, 'identity']) {
      const file = join(site, name) + (accepted === coding ? extension : '');
      const { headers, body } = await new Promise((resolve, reject) => {
        get(url + name, { headers: { 'Accept-Encoding': accepted } }, (response) => {
          const chunks = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
        }).on('error', reject);
      });
      assert.equal(headers['content-encoding'], accepted === coding ? coding : undefined, name);
      assert.match(headers['content-type'], type, name);
      assert.match(headers.vary ?? '', /Accept-Encoding/i, name);
      assert.ok(body.equals(readFileSync(file)), `${name}: not the bytes of ${file}`);
    }
  }
}

/**
 * Start a web server in the foreground, visit the page, stop the server.
 * @param {string} program @param {string[]} args @param {string} url
 * @param {string} coding  of the precompressed copies that it sends
 * @param {string} extension  of these copies
 */
async function visitOn(program, args, url, coding, extension) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  try {
    await until(
      async () => {
        assert.equal(child.exitCode, null, `${program} has ended: ${said}`);
        return (await fetch(url).catch(() => null))?.ok;
      },
      () => `${program} does not answer: ${said}`,
    );
    await checkCopies(url, coding, extension);
    check(await written(url), url, true);
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
  }
}

/**
 * Copy the page to a folder that a server of another user can read.
 * @param {string} name
 */
function folderFor(name) {
  const folder = join(temporary, name);
  mkdirSync(folder);
  chmodSync(temporary, 0o755);
  cpSync(site, join(folder, 'www/glassformer'), { recursive: true });
  return folder;
}

const nginx = installed('nginx');
test(
  "nginx serves the page with the document's configuration",
  { skip: !nginx && 'nginx is not installed' },
  async () => {
    const folder = folderFor('nginx'),
      port = await freePort();
    const server = block('nginx')
      .replace('listen 8080', `listen 127.0.0.1:${port}`)
      .replace('/srv/www', join(folder, 'www'));
    assert.ok(server.includes(String(port)) && server.includes(folder));
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; pid ${folder}/pid; error_log stderr;${process.getuid?.() === 0 ? ' user root;' : ''}
    events {}
    http { include /etc/nginx/mime.types; access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
      fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi; ${server} }`,
    );
    await visitOn(
      /** @type {string} */ (nginx),
      ['-c', join(folder, 'nginx.conf'), '-p', folder],
      `http://127.0.0.1:${port}/glassformer/`,
      'gzip',
      '.gz',
    );
  },
);

const apache = installed('apache2'),
  modules = '/usr/lib/apache2/modules';
test(
  "Apache with the document's .htaccess",
  { skip: !(apache && existsSync(modules)) && "Debian's apache2 is not installed" },
  async () => {
    const folder = folderFor('apache'),
      port = await freePort();
    writeFileSync(join(folder, 'www/glassformer/.htaccess'), block('apache'));
    writeFileSync(
      join(folder, 'apache.conf'),
      [
        `ServerRoot ${folder}`,
        `PidFile ${folder}/pid`,
        `ErrorLog ${folder}/error.log`,
        `Listen 127.0.0.1:${port}`,
        'ServerName localhost',
        ...['mpm_event', 'authz_core', 'dir', 'mime', 'headers', 'rewrite'].map(
          (name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`,
        ),
        ...(process.getuid?.() === 0 ? ['User www-data', 'Group www-data'] : []),
        'TypesConfig /etc/mime.types',
        'DirectoryIndex index.html',
        `DocumentRoot ${folder}/www`,
        `<Directory ${folder}/www>`,
        'Require all granted',
        'AllowOverride FileInfo',
        '</Directory>',
        '',
      ].join('\n'),
    );
    const { status, stderr } = spawnSync(/** @type {string} */ (apache), ['-t', '-f', join(folder, 'apache.conf')], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    await visitOn(
      /** @type {string} */ (apache),
      ['-DFOREGROUND', '-f', join(folder, 'apache.conf')],
      `http://127.0.0.1:${port}/glassformer/`,
      'br',
      '.br',
    );
  },
);

const PROGRAM = `
import { load, train } from '/dist/index.js';
window.outcome = (async () => {
  const ids = [];
  const model = await load('/weights/stories-1m.gguf');
  for await (const { id } of model.generate('Once', { maxTokens: 4, temperature: 0 })) ids.push(id);
  model.dispose();
  const run = train({ d_model: 16, n_layers: 1, n_heads: 2 }, 'The cat sat on the mat. The dog sat on the log.', { steps: 1 });
  for await (const { step } of run) ids.push(-step);
  await run.dispose();
  return { tokens: ids.length };
})().catch(({ code, message }) => ({ code, message }));
`;

/**
 * Results of load and train under a policy.
 * @param {string} policy
 */
async function under(policy) {
  const folder = join(temporary, 'policy');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'index.html'),
    '<!doctype html><title>policy</title><script type="module" src="main.js"></script>\n',
  );
  writeFileSync(join(folder, 'main.js'), PROGRAM);
  const host = await serve(folder, {
    isolate: false,
    also: { '/dist/': join(top, 'dist'), '/weights/': join(top, 'weights') },
    headersOf: () => ({ 'Content-Security-Policy': policy }),
  });
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  try {
    await page.goto(host.url);
    await page.waitForFunction(() => window.outcome);
    return await page.evaluate(() => window.outcome);
  } finally {
    await page.close();
    await host.close();
  }
}

test("the package works under the document's policy, and each missing directive is named", async () => {
  const policy = block('http', 'Content-Security-Policy')
    .replace(/^Content-Security-Policy: /, '')
    .trim();
  assert.deepEqual(await under(policy), { tokens: 5 });
  const without = (/** @type {string} */ word) => {
    assert.ok(policy.includes(word));
    return under(policy.replace(word, ''));
  };
  assert.equal((await without(" 'wasm-unsafe-eval'")).code, 'blocked');
  assert.equal((await under(policy.replace("worker-src 'self'", "worker-src 'none'"))).code, 'worker');
  assert.equal((await without("; connect-src 'self'")).code, 'network');
});
