// pytorch.test.js - files of torch.save: state dicts as people save them, and malformed ones
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync, mkdirSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { load } from '../../web/lib/api/index.js';
import { temporaryFolder } from '../temporary.js';
import { golden, logitsOf, readTensors, refused, serve, untilEnd } from './helpers.js';
import { archive, op, pickle, tensorOps, torchFile } from './checkpoint_files.js';

const folder = fileURLToPath(new URL('../golden/pytorch/', import.meta.url));
const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));
/** What the files do not tell. */
const OPTIONS = {
  'mingpt.pt': { config: { n_head: 2 } },
  'mingpt_2020.pt': { config: { nHeads: 2 } },
  'nanogpt_half.pt': { config: { n_head: 2 } },
  'lightning.ckpt': { config: { n_head: 2 } },
  'strided.pth': { config: { n_head: 2 } },
  'parameters.pt': { config: { n_head: 2 } },
  'objects.pt': { config: { model_type: 'nanogpt' } },
  'build_nanogpt.pt': { config: { activation: 'gelu_new' } },
  'whole_in_dict.pt': { config: { n_head: 2 } },
  'tutorial1_classical.pt': { config: { n_heads: 2, pre_norm: false, positional: 'rope' } },
};
/** Roundings of 2 layers in f32; the files' own numbers are exact. */
const TOLERANCE = 2e-5;
const temporary = temporaryFolder('pytorch');

/**
 * @param {any} source
 * @param {string} name
 * @param {object} [more]
 */
async function compare(source, name, more) {
  const model = await load(source, { ...OPTIONS[name], dtype: 'f32', ...more });
  try {
    const { logits } = await model.forward(expected.ids);
    const want = expected.logits[name].flat();
    assert.equal(logits.data.length, want.length);
    const far = want.reduce((most, x, i) => Math.max(most, Math.abs(x - logits.data[i])), 0);
    assert.ok(far <= TOLERANCE, `${name}: ${far}`);
    return { config: model.config, warnings: model.warnings };
  } finally {
    model.dispose();
  }
}

