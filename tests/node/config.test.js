// config.test.js - a configuration is completed and checked the same way everywhere: by JavaScript, by the engine's C
// and by the trainer, from a recipe or from train()
//
// Defaults and checks once stood in C and in JavaScript: a recipe's RMSNorm had an epsilon of 1e-5 and that of train()
// 1e-6, post-norm models had a final norm in one of them, and each refused what the other took.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Engine } from '../../web/lib/engine/engine.js';
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { FIELDS, RULES, UNUSED } from '../../web/lib/engine/config/config_fields.js';
import { PRESETS } from '../../web/lib/api/index.js';
import { presetConfig } from '../../web/lib/engine/config/presets.js';
import { inJavaScript } from './complete_in_js.js';

const names = Object.keys(FIELDS);

// the binary of the tests: those that run models have no sentences of rules
const binary = new URL('../../build/reference/glassformer-reference.wasm', import.meta.url);
const engine = await Engine.start(await WebAssembly.compile(readFileSync(binary)));

const base = { vocab_size: 300, d_model: 48, n_layers: 2, n_heads: 4 };

const isList = (name) => 'entries' in FIELDS[name];

/** The same from gf_config_set, one field after the other, and gf_config_complete. */
function inC(fields) {
  const { x, schema } = engine;
  const [config, given, error] = [schema.config_bytes, names.length, schema.error.bytes].map(
    (n) => x.gf_abi_alloc(n) >>> 0,
  );
  const bytes = () => new Uint8Array(engine.memory.buffer);
  const sentence = () => {
    const text = bytes().subarray(error + schema.error.text);
    return new TextDecoder().decode(text.slice(0, text.indexOf(0)));
  };
  try {
    x.gf_config_default(config);
    // fields that are not given hold anything, except lists, which are empty: they are appended to, and stand last
    const lists = names.filter(isList).reduce((n, name) => n + 4 * (1 + FIELDS[name].entries), 0);
    bytes().fill(0xa5, config, config + schema.config_bytes - lists);
    bytes().fill(0, given, given + names.length);
    for (const [name, value] of Object.entries(fields)) {
      const field = schema.fields.indexOf(name);
      for (const one of [value].flat()) {
        const number = typeof one === 'string' ? schema.enums[name].indexOf(one) : Number(one);
        if (x.gf_config_set(config, field, number, error) < 0) return sentence();
      }
      bytes()[given + field] = 1;
    }
    if (x.gf_config_complete(config, given, error) < 0) return sentence();
    assert.equal(x.gf_config_check(config, error), 0, 'what is complete passes the check');
    return Object.fromEntries(
      names.map((name) => {
        const field = schema.fields.indexOf(name);
        const list = Array.from({ length: x.gf_config_count(config, field) }, (_, i) =>
          x.gf_config_get(config, field, i),
        );
        const { type } = FIELDS[name];
        if (isList(name)) return [name, type === 'flags' ? list.map(Boolean) : list];
        const [value] = list;
        return [name, type === 'word' ? schema.enums[name][value] : type === 'flag' ? Boolean(value) : value];
      }),
    );
  } finally {
    for (const p of [config, given, error]) x.gf_abi_free(p);
  }
}

/** Both, which must agree. */
function both(fields) {
  const found = inJavaScript(fields);
  assert.deepEqual(inC(fields), found, JSON.stringify(fields));
  return found;
}

