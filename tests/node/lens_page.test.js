// lens_page.test.js - the table of the logit lens and the grid of votes, from what the library answers; how the page
// writes tokens
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setSpecialTokens } from '../../web/page/state/facts/special_tokens.js';
import { label, quoted } from '../../web/page/text/format.js';
import { LENS, VOTES, signed } from '../../web/page/text/lens_text.js';
import { piecesOf } from '../../web/page/views/write/token_text.js';
import { lensTable, normOf, streamsOf, votesOf } from '../../web/page/views/inside/lens_table.js';

const token = (id) => ({ id, text: ` t${id}`, given: false, logprob: null, top: null });

test('the lens shows the last nine positions, marks the selected one and what the text went on with', () => {
  const tokens = Array.from({ length: 13 }, (_, i) => token(i));
  const read = [0, 1].map((layer) =>
    Array.from({ length: 12 }, (_, p) => [{ id: layer ? p + 1 : 99, text: '', probability: 0.5 }]),
  );
  const { columns, rows } = lensTable(read, [1, 2], tokens);
  assert.deepEqual(
    columns.map(({ position }) => position),
    [3, 4, 5, 6, 7, 8, 9, 10, 11],
  );
  assert.deepEqual(
    rows.map(({ norm, cells }) => [norm, cells.filter(({ right }) => right).length, cells.findIndex((c) => c.here)]),
    [
      [1, 0, 8],
      [2, 9, 8],
    ],
  );
  // at the end of the text nothing is known to follow
  const end = lensTable(read, [1, 2], tokens.slice(0, 12));
  assert.equal(end.columns[8].next, undefined);
  assert.equal(end.rows[1].cells[8].right, false);
});

test('the norm of a position is that of its row, and streams are those of the stack that writes', () => {
  const tensor = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] };
  assert.equal(normOf(tensor, 1), 5);
  assert.deepEqual(streamsOf({ kind: 'decoder', nLayers: 1 }), ['blocks.0.hook_resid_post']);
  assert.deepEqual(streamsOf({ kind: 'encoder_decoder', nLayers: 1 }), ['decoder.0.hook_resid_post']);
});

const part = (name, kind, layer, head, value) => ({ name, kind, layer, head, value });

test('votes have a row for each layer and one for each cross-attention, and lists of either sign', () => {
  const parts = [
    part('embed', 'embedding', null, null, -1),
    part('decoder.0.attn.head.0', 'head', 0, 0, 2),
    part('decoder.0.cross_attn.head.0', 'head', 0, 0, -4),
    part('decoder.0.ffn', 'ffn', 0, null, 1),
    part('head.bias', 'bias', null, null, 0.5),
  ];
  const config = { kind: 'encoder_decoder', nLayers: 1, nHeads: 1 };
  const found = votesOf({ token: 1, text: '', logit: -1.5, sum: -1.5, parts }, config);
  assert.deepEqual(
    found.rows.map(({ across, cells: [head, ffn] }) => [across, head?.value, ffn?.value]),
    [
      [false, 2, 1],
      [true, -4, undefined],
    ],
  );
  assert.equal(found.most, 4);
  assert.deepEqual(
    [found.largest, found.smallest].map((list) => list.map(({ value }) => value)),
    [
      [2, 1],
      [-4, -1],
    ],
  );
  assert.deepEqual(found.total, { sum: -1.5, logit: -1.5, biases: 0.5, gap: false });
});

test('a tokenizer’s mark around texts is written as their start or end', () => {
  setSpecialTokens({ bos: null, eos: [] }); // an encoder's
  assert.equal(label({ id: 0, text: '<|endoftext|>' }), '[end]');
  assert.equal(label({ id: 0, text: '<|endoftext|>', given: true }), '[start]');
});

test('layers and heads are counted from 1, and rounding is named only where a gap remains', () => {
  assert.equal(VOTES.part(part('blocks.0.attn.head.0', 'head', 0, 0, 1)), 'layer 1, head 1');
  assert.equal(VOTES.part(part('decoder.1.cross_attn.head.2', 'head', 1, 2, 1)), 'layer 2, head 3, across');
  assert.equal(VOTES.vote(part('blocks.3.ffn', 'ffn', 3, null, -0.5)), 'layer 4, FFN: −0.500');
  assert.equal(LENS.layer(0), 'layer 1');
  assert.equal(signed(2), '+2.00');
  const total = { sum: 1.25, logit: 1.25, biases: 0, gap: false };
  assert.equal(VOTES.sum(total), 'The parts add up to 1.250; the logit is 1.250.');
  assert.match(VOTES.sum({ ...total, logit: 1.26, gap: true }), /\. The small gap is quantisation rounding\.$/);
  assert.match(VOTES.sum({ ...total, biases: 0.5 }), /^The parts, with 0\.500 from biases, add up to/);
});

test('a token without letters has one mark in the text, in tables and in sentences', () => {
  const ways = (/** @type {any} */ of) => [piecesOf(of).word, label(of), quoted(of)];
  try {
    setSpecialTokens({ bos: 0, eos: [0, 7] });
    assert.deepEqual(ways({ id: 0, text: '', given: true }), ['start', '[start]', '[start]']);
    assert.deepEqual(
      ways({ id: 0, text: '<|endoftext|>' }),
      ['end', '[end]', '[end]'],
      'as a candidate it ends the text',
    );
    assert.deepEqual(ways({ id: 7, text: '</s>', given: true }), ['end', '[end]', '[end]']);
    assert.deepEqual(ways({ id: 409, text: '' }), ['#409', '#409', '#409']);
    assert.deepEqual(ways({ id: 5, text: ' cat' }), ['cat', 'cat', '“ cat”']);
    assert.deepEqual(ways({ id: 6, text: '\n' }), ['⏎', '⏎', '“⏎”']);
  } finally {
    setSpecialTokens({ bos: null, eos: [] });
  }
});
