// call_cases.js - calls of the package with valid arguments, some of them replaced by wrong ones, and what they may do
import {
  CODES,
  GlassformerError,
  Tokenizer,
  completeConfig,
  countParameters,
  create,
  depth,
  estimate,
  load,
  train,
} from '../../web/lib/api/index.js';
import { SAMPLER } from '../../web/lib/engine/config/sampler_fields.js';
import { mutateBytes } from './mutate.js';
import { ggufBytes, ggufs } from './seeds.js';
import { tokenizers } from './tokenizer_seeds.js';
import { odd, some, spoilt } from './values.js';

/** @typedef {import('./mutate.js').Random} Random */

const small = { vocab_size: 11, d_model: 8, n_layers: 2, n_heads: 2, n_kv_heads: 1, d_ff: 12, context_length: 24 };
export const KINDS = [
  small,
  {
    ...small,
    position: 'learned',
    norm: 'layernorm',
    ffn: 'gelu_tanh',
    bias_qkv: true,
    bias_ffn: true,
    norm_placement: 'post',
  },
  { ...small, sliding_window: 5 },
  { ...small, n_experts: 3, n_experts_used: 2, d_expert: 8, d_shared_expert: 6, expert_layers: [false, true] },
  { ...small, kind: 'encoder', position: 'sinusoidal' },
  { ...small, kind: 'encoder_decoder', n_encoder_layers: 1, n_kv_heads: 2, n_encoder_heads: 4, position: 'sinusoidal' },
  { ...small, causal: false },
];

/**
 * @param {Random} r
 * @param {any} model
 * @param {any} config
 */
export function callsOf(r, model, config) {
  const two =
    config.kind === 'encoder_decoder' ? { source: [1, 2, 3], ...(r.below(3) ? {} : { sourceMask: [1, 1, 0] }) } : {};
  const see = some(r, { capture: ['*'], captureBudget: 1e7, edits: [{ at: '*.hook_mlp_out', scale: 0.5 }] });
  const ids = r.of([[1, 2, 3], [4], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2], Int32Array.of(1, 2), [[1, 2], [3]]]),
    one = Array.isArray(ids[0]) ? [1] : ids;
  const sampling = some(r, Object.fromEntries(SAMPLER.map(({ name, whole }) => [name, whole ? 3 : 0.8])));
  const penalties = some(r, { presencePenalty: 0.5, frequencyPenalty: -0.2, logitBias: { 1: 2, 3: -Infinity } });
  return {
    generate: () =>
      drain(
        model.generate(
          ...spoilt(r, [
            ids,
            {
              maxTokens: 6,
              ...two,
              ...see,
              ...sampling,
              ...penalties,
              ...some(r, { minTokens: 2 }),
              ...stops(r),
              ...some(r, { seed: 7, stop: r.of(['x', ['x', 'yy']]), logprobs: 2, ignoreEos: true }),
            },
          ]),
        ),
        r.below(4),
      ),
    beams: () =>
      drain(
        model.generate(
          ...spoilt(r, [ids, { maxTokens: 4, beams: 3, ...two, ...some(r, { lengthPenalty: 1, stop: ['x'] }) }]),
        ),
      ),
    forward: () =>
      model.forward(
        ...spoilt(r, [ids, { ...two, ...see, ...stops(r), ...some(r, { mask: Array.from(one, () => 1) }) }]),
      ),
    embed: () => model.embed(...spoilt(r, [one, some(r, { mask: Array.from(one, () => 1) })])),
    distribution: () =>
      model.distribution(
        ...spoilt(r, [[1, 2, 3], { ...sampling, ...penalties, ...some(r, { seen: [1], generated: [2, 2] }) }]),
      ),
    logitLens: () => model.logitLens(...spoilt(r, [one, { ...two, top: 3 }])),
    attribution: () => model.attribution(...spoilt(r, [one, { ...two, ...some(r, { token: 2, position: 0 }) }])),
    explain: () =>
      model.explain(
        ...spoilt(r, [
          one,
          {
            ...two,
            at: r.of([
              'logits',
              'blocks.0.attn.hook_pattern',
              'blocks.1.hook_resid_post',
              'decoder.0.cross_attn.hook_z',
            ]),
            index: 1,
            ...some(r, { position: 0, head: 1 }),
          },
        ]),
      ),
    trace: () => model.trace(...spoilt(r, [one, two])),
    weight: () => model.weight(...spoilt(r, ['embed.weight', 2])),
    decode: () => model.decode(...spoilt(r, [[1, 2]])),
    encode: () => model.encode(...spoilt(r, ['text', {}])),
    chat: () => drain(model.chat(...spoilt(r, [[{ role: 'user', content: 'hello' }], { maxTokens: 2 }]))),
    async session() {
      const session = await model.session(...spoilt(r, [{ ...two, ...see }]));
      try {
        for (let n = 1 + r.below(5); n > 0; n--) {
          await tried(() =>
            r.of([
              () => session.eval(...spoilt(r, [one, stops(r)])),
              () => session.rewind(...spoilt(r, [1])),
              async () => {
                const state = await session.save();
                if (state.length && r.below(2)) state[r.below(state.length)] ^= 1 << r.below(8);
                const other = await model.session(...spoilt(r, [{ ...two, ...see, state }]));
                await other.dispose();
              },
              () => drain(session.generate(...spoilt(r, [one, { maxTokens: 2, ...stops(r) }]))),
              async () => {
                const fork = await session.fork();
                try {
                  await fork.eval(...spoilt(r, [one]));
                } finally {
                  await fork.dispose();
                }
              },
            ])(),
          );
        }
      } finally {
        await session.close();
      }
    },
    async points() {
      await model.points();
    },
    async told() {
      JSON.stringify([
        model.memory,
        model.config,
        model.parameters.total,
        model.special,
        model.backend,
        model.warnings,
        model.contextLength,
        model.chatTemplate,
        await model.tokenizer,
      ]);
    },
  };
}

