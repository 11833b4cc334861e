// api.test.js - docs/api.md names every public call, option and code. `./build.sh docs --check` compares the whole
// text, but needs TypeDoc.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TRAIN_FIELDS } from '../../web/lib/train/train_fields.js';
import * as glassformer from '../../web/lib/api/index.js';

const top = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(top, 'docs/api.md'), 'utf8');
const read = (file) => readFileSync(join(top, 'web/lib', file), 'utf8');
/**
 * The text of docs/api.md under a heading of the third level.
 * @param {string} heading
 */
const section = (heading) => new RegExp(`^### ${heading}\\n([\\s\\S]*?)(?=^##?#? |(?![\\s\\S]))`, 'm').exec(page)?.[1];
const again = 'run ./build.sh docs';

/** @ignore: other parts of the package call these, and Vue reads the last. */
const INTERNAL = [
  ...[
    'constructor',
    'toText',
    'encodeWithin',
    'startsWord',
    'adapt',
    'encodeFeatures',
    'directionTokens',
    'scanTexts',
    'storedWeight',
    'parts',
  ],
  ...['encoder', 'edited', 'onDispose', '__v_skip'],
];

test('every export and every method has a heading in docs/api.md', () => {
  const lacks = [];
  for (const [name, value] of Object.entries(glassformer)) {
    const isClass = typeof value === 'function' && /^class/.test(String(value));
    if (!new RegExp(`^### ${name}${typeof value === 'function' && !isClass ? '\\(\\)' : ''}$`, 'm').test(page))
      lacks.push(name);
    if (!isClass || name === 'GlassformerError') continue;
    const members = value.prototype;
    for (const member of Object.getOwnPropertyNames(members).filter((each) => !INTERNAL.includes(each))) {
      const call = typeof Object.getOwnPropertyDescriptor(members, member)?.value === 'function';
      if (!new RegExp(`^##### ${member}${call ? '\\(\\)' : ''}$`, 'm').test(page)) lacks.push(`${name}.${member}`);
    }
  }
  assert.deepEqual(lacks, [], again);
});

test('every option has a row with its description in docs/api.md', () => {
  const lacks = [];
  let seen = 0;
  for (const file of ['call_types', 'load_types', 'training', 'dictionary', 'estimate']) {
    for (const [, type, block] of read(`api/${file}.js`).matchAll(
      /@typedef \{object\} (\w*(?:Options|Extras))\n([\s\S]*?)\*\//g,
    )) {
      const rows = section(type);
      if (!rows) {
        lacks.push(type);
        continue;
      }
      for (const [, name, description] of block.matchAll(/^ \* @property \{.*\} \[?(\w+)\]? *(.*)$/gm)) {
        seen++;
        const row = rows.split('\n').find((line) => line.startsWith(`| \`${name}`));
        const words = description.split(/[^\w ]/)[0].trim();
        if (!row || !row.includes(words)) lacks.push(`${type}.${name}: ${words}`);
      }
    }
  }
  assert.ok(seen > 60, String(seen));
  assert.deepEqual(lacks, [], again);
});

test('every code is in docs/api.md with its meaning', () => {
  const codes = section('CODES') ?? '';
  const lacks = Object.entries(glassformer.CODES)
    .filter(([code, meaning]) => !(codes.includes(code) && codes.includes(JSON.stringify(meaning))))
    .map(([code]) => code);
  assert.deepEqual(lacks, [], again);
});

// The trainer's table, the checks of train() and this type once had three different ranges of lr.
test('TrainOptions names every option of the trainer with its type and its default', () => {
  const [, block] = /@typedef \{object\} TrainOptions\n([\s\S]*?)\*\//.exec(read('api/training.js')) ?? [];
  for (const field of TRAIN_FIELDS) {
    const type = { whole: 'number', real: 'number', flag: 'boolean', word: undefined }[field.type];
    const of = type ?? field.words.map((word) => `'${word}'`).join('|');
    const from = block.indexOf(`@property {${of}} [${field.name}]`);
    assert.ok(from >= 0, `${field.name} of type ${of}`);
    const [said] = block.slice(from).split('@property', 2).slice(1);
    // microTokens is limited by what a step has
    if (field.name !== 'microTokens')
      assert.equal(/\bdefault (\S+?)[;.,:]?\s/.exec(`${said} `)?.[1], String(field.default), field.name);
  }
});
