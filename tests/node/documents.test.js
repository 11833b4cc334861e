// documents.test.js - links, pictures and generated tables of the documents match this tree, and their lines are short
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withTable } from '../bundlers/table.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const read = (file) => readFileSync(join(top, file), 'utf8');
const readme = read('README.md'),
  { repository } = JSON.parse(read('package.json'));
const written = readdirSync(join(top, 'docs'))
  .filter((name) => name.endsWith('.md') && name !== 'api.md')
  .map((name) => `docs/${name}`);

test("pictures in the README and in the model card exist in this tree and have the repository's address", () => {
  const address = `${repository.url.replace(/^git\+|\.git$/g, '')}/raw/main/`;
  const cards = [readme, read('weights/stories-1m.md')];
  const pictures = cards.flatMap((text) => [...text.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, target]) => target));
  assert.ok(pictures.length >= 2);
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
    'docs/api.md',
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

test('the README has at most 180 lines, and no line of the documents is longer than 160 columns', () => {
  assert.ok(readme.split('\n').length - 1 <= 180);
  // rows of the tables that TypeDoc writes into docs/api.md cannot be broken
  const long = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...written].flatMap((name) =>
    read(name)
      .split('\n')
      .flatMap((line, i) => (line.length > 160 ? [`${name}:${i + 1} has ${line.length} columns`] : [])),
  );
  assert.deepEqual(long, []);
});

test('the table in docs/bundlers.md is generated from the fixtures of tests/bundlers', () => {
  const document = read('docs/bundlers.md');
  assert.equal(document, withTable(document), 'run node tests/bundlers/table.js');
});
