// documents.test.js - links, pictures and generated tables of the documents match this tree, and their lines are short
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cliPage } from '../../scripts/cli_page.js';
import { CODES } from '../../web/lib/base/codes.js';
import { withTable } from '../bundlers/table.js';
import { written } from './documented.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const read = (file) => readFileSync(join(top, file), 'utf8');
const readme = read('README.md'),
  { repository } = JSON.parse(read('package.json'));

test("pictures in the README and in the model card exist in this tree and have the repository's address", () => {
  const address = `${repository.url.replace(/^git\+|\.git$/g, '')}/raw/main/`;
  const cards = [readme, read('weights/stories-1m.md')];
  const picture = /!\[[^\]]*\]\(([^)]+)\)|<(?:img|source) [^>]*?\bsrc(?:set)?="([^"]+)"/g;
  const pictures = cards.flatMap((text) => [...text.matchAll(picture)].map(([, markdown, html]) => markdown ?? html));
  assert.ok(pictures.length >= 3);
  for (const target of pictures) {
    assert.ok(target.startsWith(address), target);
    assert.ok(existsSync(join(top, target.slice(address.length))), target);
  }
});

test('links between the documents lead to existing files and headings', () => {
  const slug = (heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replace(/ /g, '-');
  const headings = (file) => {
    const seen = new Map();
    return new Set(
      [
        ...readFileSync(file, 'utf8')
          .replace(/^```[\s\S]*?^```$/gm, '')
          .matchAll(/^#+ (.*)$/gm),
      ].map(([, heading]) => {
        const base = slug(heading),
          n = seen.get(base) ?? 0;
        seen.set(base, n + 1);
        return n ? `${base}-${n}` : base;
      }),
    );
  };
  const wrong = [];
  for (const name of [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    ...['api', 'cli', ...readdirSync(join(top, 'docs/api')).map((page) => `api/${page.replace('.md', '')}`)].map(
      (page) => `docs/${page}.md`,
    ),
    'weights/README.md',
    'tests/bench/README.md',
    ...written,
  ]) {
    const file = join(top, name),
      text = read(name)
        .replace(/^```[\s\S]*?^```$/gm, '')
        .replace(/`[^`\n]*`/g, '');
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path, heading] = target.split('#'),
        to = path ? join(file, '..', path) : file;
      if (!existsSync(to) || (heading && !headings(to).has(heading))) wrong.push(`${name}: ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('the README has at most 170 lines, and no line of the documents is longer than 160 columns', () => {
  assert.ok(readme.split('\n').length - 1 <= 170);
  // rows of the tables that TypeDoc writes into docs/api.md cannot be broken
  const long = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...written].flatMap((name) =>
    read(name)
      .split('\n')
      .flatMap((line, i) =>
        line.length > 160 && !/^(?:\||<glass-)/.test(line) ? [`${name}:${i + 1} has ${line.length} columns`] : [],
      ),
  );
  assert.deepEqual(long, []);
});

test('the README counts the findings of docs/labs.md that hold, do not hold and are inconclusive', () => {
  const rows = Array.from(
    read('docs/labs.md').matchAll(/\| (holds|does not hold|inconclusive) \|$/gm),
    ([, verdict]) => verdict,
  );
  const count = (/** @type {string} */ verdict) => rows.filter((each) => each === verdict).length;
  const [hold, not, open] = ['holds', 'does not hold', 'inconclusive'].map(count);
  assert.ok(
    readme.includes(
      `${rows.length} published findings again on small models: ${hold} hold there, ${not} do not, ${open} depend on the seed`,
    ),
  );
});

test('every file and folder that CONTRIBUTING.md names is there', () => {
  const roots = [
    '',
    'web/',
    'web/lib/',
    'web/page/',
    'src/',
    'src/model/',
    'tests/',
    'web/lib/api/',
    'web/page/views/inside/',
  ];
  const named = [...read('CONTRIBUTING.md').matchAll(/`((?:[\w.-]+\/)+[\w.-]*)`/g)].map(([, name]) => name);
  assert.ok(named.length > 80, `${named.length} names`);
  assert.deepEqual(
    named.filter((name) => !/[A-Z]{4}/.test(name) && !roots.some((root) => existsSync(join(top, root, name)))),
    [],
  );
});

test('the size of the core that CONTRIBUTING.md names is what its files have', () => {
  const [, javascript, c] = /about ([\d,]+) lines of JavaScript and ([\d,]+) of C/.exec(read('CONTRIBUTING.md'));
  const lines = (/** @type {string[]} */ folders, /** @type {RegExp} */ ending) =>
    execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...folders], { cwd: top, encoding: 'utf8' })
      .split('\n')
      .filter((file) => ending.test(file) && existsSync(join(top, file)))
      .reduce((sum, file) => sum + read(file).split('\n').length - 1, 0);
  const rooms = ['base', 'engine', 'files', 'text', 'run', 'worker', 'api'].map((room) => `web/lib/${room}`);
  const found = [
    lines(rooms, /\.js$/),
    lines(['src/base', 'src/kernels', 'src/model', 'src/wasm', 'src/glassformer.h'], /\.[ch]$/),
  ];
  for (const [i, told] of [javascript, c].entries())
    assert.ok(Math.abs(Number(told.replace(',', '')) / found[i] - 1) < 0.05, `${told} are told, ${found[i]} are there`);
});

test('the table in docs/bundlers.md is generated from the fixtures of tests/bundlers', () => {
  const document = read('docs/bundlers.md');
  assert.equal(document, withTable(document), 'run node tests/bundlers/table.js');
});

test('docs/cli.md is what the command line prints, docs/troubleshooting.md has every code with its meaning', () => {
  assert.equal(read('docs/cli.md'), cliPage(), 'run node scripts/cli_page.js');
  const rows = Array.from(read('docs/troubleshooting.md').matchAll(/^\| `([\w-]+)` \| (.*?) \| .+ \|$/gm), (row) =>
    row.slice(1, 3),
  );
  assert.deepEqual(rows, Object.entries(CODES));
});