describe('state dicts as people save them', () => {
  for (const name of Object.keys(expected.logits)) {
    test(`${name} gives the logits that PyTorch gives, from a path, bytes and a worker`, async () => {
      const bytes = readFileSync(join(folder, name));
      await compare(join(folder, name), name);
      await compare(bytes, name);
      await compare(new Blob([bytes]), name, { worker: true, threads: 1 });
    });
  }

  test('model_args of nanoGPT is the configuration', async () => {
    const { config, warnings } = await compare(join(folder, 'nanogpt/ckpt.pt'), 'nanogpt/ckpt.pt');
    assert.deepEqual(
      [config.nLayers, config.nHeads, config.dModel, config.contextLength, config.biasNorm, config.tieWordEmbeddings],
      [2, 2, 16, 12, false, true],
    );
    assert.deepEqual(warnings, []);
  });

  test('an object beside the weights is a configuration', async () => {
    const { config, warnings } = await compare(join(folder, 'build_nanogpt.pt'), 'build_nanogpt.pt');
    assert.deepEqual([config.nHeads, config.contextLength, config.ffn], [2, 12, 'gelu_tanh']);
    assert.deepEqual(warnings, []);
  });

  // A copy of nanoGPT with such an object was read with the GELU of build-nanogpt.
  test('the kind of GELU is asked for beside a GPTConfig that does not tell it', async () => {
    const file = join(folder, 'build_nanogpt.pt');
    const error = await load(file).catch((e) => e);
    assert.deepEqual([error.code, error.keys], ['bad-config', [{ key: 'activation', choices: ['gelu_new', 'gelu'] }]]);
    for (const [config, ffn] of [
      [{ activation: 'gelu' }, 'gelu_erf'],
      [{ model_type: 'mingpt' }, 'gelu_tanh'],
    ]) {
      const model = await load(file, { config });
      assert.equal(model.config.ffn, ffn);
      model.dispose();
    }
  });

  test('the final RMSNorm over LayerNorm blocks is explained, decoded and seen as it is computed', async () => {
    const name = 'tutorial1_classical.pt';
    const model = await untilEnd(load(join(folder, name), { ...OPTIONS[name], dtype: 'f32' }));
    const { norm, finalNormKind, finalNormEps, normPlacement, finalNorm } = model.config;
    assert.deepEqual(
      [norm, finalNormKind, finalNormEps, normPlacement, finalNorm],
      ['layernorm', 'rmsnorm', 1e-6, 'post', true],
    );
    const { ids } = expected;
    const { logits } = await model.forward(ids);
    const size = logits.shape[1];
    const session = await model.session();
    for (const [i, id] of ids.entries())
      assert.deepEqual(await session.eval([id]), logits.data.slice(i * size, (i + 1) * size));
    await session.close();
    for (const at of ['ln_final.hook_scale', 'ln_final.hook_normalized', 'blocks.1.ln2.hook_normalized', 'logits']) {
      const { value, computed } = await model.explain(ids, { at, position: 3, index: at.endsWith('scale') ? 0 : 5 });
      assert.ok(Math.abs(value - computed) < 1e-5 * Math.max(1, Math.abs(value)), `${at}: ${value}, ${computed}`);
    }
    const best = (await model.logitLens(ids, { top: 1 })).at(-1).at(-1)[0];
    const { sum, logit } = await model.attribution(ids, { token: best.id });
    assert.ok(Math.abs(sum - logit) < 1e-4, `${sum} instead of ${logit}`);
    const { parameters } = model;
    assert.ok(parameters.rows.some((row) => row.name === 'blocks.0.norm1.bias'));
    assert.ok(!parameters.rows.some((row) => row.name === 'final_norm.bias'));
  });

  test('a file arrives in any pieces', async () => {
    const bytes = readFileSync(join(folder, 'strided.pth'));
    for (const size of [61, 4096]) {
      const stream = new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size)
            controller.enqueue(Uint8Array.from(bytes.subarray(at, at + size)));
          controller.close();
        },
      });
      await compare(stream, 'strided.pth');
    }
  });

  test('a file is read from an address without requests of ranges', async () => {
    const asked = [];
    const server = await serve((request, response) => {
      asked.push([request.url, request.headers.range]);
      if (request.url !== '/m/ckpt.pt') return response.writeHead(404).end();
      response.end(readFileSync(join(folder, 'nanogpt/ckpt.pt')));
    });
    try {
      await compare(`${server.url}m/ckpt.pt`, 'nanogpt/ckpt.pt');
      assert.ok(asked.some(([url]) => url === '/m/ckpt.pt'));
      assert.ok(asked.every(([, range]) => range === undefined));
    } finally {
      server.close();
    }
  });

  test('dropped files: a checkpoint alone, and one with its tokenizer', async () => {
    const bytes = readFileSync(join(folder, 'nanogpt/ckpt.pt'));
    await compare([new File([bytes], 'ckpt.pt')], 'nanogpt/ckpt.pt');
    const tokenizer = JSON.stringify({ model: { type: 'BPE', vocab: { a: 0, b: 1 }, merges: [] } });
    const files = [new File([bytes], 'ckpt.pt'), new File([tokenizer], 'tokenizer.json')];
    const model = await untilEnd(load(files, OPTIONS['nanogpt/ckpt.pt']));
    assert.deepEqual(await model.encode('ba'), [1, 0]);
  });
});

// ---- pytorch_model.bin

/** A checkpoint of Hugging Face's layout, in safetensors. */
const llama = join(golden, 'llama_1tok');

/** The tensors of a safetensors file. */
const tensorsOf = (path) => Object.entries(readTensors(path)).map(([name, tensor]) => ({ name, ...tensor }));

describe('pytorch_model.bin', () => {
  const tensors = tensorsOf(join(llama, 'model.safetensors'));
  const place = (name, files) => {
    const at = join(temporary, name);
    mkdirSync(at);
    copyFileSync(join(llama, 'config.json'), join(at, 'config.json'));
    for (const [file, bytes] of Object.entries(files)) writeFileSync(join(at, file), bytes);
    return `${at}/`;
  };

  test('in a folder without safetensors it gives the same numbers', async () => {
    const want = await logitsOf(`${llama}/`);
    const extra = { entries: [['byteorder', new TextEncoder().encode('little')]] };
    assert.deepEqual(await logitsOf(place('whole', { 'pytorch_model.bin': torchFile(tensors, extra) })), want);
    const options = { options: { behind: false } };
    assert.deepEqual(await logitsOf(place('sized', { 'pytorch_model.bin': torchFile(tensors, options) })), want);
  });

  test('in shards, with the index', async () => {
    const want = await logitsOf(`${llama}/`);
    const shards = 6;
    const map = {};
    const files = {};
    for (let i = 0; i < shards; i++) {
      const name = `pytorch_model-0000${i + 1}-of-0000${shards}.bin`;
      const own = tensors.filter((_, j) => j % shards === i);
      files[name] = torchFile(own);
      for (const t of own) map[t.name] = name;
    }
    const index = JSON.stringify({ metadata: {}, weight_map: map });
    const whole = { ...files, 'pytorch_model.bin.index.json': index };
    assert.deepEqual(await logitsOf(place('shards', whole)), want);
    const { [Object.keys(files)[2]]: _, ...fewer } = whole;
    await refused(() => load(place('fewer', fewer)), 'not-found', /pytorch_model-00003-of-00006\.bin/);
  });
});

