// side_files.test.js - the files beside a tokenizer.json, and in place of one, against transformers: ids and texts
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Tokenizer, load } from '../../web/lib/api/index.js';
import { chatTemplates } from '../../web/lib/files/vocabulary/chat_template.js';
import { sentencePieceTokenizer } from '../../web/lib/files/vocabulary/sentencepiece.js';
import { mergesTxtJson, piecesJson, withSideTokens } from '../../web/lib/files/vocabulary/side_files.js';
import { json } from './helpers.js';
import { safetensors } from './checkpoint_files.js';
import { floats } from './random_values.js';

const recorded = json(fileURLToPath(new URL('../golden/text/side_files.json', import.meta.url)));
const bytesOf = (text) =>
  text.startsWith('base64:') ? new Uint8Array(Buffer.from(text.slice(7), 'base64')) : new TextEncoder().encode(text);
const textsOf = (name) =>
  Object.fromEntries(
    recorded.folders[name].files.map((file) => [
      file,
      recorded.own[name][file] ?? recorded.shared[file] ?? JSON.stringify(recorded.folders[name].config),
    ]),
  );
const filesOf = (name) => Object.entries(textsOf(name)).map(([file, text]) => new File([bytesOf(text)], file));

/** The weights of a GPT-2 with a vocabulary of 400 tokens. */
function gpt2() {
  const d = 8;
  const matrix = (...shape) => ({
    shape,
    data: floats(
      shape.reduce((a, b) => a * b, 1),
      3,
    ),
  });
  const both = (name, rows, cols) => ({ [`${name}.weight`]: matrix(rows, cols), [`${name}.bias`]: matrix(cols) });
  const norm = (name) => ({ [`${name}.weight`]: matrix(d), [`${name}.bias`]: matrix(d) });
  const tensors = {
    ...{ 'wte.weight': matrix(400, d), 'wpe.weight': matrix(32, d), ...norm('ln_f'), ...norm('h.0.ln_1') },
    ...{ ...norm('h.0.ln_2'), ...both('h.0.attn.c_attn', d, 3 * d), ...both('h.0.attn.c_proj', d, d) },
    ...{ ...both('h.0.mlp.c_fc', d, 4 * d), ...both('h.0.mlp.c_proj', 4 * d, d) },
  };
  const config = { model_type: 'gpt2', vocab_size: 400, n_embd: d, n_layer: 1, n_head: 2, n_positions: 32 };
  return [new File([safetensors(tensors)], 'model.safetensors'), new File([JSON.stringify(config)], 'config.json')];
}

/** The tokenizer that the files of a folder give, and the warnings. */
function opened(name, rows = 400) {
  const { kind } = recorded.folders[name];
  const texts = textsOf(name);
  const parsed = (file) => (texts[file] ? JSON.parse(texts[file]) : null);
  const config = parsed('tokenizer_config.json');
  const added = config?.added_tokens_decoder ? null : parsed('added_tokens.json');
  const files = { settings: { ...config, ...parsed('special_tokens_map.json') }, added };
  const warnings = [];
  const model = { type: kind, rows, where: name, warnings };
  const made = texts['tokenizer.json']
    ? withSideTokens(parsed('tokenizer.json'), files, rows, warnings)
    : texts['vocab.json']
      ? mergesTxtJson(parsed('vocab.json'), texts['merges.txt'], files, model)
      : piecesJson(bytesOf(texts['tokenizer.model']), files, model);
  return { made, warnings };
}

describe(`as transformers ${recorded.transformers}`, () => {
  for (const [name, { texts }] of Object.entries(recorded.folders))
    test(name, () => {
      const { made, warnings } = opened(name);
      assert.deepEqual(warnings, []);
      const tokenizer = new Tokenizer(made);
      for (const { text, ids, plain, decoded } of texts) {
        assert.deepEqual([...tokenizer.encode(text)], ids, JSON.stringify(text));
        assert.deepEqual([...tokenizer.encode(text, { addSpecialTokens: false })], plain, JSON.stringify(text));
        assert.equal(tokenizer.decode(plain), decoded);
      }
    });
});

describe('folders', () => {
  for (const name of ['gpt2', 'gpt2, special_tokens_map', 'llama, bos', 'gemma', 'tokenizer.json'])
    test(name, async () => {
      const model = await load([...gpt2(), ...filesOf(name)]);
      for (const { text, ids } of recorded.folders[name].texts)
        assert.deepEqual([...(await model.encode(text))], ids, JSON.stringify(text));
      model.dispose();
    });

  test('without merges.txt or tokenizer.model the model takes token ids', async () => {
    const model = await load([...gpt2(), new File([recorded.shared['vocab.json']], 'vocab.json')]);
    assert.equal((await model.forward([1, 2])).logits.shape[1], 400);
    model.dispose();
  });
});