/**
 * A signal that is aborted at once, soon, or never.
 * @param {Random} r
 */
function stops(r) {
  if (r.below(4)) return {};
  const controller = new AbortController(),
    ms = r.of([0, 0, 1, 3, 1000]);
  if (!ms) controller.abort(ABORTED);
  else if (ms < 1000) setTimeout(() => controller.abort(ABORTED), ms);
  return { signal: controller.signal };
}
export const ABORTED = new Error('aborted by the test');

const TRAINED = { d_model: 8, n_layers: 1, n_heads: 2, context_length: 16 },
  TEXT = 'the cat sat on the mat. the dog sat on the log. ';
/** A checkpoint of a run, made once. @type {Promise<Uint8Array> | null} */
let checkpoint = null;
async function madeCheckpoint() {
  const run = train(TRAINED, TEXT, { steps: 3, vocabSize: 257, batchTokens: 32 });
  try {
    await run.next();
    return await run.checkpoint();
  } finally {
    await run.dispose();
  }
}

/**
 * Calls without a model.
 * @param {Random} r
 */
export const others = (r) => ({
  count: async () =>
    countParameters(
      ...spoilt(r, [
        r.of([
          ...KINDS,
          'gpt2',
          {
            model_type: 'llama',
            hidden_size: 8,
            num_hidden_layers: 1,
            num_attention_heads: 2,
            vocab_size: 9,
            intermediate_size: 8,
          },
        ]),
      ]),
    ),
  complete: async () => completeConfig(...spoilt(r, [r.of(KINDS)])),
  estimate: async () =>
    estimate(...spoilt(r, ['gpt2', { contextLength: 8, batch: 2, dtype: 'q8_0', kvDtype: r.of(['f16', 'q8_0']) }])),
  create: async () =>
    (
      await create(
        ...spoilt(r, [
          { ...r.of(KINDS) },
          some(r, {
            seed: 1,
            dtype: 'q8_0',
            contextLength: 8,
            threads: 1,
            backend: 'simd',
            kvDtype: 'f16',
            worker: false,
            onProgress: progress(r),
          }),
        ]),
      )
    ).dispose(),
  async load() {
    const bytes = r.below(2) ? mutateBytes(r, ggufBytes(r.of(ggufs)), new Uint8Array(8)) : ggufBytes(r.of(ggufs));
    const source = r.of([
      bytes,
      new Blob([bytes]),
      new Response(bytes),
      new Response(bytes).body,
      [new File([bytes], 'model.gguf')],
      'https://files.test/model.gguf',
      { weights: bytes },
      { weights: new Uint8Array(40), config: {}, tokenizer: {} },
    ]);
    const answer = () =>
      r.of([
        () => new Response(bytes),
        () => new Response('no', { status: 404 }),
        () => {
          throw new Error('odd');
        },
        () => odd(r),
      ])();
    (
      await load(
        ...spoilt(r, [
          source,
          {
            fetch: async () => answer(),
            ...stops(r),
            ...some(r, {
              dtype: 'f32',
              contextLength: 8,
              sha256: 'a'.repeat(64),
              switches: { causal: false },
              cache: 'none',
              worker: !r.below(8),
              onProgress: progress(r),
            }),
          },
        ]),
      )
    ).dispose();
  },
  async tokenizer() {
    const t = await Tokenizer.load(...spoilt(r, [r.of(tokenizers)]));
    await tried(async () => t.encode(...spoilt(r, ['the abc', { addSpecialTokens: false }])));
    await tried(async () => t.decode(...spoilt(r, [[1, 2, 3], { skipSpecialTokens: true }])));
    await tried(async () => {
      const stream = t.stream(...spoilt(r, [[1, 2], { skipSpecialTokens: true }]));
      for (const id of [1, odd(r), 2]) stream.push(id);
      stream.end();
    });
    t.idToText(odd(r));
    t.dispose();
  },
  async train() {
    checkpoint ??= madeCheckpoint();
    const saved = r.below(3)
      ? null
      : r.below(3)
        ? mutateBytes(r, await checkpoint, new Uint8Array(8))
        : await checkpoint;
    const run = train(
      ...spoilt(r, [
        TRAINED,
        TEXT,
        {
          ...stops(r),
          steps: 2,
          batchTokens: 32,
          vocabSize: 257,
          checkpoint: saved,
          ...some(r, {
            seed: 3,
            lr: 0.01,
            muon: false,
            muonLr: 0.1,
            dropout: 0.1,
            warmup: 0.1,
            finalRate: 0.1,
            weightDecay: 0.1,
            clip: 1,
            validation: 0.2,
            validateEvery: 1,
            tokenizer: null,
          }),
        },
      ]),
    );
    try {
      for (let n = 0; n < 3 && !(await run.next()).done; n++) {
        /* only to see it run */
      }
      await tried(() => run.files(...spoilt(r, [{ dtype: 'f16' }])));
      if (!r.below(3)) await tried(async () => (await run.model(...spoilt(r, [{ dtype: 'q8_0' }]))).dispose());
      if (!r.below(3)) await tried(() => run.checkpoint());
    } finally {
      await run.dispose();
    }
  },
  depth: () =>
    depth(
      ...spoilt(r, [
        { d_model: 8, n_layers: 2, n_heads: 2, context_length: 16 },
        { seed: 1, tokens: 16, ...stops(r) },
      ]),
    ),
});

