// reference.test.js - the engine computes what src/reference/decoder.c computes, and each stage of that file has its
// fast counterpart in the table below and in CONTRIBUTING's tour
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createModel, loadModel } from '../../web/lib/run/load_model.js';
import { camelConfig, completeConfig } from '../../web/lib/engine/config/config.js';
import { FIELDS } from '../../web/lib/engine/config/config_fields.js';
import { covers, filled, linesOf } from '../../web/page/views/inside/anatomy/reference_code.js';
import { STAGES } from '../../web/page/text/stages_text.js';
import { golden, numbers, openCase, top } from './helpers.js';

/** Largest difference of a logit, as a share of the largest |logit|. */
const MOST = 1e-4;

/** Each stage of decoder.c with the file and the function that compute it fast. */
const FAST = {
  embed: ['src/model/layers/embed.c', 'gf_embed_forward'],
  norm1: ['src/model/layers/norm.c', 'gf_norm_forward'],
  qkv: ['src/model/layers/attention.c', 'project'],
  heads: ['src/model/layers/attend_cached.c', 'gf_attend_cached'],
  out: ['src/model/layers/attention.c', 'project_out'],
  norm2: ['src/model/layers/norm.c', 'gf_norm_forward'],
  ffn: ['src/model/layers/ffn.c', 'gf_ffn_forward'],
  resid: ['src/model/layers/block.c', 'gf_block_forward'],
  final: ['src/model/layers/norm.c', 'gf_norm_forward'],
  head: ['src/model/layers/head.c', 'gf_head_forward'],
  sample: ['src/model/session/sample.c', 'gf_session_sample'],
};

const code = readFileSync(join(top, 'src/reference/decoder.c'), 'utf8');
const binary = WebAssembly.compile(readFileSync(join(top, 'build/reference/glassformer-reference.wasm')));

/**
 * A model loaded by the reference's binary, closed after `use`.
 * @param {any} source @param {(model: any) => void} use
 */
async function withModel(source, use) {
  const model = await loadModel(source, { dtype: 'f32', kvDtype: 'f32', threads: 1 }, { engine: binary });
  try {
    use(model);
  } finally {
    model.dispose();
  }
}

/**
 * The reference's logits [n, vocab_size]; null: it does not cover the model.
 * @param {any} model @param {number[]} ids
 */
function referenceLogits({ engine }, ids) {
  const n = ids.length * engine.config.vocab_size;
  const idsAt = engine.alloc(4 * ids.length);
  const at = engine.alloc(8 * n);
  try {
    new Int32Array(engine.x.memory.buffer, idsAt, ids.length).set(ids);
    const status = engine.x.test_reference_logits(engine.model, at, idsAt, ids.length);
    return status < 0 ? null : new Float64Array(engine.x.memory.buffer, at, n).slice();
  } finally {
    engine.x.gf_abi_free(idsAt);
    engine.x.gf_abi_free(at);
  }
}

/** The engine's logits of a text that is passed in chunks of `step` tokens. */
function engineLogits(model, ids, step) {
  const vocab = model.config.vocab_size;
  const session = model.engine.openSession(ids.length, 'f32');
  const logits = new Float32Array(ids.length * vocab);
  for (let i = 0; i < ids.length; i += step) {
    const chunk = ids.slice(i, i + step);
    session.eval(chunk);
    logits.set(session.logits(0, chunk.length, vocab), i * vocab);
  }
  session.close();
  return logits;
}

/** Compares both on a text, whole and token by token. Returns whether the reference covers the model. */
function compare(model, ids) {
  const want = referenceLogits(model, ids);
  if (!want) return false;
  const largest = want.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  for (const step of [ids.length, 1]) {
    const got = engineLogits(model, ids, step);
    const off = want.reduce((most, x, i) => (Math.abs(x - got[i]) <= most ? most : Math.abs(x - got[i])), 0);
    assert.ok(off <= MOST * largest, `in steps of ${step}: ${off} off, the largest logit is ${largest}`);
  }
  return true;
}