/** Values of a field: mostly usual ones, some at and beyond its limits. */
function anyValue(name) {
  const field = FIELDS[name];
  if (field.type === 'word') return fc.constantFrom(...field.words);
  const rare = ['residual_normed', 'qk_norm_rotated', 'scores_by_layer'].includes(name);
  const common = name === 'first_norm';
  if (rare || common) return fc.constantFrom(...Array(9).fill(common), rare);
  if (name === 'head_activation') return fc.constantFrom(...Array(9).fill('none'), ...field.words);
  if (field.type === 'flag') return fc.boolean();
  if (field.type === 'flags') return fc.array(fc.boolean(), { maxLength: 4 });
  if (field.type === 'reals') return fc.array(fc.constantFrom(0.5, 1, 4, 0.3, 0), { minLength: 2, maxLength: 2 });
  const { least, most } = field;
  const usual = {
    d_model: [12, 24, 48, 60],
    n_heads: [1, 2, 3, 4, 6],
    n_kv_heads: [1, 2, 3],
    d_head: [4, 6, 7, 8],
    rotary_dim: [2, 4, 4, 5],
    rotary_kv_heads: [0, 0, 1, 2],
    rope_theta: [10000, 1, 0.5],
    rope_beta_slow: [1, 4, 100],
    position_pad_id: [...Array(9).fill(-1), 1],
    n_token_types: [...Array(9).fill(0), 2],
    n_encoder_heads: [...Array(9).fill(0), 2],
    d_encoder_ff: [...Array(9).fill(0), 8],
    encoder_vocab_size: [...Array(9).fill(0), 8],
    n_layer_groups: [...Array(9).fill(0), 1],
  };
  const edges = [least, most, least - 1, most * 2, 0, NaN, Infinity, 0.5, 1e21];
  const plain = usual[name] ?? (field.type === 'real' ? [0.000001, 0.1, 0.25, 1, 2.5, 4, 10000] : [1, 2, 3, 8, 100]);
  return fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...plain) },
    { weight: 1, arbitrary: fc.constantFrom(...edges) },
  );
}

const anyConfig = fc
  .record(Object.fromEntries(names.map((name) => [name, fc.option(anyValue(name), { nil: undefined, freq: 2 })])))
  .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)))
  .chain((fields) =>
    fc
      .record({
        missing: fc.constantFrom(...Array(30).fill(null), ...Object.keys(base)),
        alone: fc.boolean(),
        common: fc.constantFrom(true, true, true, false),
      })
      .map(({ missing, alone, common }) => {
        const all = { ...base, ...fields };
        // likewise fields that few architectures have
        const rare = [
          'position_offset',
          'relative_buckets',
          'relative_max_distance',
          'sinusoid_pairs',
          'position_pad_id',
          'n_token_types',
          'd_embed',
          'shared_norm',
          'parallel_residual',
          'rope_local_theta',
          'n_labels',
          'label_pooling',
          'label_transform',
          'label_norm',
        ];
        if (common) for (const name of [...rare, 'rotary_dim', 'rope_scaling', 'norm_placement']) delete all[name];
        if (common || alone)
          for (const name of ['n_experts', 'n_experts_used', 'd_expert', 'd_shared_expert']) delete all[name];
        // where an encoder or a decoder only is tried, fields of encoder-decoders would refuse nearly every case
        if (alone && all.kind !== 'encoder_decoder')
          for (const name of ['n_encoder_layers', 'shared_embedding']) delete all[name];
        if (alone && all.kind === 'encoder') delete all.causal;
        delete all[missing ?? ''];
        return all;
      }),
  );

