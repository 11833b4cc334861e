// dates.test.js - the shipped encoder-decoder writes held-out dates exactly
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from '../../web/lib/index.js';
import { collect, top } from './helpers.js';

test('dates: 20 days that no training line had are written as yyyy-mm-dd', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dates-'));
  try {
    execFileSync(process.execPath, [join(top, 'weights/dates/make.js'), folder, '--train', '1', '--valid', '20', '--seed', '5']);
    const lines = readFileSync(join(folder, 'valid.tsv'), 'utf8').trim().split('\n').map((line) => line.split('\t'));
    assert.equal(lines.length, 20);
    const model = await load(join(top, 'weights/dates/'));
    const { bos } = model.special;
    const found = [];
    for (const [source] of lines) {
      const { text, summary } = await collect(model.generate([bos], { source, temperature: 0, maxTokens: 16 }));
      assert.equal(summary.stopReason, 'eos', source);
      found.push(text);
    }
    model.dispose();
    assert.deepEqual(found, lines.map(([, want]) => want));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