/** @param {Random} r */
const progress = (r) => () => {
  if (!r.below(3)) throw new Error('odd');
};

// ---- what a call may do

/** A path is named in full, however long. */
const LONG = 'x'.repeat(1000);

/**
 * @param {AsyncGenerator<any, any, void>} steps
 * @param {number} [most] steps to read; 0: all
 */
export async function drain(steps, most = 0) {
  let n = 0;
  for await (const step of steps) if (!step || ++n === most) break;
}

/** Codes that no argument may bring about; 'worker' neither, unless a worker is among them. */
export const FAULTS = ['crashed', 'internal'];

/**
 * Throw any error that is not a proper refusal.
 * @param {() => Promise<any>} call
 * @param {string[]} [faults]
 */
export async function tried(call, faults = FAULTS) {
  try {
    await call();
  } catch (/** @type {any} */ e) {
    if (e === ABORTED || e?.name === 'AbortError' || e?.name === 'TimeoutError') return;
    if (!(e instanceof GlassformerError) || !Object.hasOwn(CODES, e.code)) throw e;
    if (!e.message || (e.message.length > 2000 && !e.message.includes(LONG)))
      throw new Error(`a refusal of ${e.message.length} characters: ${e.message.slice(0, 200)}`);
    if (faults.includes(e.code))
      throw e.cause instanceof Error ? new Error(`${e.code}: ${e.message}\n${e.cause.stack}`) : e;
  }
}