// ---- what is refused

const tensor = (more = {}) => tensorOps({ key: '0', shape: [2, 2], numel: 4, ...more });
const data = new Uint8Array(16);
const file = (ops, more = {}) =>
  archive(
    [
      ['data.pkl', pickle(ops)],
      ['data/0', data],
      ['version', Uint8Array.of(51, 10)],
    ],
    more,
  );
const dictOf = (ops) => op.dict([[op.text('w'), ops]]);

describe('models of the tutorials that were saved in other ways', () => {
  const literal = join(golden, 't3_literal');
  const tensors = tensorsOf(join(literal, 'model.safetensors'));
  const { model_type: _, ...config } = JSON.parse(readFileSync(join(literal, 'config.json'), 'utf8'));
  const dict = (fields) => op.dict(Object.entries(fields).map(([key, value]) => [op.text(key), value]));

  test('the numbers of a dict beside the state dict are the configuration', async () => {
    const args = dict({ n_heads: op.int(config.n_heads), note: op.text('x') });
    for (const key of ['config', 'args', 'hparams']) {
      const bytes = torchFile(tensors, { wrap: (state) => dict({ model: state, [key]: args, epoch: op.int(3) }) });
      const model = await load(bytes);
      assert.equal(model.config.nHeads, config.n_heads);
      assert.match(model.warnings.join(), /not used: note/);
      model.dispose();
    }
    const two = torchFile(tensors, { wrap: (state) => dict({ epoch: op.int(3), one: state, two: state }) });
    await refused(load(two), 'unsupported', /a dict with \["epoch","one","two"\].*model_state_dict/);
  });

  test('the state dict of one block is refused as what it is', async () => {
    const block = tensors
      .filter(({ name }) => name.startsWith('blocks.0.'))
      .map((t) => ({ ...t, name: t.name.slice('blocks.0.'.length) }));
    await refused(
      load(torchFile(block)),
      'unsupported',
      /"attn\.k\.weight".*of one block \(gpt-prenorm-erf\).*whole model/,
    );
    const parts = { weights: torchFile(block), config: { ...config, model_type: 'gpt-prenorm-erf' } };
    await refused(load(parts), 'unknown-tensor', /one block alone is no model, where it is blocks\.0\.attn\.k\.weight/);
  });

  test('a bias on the first linear of a layer only counts as 0 on the other, unless config.json has none', async () => {
    const bias = { name: 'blocks.0.mlp.fc1.bias', shape: [256], data: new Float32Array(256).fill(0.5) };
    const other = { name: 'blocks.0.mlp.fc2.bias', shape: [64], data: new Float32Array(64) };
    const weights = torchFile([...tensors, bias]);
    const logits = [];
    for (const file of [weights, torchFile([...tensors, bias, other])]) {
      const model = await load(file, { config: { n_heads: 4 } });
      logits.push([...(await model.forward([1, 2, 3])).logits.data]);
      if (file === weights) assert.match(model.warnings.join(), /biases that the file lacks are 0: .*ffn\.down\.bias/);
      model.dispose();
    }
    assert.deepEqual(logits[0], logits[1]);
    const reason = /mlp\.fc1\.bias.*the linears of an attention or feed-forward layer have biases all or none/;
    await refused(load({ weights, config: { ...config, model_type: 'gpt-prenorm-erf' } }), 'unknown-tensor', reason);
  });
});

