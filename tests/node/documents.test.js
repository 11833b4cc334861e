// documents.test.js - links, pictures and generated tables of the documents match this tree
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withTable } from '../../scripts/readme.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(top, 'README.md'), 'utf8'),
  { repository } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));

test("pictures in the README and in the model card exist in this tree and have the repository's address", () => {
  const address = `${repository.url.replace(/^git\+|\.git$/g, '')}/raw/main/`;
  const cards = [readme, readFileSync(join(top, 'weights/stories-1m.md'), 'utf8')];
  const pictures = cards.flatMap((text) => [...text.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, target]) => target));
  assert.ok(pictures.length >= 2);
  for (const target of pictures) {
    assert.ok(target.startsWith(address), target);
    assert.ok(existsSync(join(top, target.slice(address.length))), target);
  }
});

test('links between the documents lead to existing files and headings', () => {
  const slug = (/** @type {string} */ heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replace(/ /g, '-');
  const headings = (/** @type {string} */ file) => {
    /** @type {Map<string, number>} */
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
    'docs/hosting.md',
    'docs/release.md',
    'docs/api.md',
    'weights/README.md',
  ]) {
    const file = join(top, name),
      text = readFileSync(file, 'utf8')
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

test("the README's bundler table is generated from the fixtures of tests/bundlers", () => {
  assert.equal(readme, withTable(readme), 'run node scripts/readme.js');
});
