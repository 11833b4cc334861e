// dates.test.js - the shipped encoder-decoder writes held-out dates exactly
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { temporaryFolder } from '../temporary.js';
import { collect, top, untilEnd } from './helpers.js';

/** The Gregorian calendar: 1900 was no leap year, 2000 was one. */
const ANSWERS = {
  '30 February 2001': 'no such day',
  'February 29, 1900': 'no such day',
  'February 29, 2000': '2000-02-29',
  '31.4.1812': 'no such day',
  'hello world': 'not a date',
  'Spetember 11 2001 at 8:46': '2001-09-11',
  '  4th  of  July 1776 ': '1776-07-04',
  'Friday, the twenty-fifth of december, 1850': '1850-12-25',
};

test('dates: 20 days that the training data never has are written as yyyy-mm-dd', async () => {
  const folder = temporaryFolder('dates');
  execFileSync(process.execPath, [
    join(top, 'weights/dates/make.js'),
    folder,
    '--train',
    '1',
    '--valid',
    '20',
    '--seed',
    '5',
  ]);
  const lines = readFileSync(join(folder, 'valid.tsv'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
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
  assert.deepEqual(
    found,
    lines.map(([, want]) => want),
  );
});

test('dates: days that do not exist and texts that are no dates are answered as such', async () => {
  const model = await load(join(top, 'weights/dates/'));
  const found = {};
  for (const source of Object.keys(ANSWERS))
    found[source] = (await collect(model.generate('', { source, temperature: 0, maxTokens: 16 }))).text;
  model.dispose();
  assert.deepEqual(found, ANSWERS);
});

test('an empty target is replaced by the begin token; an empty source is refused', async () => {
  const model = await untilEnd(load(join(top, 'weights/dates/'))),
    { bos } = model.special,
    source = '24 December 1999';
  const write = async (prompt) =>
    (await collect(model.generate(prompt, { source, temperature: 0, maxTokens: 16 }))).text;
  for (const prompt of ['', [], new Int32Array(0)]) assert.equal(await write(prompt), '1999-12-24');
  const { summary } = await collect(model.generate([[], [bos]], { source, temperature: 0, maxTokens: 16 }));
  assert.deepEqual(summary.sequences[0], summary.sequences[1]);
  const [none, one] = await Promise.all(['', [bos]].map((input) => model.forward(input, { source })));
  assert.deepEqual(none.logits, one.logits);
  const session = await model.session({ source });
  assert.deepEqual([...(await session.eval(''))], [...one.logits.data]);
  assert.equal(session.length, 1);
  await assert.rejects(session.eval(''), { code: 'empty-prompt' }); // the target has begun
  for (const nothing of ['', []]) {
    for (const call of [
      () => collect(model.generate('', { source: nothing })),
      () => model.forward([bos], { source: nothing }),
      () => model.session({ source: nothing }),
      () => model.trace([bos], { source: nothing }),
      () => model.logitLens([bos], { source: nothing }),
    ])
      await assert.rejects(call(), { code: 'empty-prompt', message: /the source is empty/ });
  }
});
