// untrusted.test.js - claims of SECURITY.md about hostile files that no other test covers
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openCheckpoint } from '../../web/lib/files/source.js';
import { chatPrompt } from '../../web/lib/text/chat_prompt.js';
import { refused } from './helpers.js';
import { ggufFile } from './small_files.js';
import { archive, op, pickle, safetensors, tensorOps, u32 } from './checkpoint_files.js';

const top = fileURLToPath(new URL('../..', import.meta.url));

/** @param {string} chatTemplate */
const render = async (chatTemplate) => {
  const model = { chatTemplate, toolTemplate: null, special: { bos: null, eos: [], addBos: false } };
  return (await chatPrompt(model, [{ role: 'user', content: 'x' }], {}, async () => '')).text;
};

/** How often functions of the library, and their blocks, run in a call: its work, on whatever machine. */
async function stepsOf(call) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  try {
    await call();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url }) => url.includes('/web/lib/'))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
      .reduce((n, { count }) => n + count, 0);
  } finally {
    session.disconnect();
  }
}

test('a chat template cannot reach JavaScript objects', async () => {
  for (const expression of [
    '"".constructor',
    'messages.constructor',
    'messages[0].__proto__',
    'range.constructor',
    'globalThis',
    'process',
  ]) {
    assert.equal(await render(`{{ ${expression} is defined }}`), 'False', expression);
  }
  for (const expression of ['[].constructor.constructor', '"".constructor.constructor("return 1")()', 'range.call'])
    await assert.rejects(render(`{{ ${expression}() }}`), { code: 'bad-option' });
  assert.equal(await render('{{ messages[0].content }}'), 'x');
});

test('neither the library nor its bundled packages turn text into code', () => {
  const folders = ['web/lib'];
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

describe('the work for a header is bounded by the tensors that it lists', () => {
  /** A safetensors file with tensors of a shape without data. */
  const empty = (names, shape = [0, 0]) =>
    safetensors(names.map((name) => ({ name, shape, dtype: 'F32', data: new Float32Array(0) })));
  const ofLlama = (layers) => [
    'model.embed_tokens.weight',
    ...Array.from({ length: layers }, (_, l) =>
      [
        'self_attn.q_proj',
        'self_attn.k_proj',
        'self_attn.v_proj',
        'self_attn.o_proj',
        'mlp.up_proj',
        'mlp.down_proj',
      ].map((name) => `model.layers.${l}.${name}.weight`),
    ).flat(),
  ];
  const keys = ['n_layers', 'num_hidden_layers', 'n_layer', 'num_layers'];
  const deep = Object.fromEntries(keys.map((key) => [key, 4096]));
  const sizes = {
    vocab_size: 8,
    hidden_size: 8,
    num_attention_heads: 2,
    num_key_value_heads: 2,
    intermediate_size: 16,
  };
  const mixtral = { ...deep, ...sizes, model_type: 'mixtral', num_local_experts: 1024 };
  /** One storage with the same numbers under many names, of which the last one is a weight. */
  const aliases = () => {
    const tensor = tensorOps({ key: '0', shape: [2, 2], numel: 4 });
    const names = [...Array.from({ length: 20_000 }, (_, i) => `x.${i}`), 'embed.weight'];
    const weights = archive([
      ['data.pkl', pickle(op.dict(names.map((name) => [op.text(name), tensor])))],
      ['data/0', new Uint8Array(16)],
    ]);
    return { weights, config: { model_type: 'glassformer', vocab_size: 2, d_model: 2, n_layers: 1, n_heads: 1 } };
  };
  const gpt2 = { model_type: 'gpt2', vocab_size: 8, n_embd: 8, n_head: 2 };
  // each most is some five times what it takes
  for (const [what, most, code, source] of [
    ['a name with a large number', 1e6, 'bad-config', () => empty(['blocks.4095.x'])],
    ['4,096 layers of an unknown family', 1e6, 'bad-config', () => ({ weights: empty(ofLlama(1)), config: deep })],
    [
      '4,096 layers of a known one',
      1e5,
      'missing-tensor',
      () => ({ weights: empty(['x']), config: { ...gpt2, ...deep } }),
    ],
    ['1,024 experts in each', 1e5, 'missing-tensor', () => ({ weights: empty(ofLlama(1)), config: mixtral })],
    ['4,096 layers of a GGUF', 5e4, 'missing-tensor', () => ggufFile({ 'llama.block_count': u32(4096) })],
    ['4,096 empty layers', 1e6, 'bad-config', () => empty(ofLlama(4096))],
    ['20,000 names of one tensor', 4e7, 'missing-tensor', aliases],
  ])
    test(what, async () => {
      const file = source();
      const steps = await stepsOf(() => refused(openCheckpoint(file), code));
      assert.ok(steps < most, `${steps} steps`);
    });

  // They were the arguments of one call, which overflowed the stack.
  test('150,000 tensors are refused as few are', () =>
    refused(openCheckpoint(empty(Array.from({ length: 150_000 }, (_, i) => `x${i}`))), 'bad-config'));

  test('and a signal ends it', async () => {
    const weights = empty(ofLlama(4096));
    const reason = new Error('not wanted any more');
    const controller = new AbortController();
    const opened = openCheckpoint(weights, { signal: controller.signal });
    setImmediate(() => controller.abort(reason)); // at the first pause of the work
    await assert.rejects(opened, (error) => error === reason);
  });
});