describe('the engine has the logits of the reference', () => {
  for (const name of ['stories-1m', 'stories', 'stories-gpt2'])
    test(`of ${name}`, () =>
      withModel(join(top, `weights/${name}.gguf`), (model) => {
        const text = model.tokenizer.encode('Once upon a time there was a little girl named Lily. She had a red ball');
        assert.ok(compare(model, text));
        assert.ok(compare(model, numbers(40, model.config.vocab_size)));
      }));

  const covered = new Set([
    'gguf_llama_q3_k_m_fallback',
    'gguf_llama_q4_0',
    'gguf_llama_q4_k_m_fallback',
    'gguf_llama_q8_0',
    'gguf_starcoder2',
    'gpt2_n_inner',
    'llama_1tok',
    'llama_gqa_f16',
    't1_3layer_odd',
    't3_literal',
    't5_literal_untied',
  ]);
  for (const name of readdirSync(golden).filter((each) => existsSync(join(golden, each, 'case.json'))))
    test(`of the case ${name}${covered.has(name) ? '' : ', which it does not cover'}`, async () => {
      const { source, about } = openCase(name);
      await withModel(source, (model) => {
        assert.equal(compare(model, about.input_ids), covered.has(name));
        assert.equal(covers(code, camelConfig(model.config)), covered.has(name), 'what the page says of it');
      });
    });
});

describe('the page says of a model what gf_reference_covers says', () => {
  const tiny = { vocab_size: 11, context_length: 8, d_model: 8, n_layers: 1, n_heads: 2 };
  for (const field of ['ffn', 'norm', 'position'])
    for (const word of FIELDS[field].words)
      test(`with ${field} ${word}`, async () => {
        const model = await createModel(
          completeConfig({ ...tiny, [field]: word }),
          { kvDtype: 'f32', threads: 1 },
          { engine: binary },
        );
        try {
          assert.equal(covers(code, camelConfig(model.config)), compare(model, numbers(6, tiny.vocab_size)));
        } finally {
          model.dispose();
        }
      });
});

describe('decoder.c as a text', () => {
  const read = (file) => readFileSync(join(top, file), 'utf8');
  const text = code;

  test('includes the weights, the configuration and the kernels only, and the decoder in it has at most 244 lines', () => {
    const included = [...text.matchAll(/^#include "(.*)"/gm)].map((found) => found[1]);
    assert.deepEqual(included, ['kernels/kernels.h', 'model/config.h', 'model/weights.h']);
    assert.ok(text.split('\n/* ----')[0].split('\n').length <= 244);
  });

  test('its stages are stages of the page, and each has its fast counterpart', () => {
    const marked = [...text.matchAll(/^\/\* \[stage: ([\w ]+)\]/gm)].flatMap((found) => found[1].split(' '));
    assert.deepEqual([...marked].sort(), Object.keys(FAST).sort());
    for (const [stage, [file, name]] of Object.entries(FAST)) {
      assert.ok(stage === 'sample' || Object.hasOwn(STAGES, stage), `the page has no stage ${stage}`);
      assert.match(read(file), new RegExp(`^[a-z][\\w ]*[ *]${name}\\(.*[{,]$`, 'm'), `${file} defines ${name}`);
    }
  });

  test('the page shows the lines of each stage, and nothing of them is lost where sizes and values are written', () => {
    const shown = Object.keys(FAST).map((stage) => {
      const { first, lines } = linesOf(text, stage);
      assert.match(lines[0], new RegExp(`stage: [^\\]]*\\b${stage}\\b`));
      assert.equal(text.split('\n')[first - 1], lines[0]);
      const pieces = filled(lines, { d_model: 8, n: 3 }, [{ in: 'add(p);', says: '// x' }]);
      assert.deepEqual(
        pieces.map((line) => line.map((piece) => piece.text).join('')),
        lines,
      );
      return pieces.flatMap((line) => line.map((piece) => piece.filled)).join(' ');
    });
    assert.match(shown[0], /^ =3 .*=8 /);
    assert.equal(linesOf(text, 'sample')?.lines.at(-1), '}', 'what follows the rule is no part of a stage');
    assert.ok(!linesOf(text, 'sample')?.lines.join().includes('gf_reference_covers'));
    assert.equal(shown.filter((text) => text.includes('// x')).length, 2);
  });

  test("CONTRIBUTING's tour walks down its stages and names these files", () => {
    const tour = [...read('CONTRIBUTING.md').matchAll(/^\| ((?:`\w+`(?:, )?)+) \| `(\w+)` in `(src\/\S+\.c)` \|/gm)];
    const rows = tour.flatMap(([, stages, name, file]) => stages.match(/\w+/g).map((stage) => [stage, [file, name]]));
    assert.deepEqual(Object.fromEntries(rows), FAST);
  });
});
