// call_cases.js - the calls of the table of wrong inputs with valid arguments, some of them replaced by wrong ones, and
// calls that need more than one argument; what they may do
import { CODES, GlassformerError, Tokenizer, load, train } from '../../web/lib/api/index.js';
import { SAMPLER } from '../../web/lib/engine/config/sampler_fields.js';
import { CALLS } from '../node/bad_inputs.js';
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
  { ...small, causal: false },
];

/** A valid value of each option of the table. @param {Random} r @returns {Record<string, any>} */
const valid = (r) => ({
  ...{ capture: ['*'], captureBudget: 1e7, edits: [{ at: '*.hook_mlp_out', scale: 0.5 }], mask: [1] },
  ...Object.fromEntries(SAMPLER.map(({ name, whole }) => [name, whole ? 3 : 0.8])),
  ...{ presencePenalty: 0.5 },
  ...{ frequencyPenalty: -0.2, logitBias: { 1: 2, 3: -Infinity }, maxTokens: 6, minTokens: 2, seed: 7, logprobs: 2 },
  ...{
    stop: r.of(['x', ['x', 'yy']]),
    ignoreEos: true,
    lengthPenalty: 1,
    addSpecialTokens: false,
    beams: r.of([1, 3]),
  },
  ...{
    seen: [1],
    generated: [2, 2],
    top: 3,
    token: 2,
    position: 0,
    index: 1,
    head: 1,
    pooling: 'mean',
    truncate: true,
  },
  ...{ at: r.of(['logits', 'blocks.0.attn.hook_pattern', 'blocks.1.hook_resid_post']), normalize: false },
  ...{ dtype: 'q8_0', contextLength: 8, threads: 1, backend: 'simd', kvDtype: 'f16', worker: false, batch: 2 },
  ...{ switches: { causal: false }, cache: 'none', onProgress: progress(r), tokens: 8, fetch: () => odd(r) },
  ...{ steps: 2, vocabSize: 257, lr: 0.01, muon: false, dropout: 0.1, validation: 0.2, validateEvery: 1 },
});

/**
 * A call of the table, or one of those below.
 * @param {Random} r
 * @param {any} m  the models
 */
export function callOf(r, m) {
  const free = others(r, m);
  if (!r.below(5)) {
    const name = r.of(Object.keys(free).filter((key) => key !== 'train' || !r.below(4)));
    return { name, faults: FAULTS, run: free[/** @type {keyof typeof free} */ (name)] };
  }
  // runs and models of their own take longer
  const name = r.of(Object.keys(CALLS).filter((key) => !CALLS[key].isAlone || !r.below(6)));
  const { call, fine, options = {}, isAlone } = CALLS[name];
  const given = Object.entries(some(r, valid(r))).filter(([key]) => options[key] && !r.below(3));
  const args = spoilt(r, [fine, { ...Object.fromEntries(given), ...(options.signal && stops(r)) }]);
  const run = async () => (await call(m, ...args))?.dispose?.();
  return { name, run, faults: isAlone ? FAULTS : [...FAULTS, 'worker', 'out-of-memory'] };
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
 * Calls with more than an argument and options.
 * @param {Random} r
 * @param {any} m  the models
 */
const others = (r, m) => ({
  left: () => drain(m.plain.generate(...spoilt(r, [[1, 2], { maxTokens: 6 }])), 1 + r.below(3)),
  async told() {
    const { memory, config, parameters, special, backend, warnings, contextLength, chatTemplate } = r.of(
      Object.values(m),
    );
    JSON.stringify([memory, config, parameters.total, special, backend, warnings, contextLength, chatTemplate]);
  },
  async session() {
    const one = r.of([[1, 2, 3], [4], Int32Array.of(1, 2)]),
      see = some(r, { capture: ['*'], captureBudget: 1e7, edits: [{ at: '*.hook_mlp_out', scale: 0.5 }] });
    const session = await m.plain.session(...spoilt(r, [see]));
    try {
      for (let n = 1 + r.below(5); n > 0; n--) {
        await tried(() =>
          r.of([
            () => session.eval(...spoilt(r, [one, stops(r)])),
            () => session.rewind(...spoilt(r, [1])),
            async () => {
              const state = await session.save();
              if (state.length && r.below(2)) state[r.below(state.length)] ^= 1 << r.below(8);
              const other = await m.plain.session(...spoilt(r, [{ ...see, state }]));
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

/** Codes that no argument may bring about. Calls of a model that runs have two more. */
const FAULTS = ['crashed', 'internal'];

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
