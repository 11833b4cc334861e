// simd_builds.js - the speed of the page's model in builds of the engine: without vector instructions, with SIMD128, with
// relaxed SIMD, and with threads
import { load } from 'glassformer';
import scalar from '../../../../build/scalar/glassformer-scalar.wasm?url';
import loops from '../../../../src/kernels/int8_by_1.h?raw';
import operations from '../../../../src/kernels/simd.h?raw';

const PROMPT = 'Once upon a time';
const TOKENS = 64;
/** Texts of a build: browsers compile a second time what has run often. */
const TEXTS = 7;

/**
 * A build that was measured.
 * @typedef {{ key: 'scalar' | 'simd' | 'relaxed' | 'threads', threads: number, backend: string, tokensPerSecond: number,
 *   text: string, tokens: number }} Speed
 */

/** @returns {{ key: Speed['key'], options: import('glassformer').LoadOptions }[]} */
function builds() {
  const threads = Math.min(4, navigator.hardwareConcurrency);
  return [
    { key: 'scalar', options: { wasm: scalar, threads: 1 } },
    { key: 'simd', options: { backend: 'simd', threads: 1 } },
    { key: 'relaxed', options: { backend: 'relaxed', threads: 1 } },
    ...(crossOriginIsolated && threads > 1 ? [{ key: /** @type {const} */ ('threads'), options: { threads } }] : []),
  ];
}

/**
 * Measure one build after the other, each with a copy of the model of its own. What this browser lacks is left out.
 * @param {import('../../state/store/state.js').LoadedModel} model
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Speed, void>}
 */
export async function* measureBuilds({ source, options: own }, signal) {
  for (const { key, options } of builds()) {
    const model = await load(source, { ...own, ...options, signal }).catch((error) => {
      if (error.code !== 'unsupported') throw error;
    });
    if (!model) continue;
    try {
      yield { key, threads: options.threads ?? 1, backend: model.backend, ...(await speedOf(model, signal)) };
    } finally {
      model.dispose();
    }
  }
}

/** @param {import('glassformer').Model} model @param {AbortSignal} signal */
async function speedOf(model, signal) {
  const speeds = [];
  let [text, tokens] = ['', 0];
  while (speeds.length < TEXTS) {
    let began = 0;
    [text, tokens] = ['', 0];
    for await (const step of model.generate(PROMPT, { maxTokens: TOKENS + 1, seed: 1, ignoreEos: true, signal })) {
      began ||= performance.now(); // after the prompt and the first token
      text += step.text;
      tokens++; // fewer than asked for where the context ends
    }
    speeds.push(((tokens - 1) * 1000) / (performance.now() - began));
  }
  return { tokensPerSecond: Math.max(...speeds), text, tokens }; // other programs can only make it slower
}

/** The loops of bytes_by_1, without the compiler's hints, in their order: GF_DOT_I16, GF_DOT_ABS, other kinds. */
const LOOPS = [...loops.replace(/^ *GF_\w+\n/gm, '').matchAll(/^ {8}for \(const char \*end[^]*?^ {8}}/gm)].map(
  ([loop]) => loop.replace(/^ {8}/gm, ''),
);
/** The function of simd.h that has an instruction. @param {string} instruction */
const using = (instruction) => operations.split('\n').find((line) => line.includes(`return ${instruction}(`)) ?? '';

/** The inner loop of a build with 8-bit weights, and the products in it. @param {Speed} speed */
export function codeOf({ key, backend }) {
  if (key === 'scalar') return `${LOOPS[0]}\n${/^GF_INLINE v128 i32x4_dot.*{\n[^]*?^}/m.exec(operations)?.[0]}`;
  if (!backend.startsWith('relaxed')) return `${LOOPS[0]}\n${using('wasm_i32x4_dot_i16x8')}`;
  return backend.includes('16-bit')
    ? `${LOOPS[1]}\n${using('wasm_i16x8_relaxed_dot_i8x16_i7x16')}`
    : `${LOOPS[2]}\n${using('wasm_i32x4_relaxed_dot_i8x16_i7x16_add')}`;
}