describe('what is refused', () => {
  const of = (name) => join(folder, 'refused', name);
  test('globals and opcodes by their name, and nothing is run', async () => {
    await refused(() => load(of('namespace.pt')), 'unsupported', /an object of "argparse\.Namespace".*state dict/);
    await refused(() => load(of('module.pt')), 'bad-config', /"weight","bias".*no known family/);
    const system = [...op.global('os', 'system'), ...op.tuple(op.text('echo')), ...op.reduce()];
    await refused(() => load(file(system)), 'unsupported', /"os\.system"/);
    const inherited = [...op.global('constructor', 'prototype')];
    await refused(() => load(file(inherited)), 'unsupported', /expected a state dict/);
    await refused(() => load(file([...dictOf(tensor()), 0x92])), 'unsupported', /opcode NEWOBJ_EX/);
    const other = [...op.global('torchao.dtypes', 'Tensor'), ...op.tuple(), ...op.reduce()];
    const two = op.dict([
      [op.text('v'), tensor()],
      [op.text('w'), other],
    ]);
    await refused(
      () => load(file(two)),
      'unsupported',
      /"w" is of the class torchao\.dtypes\.Tensor, expected a tensor/,
    );
    await refused(() => load(file([...dictOf(tensor()), 0x69])), 'unsupported', /opcode INST/);
    await refused(() => load(file([0xff])), 'unsupported', /opcode 0xff/);
  });

  test('a module that contains itself', async () => {
    const class_ = op.global('__main__', 'Loop');
    const again = [0x7d, 0x28, ...op.text('again'), 0x68, 1, 0x75]; // a dict with the object of memo 1
    const state = [...op.text('_parameters'), ...op.dict([]), ...op.text('_modules'), ...again];
    const loop = [...class_, ...op.tuple(), 0x81, 0x71, 1, 0x7d, 0x28, ...state, 0x75, 0x62];
    await refused(() => load(file(loop)), 'bad-header', /"__main__\.Loop".*contains itself/);
  });

  test('other things that torch.save and torch.jit write', async () => {
    await refused(() => load(of('before_1_6.pt')), 'unsupported', /before version 1\.6.*torch\.save\(torch\.load/);
    await refused(() => load(of('script.pt')), 'unsupported', /TorchScript|torch\.save/);
    await refused(() => load(of('list.pt')), 'unsupported', /a list, expected a state dict/);
    await refused(() => load(file(op.dict([[op.text('a'), op.int(1)]]))), 'unsupported', /\["a"\].*state_dict/);
    const quantised = dictOf(tensor({ storage: 'QInt8Storage' }));
    await refused(() => load(file(quantised)), 'unsupported', /"torch\.QInt8Storage"/);
  });

  test('archives that torch.save does not write', async () => {
    const good = dictOf(tensor());
    await refused(() => load(file(good, { method: 8 })), 'unsupported', /compressed/);
    const late = archive([
      ['data/0', data],
      ['data.pkl', pickle(good)],
    ]);
    await refused(() => load(late), 'unsupported', /begins with "archive\/data\/0"/);
    const big = archive([
      ['data.pkl', pickle(good)],
      ['byteorder', new TextEncoder().encode('big')],
      ['data/0', data],
    ]);
    await refused(() => load(big, { config: {} }), 'bad-config', /./); // the tensors come first
  });

  for (const [what, ops] of Object.entries({
    'more elements than its storage': tensor({ shape: [3, 2] }),
    'strides beyond its storage': tensor({ strides: [8, 1] }),
    'an offset beyond its storage': tensor({ offset: 1 }),
    'as many strides as it likes': tensor({ strides: [1] }),
    'a size above 2^53': tensor({ shape: [0x7fffffff, 0x7fffffff, 0x7fffffff], strides: [0, 0, 0] }),
  }))
    test(`a tensor with ${what} is refused`, async () => {
      await refused(() => load(file(dictOf(ops))), 'bad-header', /the pickle is not valid/);
    });

  test('a whole model with a wrong archive is refused', async () => {
    const bytes = readFileSync(join(folder, 'parameters.pt'));
    const options = OPTIONS['parameters.pt'];
    for (const length of [4, 100, 1000, 4000, bytes.length - 30, bytes.length - 1])
      await refused(() => load(bytes.subarray(0, length), options), 'truncated', /./);
    await refused(() => load(Buffer.concat([bytes, Buffer.of(0)]), options), 'bad-file', /but there are more/);
    const directory = bytes.indexOf(Buffer.from('PK\x01\x02'));
    for (const field of [20, 24, 42]) {
      // both sizes and the place of the first entry
      const changed = Uint8Array.from(bytes);
      changed[directory + field] ^= 1;
      await refused(() => load(changed, options), 'bad-header', /the directory lists/);
    }
    const second = bytes.indexOf('data/1', bytes.indexOf('data/0') + 1);
    const renamed = Uint8Array.from(bytes);
    renamed[second + 5] = 0x39 + 1;
    await refused(() => load(renamed, options), 'bad-header', /no tensor has the storage|two|twice/);
  });

  test('every file of the folder is used by a test', () => {
    const all = readdirSync(folder, { recursive: true }).filter((name) => /\.(pt|pth|ckpt)$/.test(String(name)));
    const used = [...Object.keys(expected.logits), ...readdirSync(of('.')).map((name) => `refused/${name}`)];
    assert.deepEqual(all.map(String).sort(), used.sort());
  });
});