describe('C and JavaScript complete and refuse the same configurations', () => {
  test('defaults, one field given at a time', () => {
    assert.deepEqual(engine.schema.fields.filter(Boolean), names);
    assert.equal(typeof both(base), 'object');
    for (const name of names) {
      const field = FIELDS[name];
      const values = {
        word: field.words,
        flag: [false, true],
        flags: [[], [true], [false, true], Array(field.entries).fill(false)],
        reals: [[], [field.least], [field.most, 1]],
      }[field.type] ?? [field.least, field.most];
      for (const value of values) both({ ...base, [name]: value });
    }
    for (const kind of FIELDS.kind.words)
      for (const norm of FIELDS.norm.words)
        for (const norm_placement of FIELDS.norm_placement.words)
          for (const ffn of FIELDS.ffn.words)
            assert.equal(
              typeof both({ ...base, kind, norm, norm_placement, ffn }),
              (kind === 'encoder_decoder' && ['sandwich', 'output'].includes(norm_placement)) ||
                (norm === 'none' && norm_placement !== 'pre')
                ? 'string'
                : 'object',
            );
  });

  test('the documented defaults', () => {
    const c = completeConfig(base);
    assert.deepEqual([c.n_kv_heads, c.d_head, c.d_ff, c.context_length], [4, 12, 128, 1024]);
    assert.deepEqual([c.norm, c.norm_eps, c.final_norm, c.bias_norm], ['rmsnorm', 1e-6, true, false]);
    const old = completeConfig({
      ...base,
      kind: 'encoder_decoder',
      norm: 'layernorm',
      norm_placement: 'post',
      ffn: 'relu',
    });
    assert.deepEqual([old.norm_eps, old.final_norm, old.bias_norm, old.d_ff], [1e-5, false, true, 192]);
    assert.deepEqual([old.n_encoder_layers, old.causal, old.tie_word_embeddings], [2, true, true]);
    const encoder = completeConfig({ ...base, kind: 'encoder' });
    assert.deepEqual([encoder.n_encoder_layers, encoder.causal, encoder.tie_word_embeddings], [0, false, false]);
    assert.equal(c.rope_original_context, 0);
  });

  test('every limit, and what lies beyond it', () => {
    for (const [name, field] of Object.entries(FIELDS)) {
      if (!['whole', 'real'].includes(field.type)) continue;
      const { least, most } = field;
      const sentence = `expected a ${field.type === 'whole' ? 'whole ' : ''}number from ${least} to ${most}`;
      for (const value of [least, most])
        assert.doesNotMatch(String(both({ ...base, [name]: value })), new RegExp(`^${name} is`));
      const beyond = field.type === 'whole' ? [least - 1, most + 1, least + 0.5] : [least - 0.5, most * 2, -1];
      for (const value of [...beyond, NaN, Infinity, -Infinity, 1e300, -1.5e-7])
        assert.equal(both({ ...base, [name]: value }), `${name} is ${value}, ${sentence}`);
    }
    for (const name of names.filter(isList)) {
      const { type, entries, least, most } = FIELDS[name];
      const range = type === 'flags' ? 'true or false' : `a number from ${least} to ${most}`;
      assert.equal(
        both({ ...base, [name]: [1, -1].slice(type === 'flags' ? 1 : 0) }),
        `${name} is -1, expected ${range}`,
      );
      const full = Array(entries).fill(type === 'flags' ? true : 1);
      assert.equal(both({ ...base, [name]: full })[name].length, entries);
      assert.equal(both({ ...base, [name]: [...full, full[0]] }), `${name} has more than ${entries} values`);
      assert.equal(inJavaScript({ ...base, [name]: 3 }), `${name} is 3, expected a list`);
    }
    assert.equal(both({ ...base, causal: 2 }), 'causal is 2, expected true or false');
    assert.equal(both({ ...base, norm: 3 }), 'norm is 3, expected one of layernorm, rmsnorm, none');
  });

  test('what has no default must be given', () => {
    for (const name of Object.keys(base)) {
      const { [name]: _, ...rest } = base;
      assert.equal(both(rest), `${name} is missing`);
    }
    assert.deepEqual(
      names.filter((name) => FIELDS[name].default === undefined),
      Object.keys(base),
    );
  });

  test('flags of parts that the architecture lacks are false, whatever was given', () => {
    const without = {
      bias_norm: { norm: 'rmsnorm' },
      bias_qk_norm: { qk_norm: true },
      pooler: { kind: 'encoder_decoder' },
      mlm_head: { kind: 'encoder_decoder' },
      bias_head_transform: {},
      tie_word_embeddings: { kind: 'encoder' },
      bias_head: { kind: 'encoder' },
    };
    assert.deepEqual(UNUSED.map(({ field }) => field).sort(), Object.keys(without).sort());
    for (const [field, architecture] of Object.entries(without))
      assert.equal(both({ ...base, ...architecture, [field]: true })[field], false);
  });

  test('each rule', () => {
    const llama3 = { rope_scaling: 'llama3', rope_original_context: 64 };
    const yarn = { rope_scaling: 'yarn', rope_original_context: 64 };
    const dynamic = { rope_scaling: 'dynamic', rope_original_context: 64 };
    const longrope = { rope_scaling: 'longrope', rope_original_context: 64, d_head: 4 };
    const two = { kind: 'encoder_decoder' };
    const cases = [
      [{ n_heads: 5 }, 'd_model 48 is not divisible by n_heads 5'],
      [{ n_kv_heads: 3 }, 'n_heads 4 is not a multiple of n_kv_heads 3'],
      [{ n_heads: 4096, d_head: 18 }, 'n_heads 4096 times d_head 18 is more than 65536'],
      [{ n_kv_heads: 2, rotary_kv_heads: 3 }, 'rotary_kv_heads 3 is more than n_kv_heads 2'],
      [{ rotary_dim: 14 }, 'rotary_dim 14 is more than d_head 12'],
      [{ d_head: 7 }, 'd_head 7 is odd, rotary positions rotate pairs'],
      [{ rotary_dim: 7 }, 'rotary_dim 7 is odd, rotary positions rotate pairs'],
      [{ position_offset: 2 }, 'position_offset 2 needs learned or sinusoidal positions'],
      [
        { sinusoid_pairs: 'half_inclusive', d_model: 2, n_heads: 1 },
        'sinusoid_pairs half_inclusive needs d_model 2 above 3',
      ],
      [{ position_pad_id: 0 }, 'position_pad_id 0 needs kind encoder'],
      [{ kind: 'encoder', position_pad_id: 3 }, 'position_pad_id 3 needs position_offset above 0'],
      [{ ...two, n_token_types: 2 }, 'n_token_types 2 needs kind encoder'],
      [
        { position: 'learned', context_length: 16777217 },
        'context_length 16777217 is more than 16777216, the longest table of learned positions',
      ],
      [{ relative_buckets: 3 }, 'relative_buckets 3 is below 4'],
      [
        { relative_buckets: 32, relative_max_distance: 16 },
        'relative_max_distance 16 is not above half of relative_buckets 32',
      ],
      [{ kind: 'encoder_decoder', n_encoder_layers: 0 }, 'an encoder_decoder needs n_encoder_layers above 0'],
      [
        { kind: 'encoder', n_encoder_layers: 2 },
        'n_encoder_layers 2 does not fit kind encoder: only an encoder_decoder has encoder layers of its own',
      ],
      [{ n_encoder_heads: 2 }, 'n_encoder_heads 2 needs kind encoder_decoder'],
      [{ ...two, n_encoder_heads: 7 }, 'n_encoder_heads 7 does not divide n_heads 4 times d_head 12'],
      [
        { ...two, n_encoder_heads: 2 },
        'n_encoder_heads 2 does not fit n_kv_heads below n_heads, qk_norm, rotary positions or relative_buckets',
      ],
      [{ shared_embedding: false }, 'only an encoder_decoder can have two embeddings'],
      [{ kind: 'encoder', causal: true, mlm_head: true }, 'mlm_head does not fit causal true of an encoder'],
      [{ kind: 'encoder', mlm_head: true, n_labels: 2 }, 'n_labels 2 does not fit mlm_head'],
      [{ label_pooling: 'last' }, 'label_pooling last and label_transform none need n_labels above 0'],
      [{ n_labels: 2, label_norm: true }, 'label_norm needs a label_transform'],
      [{ n_labels: 2, label_transform: 'tanh', label_norm: true, norm: 'none' }, 'label_norm does not fit norm none'],
      [{ n_labels: 2, label_pooling: 'mean' }, 'label_pooling mean does not fit kind decoder'],
      [{ kind: 'encoder', n_labels: 2, label_pooling: 'pooler' }, 'label_pooling pooler needs pooler'],
      [{ ...two, norm_placement: 'output' }, 'norm_placement output does not fit kind encoder_decoder'],
      [{ ...two, parallel_residual: true }, 'parallel_residual needs kind decoder or a causal encoder'],
      [{ ...two, d_embed: 8 }, 'd_embed 8 does not fit kind encoder_decoder'],
      [
        { kind: 'encoder', d_embed: 8, position: 'sinusoidal' },
        'd_embed 8 of an encoder does not fit position sinusoidal',
      ],
      [{ d_embed: 8, mlm_head: true }, 'd_embed 8 of a decoder does not fit mlm_head'],
      [{ d_encoder_ff: 8 }, 'd_encoder_ff 8 and encoder_vocab_size 0 need kind encoder_decoder'],
      [{ ...two, ffn: 'none', d_encoder_ff: 8 }, 'd_encoder_ff 8 does not fit ffn none'],
      [{ ...two, encoder_vocab_size: 8 }, 'encoder_vocab_size 8 needs shared_embedding false'],
      [{ n_layer_groups: 9, n_layers: 2 }, 'n_layer_groups 9 is more than n_layers 2'],
      [
        { n_layer_groups: 1, n_experts: 4 },
        'n_layer_groups 1 does not fit kind encoder_decoder, n_experts or first_norm false',
      ],
      [
        { residual_normed: true, norm_placement: 'post' },
        'residual_normed needs norms, norm_placement pre and no parallel_residual',
      ],
      [{ scores_by_layer: true, scale_scores: false }, 'scores_by_layer needs kind decoder and scale_scores'],
      [{ head_activation: 'swiglu' }, 'head_activation swiglu has a gate, which mlm_head lacks'],
      [
        { first_norm: false, norm_placement: 'sandwich' },
        'first_norm false needs norms, norm_placement pre, no parallel_residual and no kind encoder_decoder',
      ],
      [
        { qk_norm_rotated: true },
        'qk_norm_rotated needs qk_norm with qk_norm_kind rmsnorm and qk_norm_span head, and every head rotated',
      ],
      [{ ...two, n_experts: 4 }, 'n_experts 4 needs kind decoder or a causal encoder'],
      [{ n_experts: 4, bias_ffn: true }, 'n_experts 4 needs bias_ffn false: experts have no biases'],
      [{ n_experts: 4, n_experts_used: 5 }, 'n_experts_used 5 is more than n_experts 4'],
      [{ n_experts: 4, n_experts_used: 0 }, 'n_experts_used 0 must be above 0 with n_experts 4'],
      [{ n_experts: 4, d_expert: 0 }, 'd_expert 0 must be above 0 with n_experts 4'],
      [{ d_shared_expert: 8 }, 'd_shared_expert 8 needs n_experts above 0'],
      [{ ...two, ...dynamic }, 'rope_scaling dynamic does not fit kind encoder_decoder'],
      [{ ...two, ...longrope }, 'rope_scaling longrope does not fit kind encoder_decoder'],
      [{ parallel_residual: true, norm_placement: 'post' }, 'parallel_residual needs norm_placement pre'],
      [{ ffn: 'none', d_ff: 64 }, 'd_ff 64 does not fit ffn none'],
      [{ d_ff: 0 }, 'd_ff 0 does not fit ffn swiglu'],
      [{ ffn: 'none', n_experts: 4 }, 'ffn none does not fit n_experts, parallel_residual or mlm_head'],
      [{ ffn: 'none', parallel_residual: true }, 'ffn none does not fit n_experts, parallel_residual or mlm_head'],
      [
        { ffn: 'none', kind: 'encoder', mlm_head: true },
        'ffn none does not fit n_experts, parallel_residual or mlm_head',
      ],
      [{ norm: 'none', final_norm: true }, 'norm none does not fit final_norm, embed_norm or norm_placement pre'],
      [{ norm: 'none', embed_norm: true }, 'norm none does not fit final_norm, embed_norm or norm_placement pre'],
      [
        { norm: 'none', norm_placement: 'post' },
        'norm none does not fit final_norm, embed_norm or norm_placement post',
      ],
      [{ shared_norm: true }, 'shared_norm needs parallel_residual'],
      [{ rope_local_theta: 2.5e-7 }, 'rope_local_theta 2.5e-7 is below 0.000001'],
      [{ rope_scaling: 'yarn' }, 'rope_scaling yarn needs rope_original_context above 0'],
      [{ ...yarn, rope_theta: 0.5 }, 'rope_scaling yarn needs rope_theta 0.5 above 1'],
      [{ ...yarn, rope_beta_slow: 33 }, 'rope_beta_fast 32 is below rope_beta_slow 33'],
      [{ rope_scaling: 'dynamic' }, 'rope_scaling dynamic needs rope_original_context above 0'],
      [{ ...dynamic, rope_factor: 0.5 }, 'rope_scaling dynamic needs rope_factor 0.5 of 1 or more'],
      [{ ...dynamic, rotary_dim: 2 }, 'rope_scaling dynamic needs more than one pair of components'],
      [{ rope_scaling: 'longrope' }, 'rope_scaling longrope needs rope_original_context above 0'],
      [longrope, 'rope_scaling longrope needs a value of rope_short_factors for each pair of components'],
      [
        { ...longrope, rope_short_factors: [1, 1], rope_long_factors: [1] },
        'rope_scaling longrope needs a value of rope_long_factors for each pair of components',
      ],
      [{ rope_scaling: 'llama3' }, 'rope_scaling llama3 needs rope_original_context above 0'],
      [{ ...llama3, rope_low_freq_factor: 4.1 }, 'rope_high_freq_factor 4 is not above rope_low_freq_factor 4.1'],
    ];
    const unseen = new Set(RULES.map(({ sentence }) => sentence));
    for (const [change, sentence] of cases) {
      assert.equal(both({ ...base, ...change }), sentence);
      const of = RULES.find(({ sentence: rule }) =>
        new RegExp(`^${rule.replace(/\{(\w+)\}/g, '$1 \\S+')}$`).test(sentence),
      );
      unseen.delete(of?.sentence ?? '');
    }
    assert.deepEqual([...unseen], []);
    // at the limits the rules hold
    assert.equal(typeof both({ ...base, n_heads: 4096, d_head: 16 }), 'object');
    assert.equal(typeof both({ ...base, position: 'learned', context_length: 16777216 }), 'object');
    assert.equal(typeof both({ ...base, position: 'none', d_head: 7 }), 'object');
    assert.equal(typeof both({ ...base, n_heads: 5, d_head: 10 }), 'object');
    // floats: these two are one number in the engine
    assert.match(String(both({ ...base, ...llama3, rope_high_freq_factor: 4, rope_low_freq_factor: 4 })), /not above/);
    assert.match(
      inJavaScript({ ...base, ...llama3, rope_high_freq_factor: 4.00000001, rope_low_freq_factor: 4 }),
      /not above/,
    );
  });

  test('random ones, some fields given', () => {
    const seen = { complete: 0, refused: new Set() };
    fc.assert(
      fc.property(anyConfig, (fields) => {
        const found = both(fields);
        if (typeof found === 'string') seen.refused.add(found.replace(/\d[\d.e+-]*/g, '?'));
        else seen.complete++;
      }),
      { numRuns: 3000, seed: 14 },
    );
    assert.ok(seen.complete > 200, `${seen.complete} of 3000 were complete`);
    assert.ok(seen.refused.size > 30, `${seen.refused.size} kinds of refusals`);
  });

  test('every preset', () => {
    for (const name of Object.keys(PRESETS)) assert.equal(typeof both(presetConfig(name)), 'object', name);
  });
});
