// untrusted.test.js - claims of SECURITY.md about hostile files that no other test covers
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chatPrompt } from '../../web/lib/tokenizers/chat_prompt.js';

const top = fileURLToPath(new URL('../..', import.meta.url));

/** @param {string} chatTemplate */
const render = (chatTemplate) =>
  chatPrompt(
    { chatTemplate, special: { bos: null, eos: [], addBos: false } },
    [{ role: 'user', content: 'x' }],
    undefined,
    async () => '',
  );

test('a chat template cannot reach JavaScript objects', async () => {
  for (const expression of [
    '"".constructor',
    'messages.constructor',
    'messages[0].__proto__',
    '[].constructor.constructor',
    'range.constructor',
    'globalThis',
    'process',
  ]) {
    assert.equal(await render(`{{ ${expression} is defined }}`), 'false', expression);
  }
  await assert.rejects(render('{{ "".constructor.constructor("return 1")() }}'), { code: 'bad-option' });
  assert.equal(await render('{{ messages[0].content }}'), 'x');
});

test('neither the library nor its bundled packages turn text into code', () => {
  const folders = ['web/lib', 'node_modules/@huggingface/jinja/dist', 'node_modules/@huggingface/tokenizers/dist'];
  let seen = 0;
  for (const folder of folders) {
    for (const name of readdirSync(join(top, folder), { recursive: true })
      .map(String)
      .filter((name) => /\.m?js$/.test(name))) {
      const text = readFileSync(join(top, folder, name), 'utf8');
      assert.doesNotMatch(
        text,
        /\bnew Function\(|(?<![.#\w])eval\((?![^)]*\)\s*\{)|\bset(?:Timeout|Interval)\(\s*['"`]/,
        name,
      );
      seen++;
    }
  }
  assert.ok(seen > 40);
});
