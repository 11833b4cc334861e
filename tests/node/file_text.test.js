// file_text.test.js - texts in saved figures and tables: what XML cannot hold, and cells that would become formulas
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csv, xmlText } from '../../web/page/state/base/file_text.js';

/** Char of XML 1.0 (fifth edition, production 2). */
const isChar = (code) =>
  [0x9, 0xa, 0xd].includes(code) ||
  (code >= 0x20 && code <= 0xd7ff) ||
  (code >= 0xe000 && code <= 0xfffd) ||
  code >= 0x10000;

test('each character of the first plane, and each half of a pair, is one that XML can hold afterwards', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const character = String.fromCharCode(code);
    const text = xmlText(`a${character}b`);
    if (isChar(code)) assert.equal(text, `a${character}b`);
    else {
      assert.ok(isChar(text.charCodeAt(1)) && text.length === 3, code.toString(16));
      assert.equal(text.charCodeAt(1), code < 0x20 ? 0x2400 + code : 0xfffd);
    }
  }
  assert.equal(xmlText('🙂\u{10ffff}'), '🙂\u{10ffff}');
  assert.equal(xmlText('\ud83d🙂\ude42'), '\ufffd🙂\ufffd');
  assert.doesNotThrow(() => encodeURIComponent(xmlText('<svg>\ud800</svg>')));
});

for (const [value, cell] of /** @type {[string | number, string][]} */ ([
  ['=1+2', "'=1+2"],
  ['=HYPERLINK("x")', '"\'=HYPERLINK(""x"")"'],
  ['+a', "'+a"],
  ['-a', "'-a"],
  ['-', "'-"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', '"\'\r=1"'],
  ['-0.5', '-0.5'],
  [-0.5, '-0.5'],
  [1e-7, '1e-7'],
  ['a=b', 'a=b'],
  [' =1', ' =1'],
  ['a,"b"\n', '"a,""b""\n"'],
  ['', ''],
]))
  test(`a cell of CSV: ${JSON.stringify(value)}`, () => {
    assert.equal(csv([['x', value]]), `x,${cell}\n`);
  });
