// see.test.js - captures and edits: names, shapes, values and effects
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { load } from '../../web/lib/api/index.js';
import { collect, json, numbers, openCase, sameBits, stories, top, untilEnd } from './helpers.js';

const one = openCase('llama_1tok');

const gqa = openCase('llama_gqa_f16');

describe('names', () => {
  test('a modern decoder, GPT-2 and an encoder-decoder have the points of their architecture', async () => {
    const a = await load(one.source);
    const names = await a.points();
    for (const n of [
      'hook_embed',
      'blocks.0.hook_resid_pre',
      'blocks.0.attn.hook_rot_q',
      'blocks.0.mlp.hook_pre_linear',
      'ln_final.hook_normalized',
    ])
      assert.ok(names.includes(n), n);
    assert.ok(!names.some((n) => /cross|hook_pos_embed|blocks\.1/.test(n)));
    const b = await load(openCase('gpt2_n_inner').source);
    const gpt2 = await b.points();
    assert.ok(gpt2.includes('hook_pos_embed') && !gpt2.some((n) => /rot_q|pre_linear/.test(n)));
    const c = await load(openCase('t2_encdec_padmask').source);
    const both = await c.points();
    for (const n of [
      'encoder.0.attn.hook_pattern',
      'decoder.0.attn.hook_pattern',
      'decoder.1.cross_attn.hook_pattern',
      'encoder.hook_embed',
      'decoder.hook_embed',
    ])
      assert.ok(both.includes(n), n);
    assert.ok(!both.some((n) => /^blocks|^encoder.*cross|ln_final/.test(n)));
  });

  // tests/golden/formats/transformer_lens.json: which names there are, from TransformerLens's own sources
  const { components } = json(join(top, 'tests/golden/formats/transformer_lens.json'));
  /**
   * All names below a component.
   * @param {string} kind
   * @param {{rotary: boolean, gated: boolean, decoder?: boolean}} has
   * @returns {string[]}
   */
  const namesOf = (kind, has) => {
    const c = components[kind];
    const parts = { ...c.parts, ...(has.decoder && c.decoder_parts) };
    return [
      ...c.hooks,
      ...(has.rotary ? (c.rotary ?? []) : []),
      ...(has.gated ? (c.gated ?? []) : []),
      ...(has.decoder ? (c.decoder ?? []) : []),
      ...Object.entries(parts).flatMap(([at, part]) => namesOf(part, has).map((n) => `${at}.${n}`)),
    ];
  };
  const stages = /hook_attn_scores_(raw|scaled)$/; // points that only this engine has

  test("points of a decoder have TransformerLens's names", async () => {
    for (const [c, has] of [
      [one, { rotary: true, gated: true }],
      [openCase('gpt2_n_inner'), { rotary: false, gated: false }],
    ]) {
      const lens = new Set(namesOf('model', has)),
        model = await load(c.source);
      const points = (await model.points()).filter((n) => !stages.test(n));
      for (const n of points) assert.ok(lens.has(n.replace(/^blocks\.\d+/, 'blocks.{layer}')), n);
      // all except the copies of the stream that TransformerLens makes on demand (hook_attn_in and similar)
      const missing = [...lens].filter(
        (n) => !points.includes(n.replace('{layer}', '0')) && !/hook_((attn|mlp)_in|[qkv]_input)$/.test(n),
      );
      assert.deepEqual(missing, has.rotary ? ['hook_pos_embed'] : []);
    }
  });

  // In TransformerLens the embedding is shared and the norms of a decoder block are ln1, ln2, ln3; here each stack has
  // its own embedding, and the norm of cross-attention is ln_cross.
  test("points in the blocks of an encoder-decoder have TransformerLens's names", async () => {
    const model = await load(openCase('t2_encdec_padmask').source);
    for (const n of await model.points()) {
      const [, stack, , name] = /^(encoder|decoder)\.(\d+)\.(.+)$/.exec(n) ?? [];
      if (!name || stages.test(n) || name.startsWith('ln_cross.')) continue;
      assert.ok(
        namesOf('two_stacks_block', { rotary: false, gated: false, decoder: stack === 'decoder' }).includes(name),
        n,
      );
    }
  });

  test('a star matches any text including dots, and each point is captured once', async () => {
    const model = await load(gqa.source);
    const keys = async (capture) => Object.keys((await model.forward([1, 2], { capture })).captured);
    assert.deepEqual(await keys(['*.attn.hook_pattern']), ['blocks.0.attn.hook_pattern', 'blocks.1.attn.hook_pattern']);
    assert.deepEqual(await keys(['blocks.1.*_q', 'blocks.1.attn.hook_q']), [
      'blocks.1.attn.hook_q',
      'blocks.1.attn.hook_rot_q',
    ]);
    assert.deepEqual(await keys(['*']), await model.points());
    assert.deepEqual(await keys([]), []);
  });

  test('a misspelt point is an error with the nearest name', async () => {
    const model = await load(one.source);
    const message = 'this model has no point "blocks.0.attn.hook_patern": did you mean blocks.0.attn.hook_pattern?';
    await assert.rejects(model.forward([1], { capture: ['blocks.0.attn.hook_patern'] }), {
      code: 'unknown-point',
      message,
    });
  });

  // A pattern was made into a regular expression: ten stars in a row took half a minute, and each further one several
  // times as long.
  test('a pattern with many stars matches as its regular expression would, without backtracking', async (t) => {
    const model = await load(one.source),
      names = await model.points();
    const matched = async (capture) =>
      Object.keys(
        (
          await model.forward([1], { capture: [capture] }).catch((error) => {
            assert.equal(error.code, 'unknown-point');
            return { captured: {} };
          })
        ).captured,
      );
    const parts = fc.array(fc.constantFrom('*', '*', 'blocks.', '0', '.attn.', 'hook_', 'attn', 'q', 'o', 't', '?'), {
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(parts, async (list) => {
        const expression = new RegExp(`^${list.join('').replace(/[.?]/g, '\\$&').replaceAll('*', '.*')}$`);
        assert.deepEqual(
          await matched(list.join('')),
          names.filter((n) => expression.test(n)),
          list.join(''),
        );
      }),
      { numRuns: 300 },
    );
    const { exec } = RegExp.prototype;
    t.mock.method(RegExp.prototype, 'exec', function (text) {
      assert.ok(this.source.split('.*').length <= 3, `the pattern became the regular expression ${this.source}`);
      return exec.call(this, text);
    });
    const searches = t.mock.method(String.prototype, 'indexOf').mock;
    assert.deepEqual(
      [await matched(`${'*'.repeat(40)}zz`), await matched('*'.repeat(999)), await matched(`${'*o'.repeat(20)}*zz`)],
      [[], names, []],
    );
    assert.ok(searches.callCount() < names.length * 1200, `${searches.callCount()} searches in ${names.length} names`);
  });
});

describe('values', () => {
  // tests/native/capture_test.c: they add up to the residual stream
  test('have the right shapes, and patterns are the softmax of the scores', async () => {
    const model = await untilEnd(load(gqa.source, { dtype: 'f32' }));
    const { dModel, nHeads, nKvHeads, dHead, dFf } = model.config;
    const ids = numbers(90, model.config.vocabSize),
      T = ids.length; // more than one chunk
    const { captured: c } = await model.forward(ids, { capture: ['*'] });
    const shapes = {
      hook_embed: [T, dModel],
      'blocks.1.attn.hook_q': [T, nHeads, dHead],
      'blocks.1.attn.hook_k': [T, nKvHeads, dHead],
      'blocks.1.attn.hook_pattern': [nHeads, T, T],
      'blocks.0.mlp.hook_pre': [T, dFf],
      'blocks.0.ln1.hook_scale': [T, 1],
      'blocks.0.attn.hook_result': [T, nHeads, dModel],
    };
    for (const [name, shape] of Object.entries(shapes)) {
      assert.deepEqual(c[name].shape, shape, name);
      assert.equal(
        c[name].data.length,
        shape.reduce((a, b) => a * b),
        name,
      );
    }
    const pattern = c['blocks.1.attn.hook_pattern'].data,
      scores = c['blocks.1.attn.hook_attn_scores'].data;
    for (let h = 0; h < nHeads; h++) {
      for (let q = 0; q < T; q++) {
        const at = (h * T + q) * T;
        let sum = 0,
          norm = 0;
        for (let k = 0; k <= q; k++) {
          sum += pattern[at + k];
          norm += Math.exp(scores[at + k]);
        }
        assert.ok(Math.abs(sum - 1) < 1e-5);
        assert.ok(Math.abs(Math.exp(scores[at + q]) / norm - pattern[at + q]) < 1e-5);
        for (let k = q + 1; k < T; k++) assert.ok(pattern[at + k] === 0 && scores[at + k] === -Infinity);
      }
    }
  });

  test('of a generation have each position once, of a session each eval', async () => {
    const model = await untilEnd(load(stories));
    const { steps } = await collect(
      model.generate([5, 6, 7], { maxTokens: 4, temperature: 0, capture: ['blocks.2.hook_resid_post'] }),
    );
    assert.deepEqual(
      steps.map((s) => s.captured['blocks.2.hook_resid_post'].shape[0]),
      [3, 1, 1, 1],
    );
    const session = await model.session({ capture: ['blocks.2.hook_resid_post'] });
    await session.eval([5, 6, 7]);
    assert.ok(
      sameBits(session.captured['blocks.2.hook_resid_post'].data, steps[0].captured['blocks.2.hook_resid_post'].data),
    );
    await session.eval([steps[0].id]);
    assert.ok(
      sameBits(session.captured['blocks.2.hook_resid_post'].data, steps[1].captured['blocks.2.hook_resid_post'].data),
    );
  });
});

test("the weight table of the shipped file has the file's types and bytes", async () => {
  const model = await untilEnd(load(stories));
  assert.ok(readFileSync(stories).length > model.parameters.bytes * 0.9);
  assert.equal(model.parameters.total, 3049920);
  const head = model.parameters.rows.find((r) => r.component === 'head');
  assert.deepEqual([head.count, head.tiedTo], [0, 'embed.weight']);
});