describe('what cannot be read is warned of or refused', () => {
  test('a token without a row in the model is left out', () => {
    const { made, warnings } = opened('gpt2, both ends', 331);
    assert.match(warnings.join(), /no row in the model, and were left out: "<\/s>"/);
    assert.ok(!made.added_tokens.some(({ content }) => content === '</s>'));
  });
  test('a class that is not known', () => {
    const vocab = JSON.parse(recorded.shared['vocab.json']);
    const warnings = [];
    const model = { type: 'x', rows: 400, where: 'folder', warnings };
    const files = { settings: { tokenizer_class: 'FutureTokenizer' }, added: null };
    mergesTxtJson(vocab, recorded.shared['merges.txt'], files, model);
    assert.match(warnings.join(), /tokenizer_class "FutureTokenizer" is read like GPT2Tokenizer/);
    const bytes = bytesOf(recorded.shared['tokenizer.model']);
    assert.deepEqual(piecesJson(bytes, files, model), sentencePieceTokenizer(bytes, 'folder'));
    assert.match(warnings.at(-1), /SentencePiece's own rules, because the class "FutureTokenizer" is not known/);
  });
  test('malformed files', () => {
    const model = { type: 'gpt2', rows: 400, where: 'folder', warnings: [] };
    const files = { settings: {}, added: null };
    const refusal = (message) => ({ code: 'bad-tokenizer', message });
    assert.throws(() => mergesTxtJson([1], '', files, model), refusal(/vocab\.json: expected an object of ids/));
    assert.throws(() => mergesTxtJson({ a: -1 }, '', files, model), refusal(/vocab\.json/));
    assert.throws(
      () => mergesTxtJson({ a: 0 }, 'a b c\n', files, model),
      refusal(/merges\.txt: "a b c" is not a pair/),
    );
    const whole = bytesOf(recorded.shared['tokenizer.model']);
    for (const bytes of [new Uint8Array(0), new Uint8Array(9).fill(255), whole.subarray(0, 3)])
      assert.throws(
        () => piecesJson(bytes, files, { ...model, type: 'llama' }),
        refusal(/not a SentencePiece model|no tokens/),
      );
    for (let at = 0; at < whole.length; at += 7) {
      const cut = whole.slice();
      cut[at] ^= 0x5a;
      try {
        piecesJson(cut, files, { ...model, type: 'llama' });
      } catch (error) {
        assert.match(error.code, /bad-tokenizer|unsupported/, error.stack);
      }
    }
  });
});

test('a dictionary of named chat templates, and the special tokens of templates', async () => {
  const templates = { default: 'D', tool_use: 'T', rag: 'R' };
  assert.deepEqual(chatTemplates(templates), { chatTemplate: 'D', toolTemplate: 'T' });
  assert.deepEqual(chatTemplates({ rag: 'R' }), { chatTemplate: 'R', toolTemplate: null });
  assert.deepEqual(chatTemplates(null), { chatTemplate: null, toolTemplate: null });
  const { specialTexts } = await import('../../web/lib/files/vocabulary/side_files.js');
  const settings = { bos_token: '<s>', eos_token: { content: '</s>' }, pad_token: null, unk_token: '<unk>', x: 1 };
  const texts = { bos_token: '<s>', eos_token: '</s>', pad_token: '', unk_token: '<unk>' };
  assert.deepEqual(specialTexts(settings), texts);
});

test('a chat template sees the special tokens of tokenizer_config.json', async () => {
  const settings = {
    ...{ bos_token: '<s>', eos_token: { content: '</s>' }, pad_token: '<pad>', unk_token: '<unk>' },
    chat_template: { default: '{{ bos_token }}{{ pad_token }}{{ unk_token }}{{ messages[0].content }}{{ eos_token }}' },
  };
  const files = [...gpt2(), ...filesOf('gpt2'), new File([JSON.stringify(settings)], 'tokenizer_config.json')];
  const model = await load(files);
  const { text } = await model.prompt([{ role: 'user', content: 'hi' }]);
  assert.equal(text, '<s><pad><unk>hi</s>');
  model.dispose();
});

test('eos_token_id of generation_config.json may be a list', async () => {
  const files = [...gpt2(), new File([JSON.stringify({ eos_token_id: [7, 9] })], 'generation_config.json')];
  const model = await load(files);
  const only = { logitBias: { 9: 100 }, maxTokens: 5, temperature: 0 };
  const generated = await model.generate([1, 2], only);
  const steps = [];
  for await (const { id } of generated) steps.push(id);
  assert.ok(steps.length <= 1, `stops at 9, generated ${steps}`);
  model.dispose();
});
