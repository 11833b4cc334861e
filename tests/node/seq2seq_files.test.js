// seq2seq_files.test.js - files of T5, Marian and BART as people have them, and malformed ones
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { changed, openCase, refused, sameBits, untilEnd } from './helpers.js';

/** A tensor of zeros. @param {...number} shape */
const zeros = (...shape) => ({ dtype: 'F32', shape, data: new Uint8Array(4 * shape.reduce((a, b) => a * b, 1)) });

/** Whether a model gives the logits of a case. @param {any} model @param {string} name */
async function matches(model, name) {
  const c = openCase(name);
  const { logits } = await model.forward(c.about.input_ids, c.run);
  const want = c.array('logits');
  const off = logits.data.reduce((most, v, i) => Math.max(most, Math.abs(v - want[i])), 0);
  assert.ok(off < 2e-4, `logits are ${off} off`);
}

const rename = (tensors, from, to) => {
  tensors[to] = tensors[from];
  delete tensors[from];
};

describe('files as people have them', () => {
  for (const [what, name, change, fields] of [
    [
      'copies of the embedding, and a tied head',
      't5',
      (t) => {
        for (const copy of ['encoder.embed_tokens.weight', 'decoder.embed_tokens.weight', 'lm_head.weight'])
          t[copy] = t['shared.weight'];
      },
    ],
    ['the embedding under the name of a copy', 't5', (t) => rename(t, 'shared.weight', 'encoder.embed_tokens.weight')],
    ['the embedding under the name of the head', 't5', (t) => rename(t, 'shared.weight', 'lm_head.weight')],
    [
      'a bias of cross-attention, which was saved by mistake',
      't5',
      (t) => (t['decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight'] = zeros(32, 4)),
    ],
    [
      'the sinusoids',
      'marian',
      (t) => {
        for (const side of ['encoder', 'decoder']) t[`model.${side}.embed_positions.weight`] = zeros(64, 24);
      },
    ],
    [
      'the bias of the logits as a vector',
      'marian',
      (t) => (t['final_logits_bias'].shape = t['final_logits_bias'].shape.slice(1)),
    ],
    [
      'no prefix',
      'bart',
      (t) => {
        for (const each of Object.keys(t)) if (each.startsWith('model.')) rename(t, each, each.slice('model.'.length));
      },
    ],
  ])
    test(`${name}: ${what}`, async () => {
      const model = await untilEnd(changed(name, change, fields));
      await matches(model, name);
    });

  test('two embeddings, and no bias of the logits', async () => {
    const model = await changed(
      'marian',
      (t) => {
        t['model.encoder.embed_tokens.weight'] = t['model.decoder.embed_tokens.weight'] = t['model.shared.weight'];
        delete t['model.shared.weight'];
        t['final_logits_bias'] = zeros(1, 112);
      },
      { share_encoder_decoder_embeddings: false },
    );
    const plain = await changed('marian', (t) => delete t['final_logits_bias']);
    assert.deepEqual([model.config.sharedEmbedding, plain.config.biasHead], [false, false]);
    const c = openCase('marian');
    const [a, b] = await Promise.all([model, plain].map((m) => m.forward(c.about.input_ids, c.run)));
    assert.ok(sameBits(a.logits.data, b.logits.data));
    for (const m of [model, plain]) m.dispose();
  });
});

describe('malformed files and features that are missing', () => {
  const bias = 'encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight';
  for (const [what, name, change, fields, code, words] of [
    ['a bias of another size', 't5', (t) => (t[bias] = zeros(31, 4)), {}, 'bad-shape', /\[31, 4\], expected \[32, 4\]/],
    ['a bias with too many heads', 't5', (t) => (t[bias] = zeros(32, 5)), {}, 'bad-shape', /expected \[32, 4\]/],
    ['a bias that is turned', 't5', (t) => (t[bias] = zeros(4, 32)), {}, 'bad-shape', /\[4, 32\], expected \[32, 4\]/],
    ['no bias', 't5', (t) => delete t[bias], {}, 'missing-tensor', /relative_attention_bias/],
    ['a bias in every layer', 't5', (t) => (t[bias.replace('.0.', '.1.')] = t[bias]), {}, 'unknown-tensor', /block\.1/],
    [
      'more buckets than the file has',
      't5',
      () => {},
      { relative_attention_num_buckets: 64 },
      'bad-shape',
      /\[64, 4\]/,
    ],
    ['two buckets', 't5', () => {}, { relative_attention_num_buckets: 2 }, 'bad-config', /num_buckets 2 is below 4/],
    ['a far distance of 16', 't5', () => {}, { relative_attention_max_distance: 16 }, 'bad-config', /max_distance 16/],
    ['an unknown gate', 't5', () => {}, { feed_forward_proj: 'gated-tanh' }, 'unsupported', /feed_forward_proj/],
    ['a number as activation', 't5', () => {}, { feed_forward_proj: 7 }, 'bad-config', /ffn is 7|feed_forward_proj/],
    [
      'a bias of the logits for one token less',
      'marian',
      (t) => (t['final_logits_bias'] = zeros(111)),
      {},
      'bad-shape',
      /\[1, 112\]/,
    ],
    [
      'half a bias of the logits',
      'bart',
      (t) => (t['final_logits_bias'] = zeros(1, 56)),
      {},
      'bad-shape',
      /\[1, 112\]/,
    ],
    ['heads that do not divide', 'bart', () => {}, { encoder_attention_heads: 5 }, 'bad-config', /n_encoder_heads 5/],
    ['another width in the encoder', 'bart', () => {}, { encoder_ffn_dim: 8 }, 'bad-shape', /encoder\.layers\.0\.fc1/],
    ['norms before the sublayers', 'bart', () => {}, { normalize_before: true }, 'unsupported', /normalize_before/],
    [
      'learned positions in one stack',
      'bart',
      (t) => delete t['model.encoder.embed_positions.weight'],
      {},
      'missing-tensor',
      /embed_positions/,
    ],
    [
      'one norm of the embeddings',
      'bart',
      (t) => delete t['model.decoder.layernorm_embedding.bias'],
      {},
      'missing-tensor',
      /layernorm_embedding/,
    ],
  ])
    test(`${name}: ${what}`, () => refused(changed(name, change, fields), code, words));
});
