// small_runs.js - small training runs: a text, configurations and options, and a run to its end
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { train } from '../../web/lib/api/index.js';
import { gpt2Recipe, refused, top } from './helpers.js';

export const text = readFileSync(join(top, 'tests/golden/text/stories.txt'), 'utf8');

export const tiny = { d_model: 32, n_layers: 2, n_heads: 2, d_ff: 64, context_length: 64, norm_eps: 1e-5 };

export const small = { vocabSize: 300, batchTokens: 256 };

/** The lines of a small recipe of the native trainer. */
export const tinyRecipe = [
  ...['d_model=32', 'n_layers=2', 'n_heads=2', 'n_kv_heads=2', 'd_head=16', 'd_ff=64', 'context_length=64'],
  ...['vocab_size=300', 'batch_tokens=256', 'micro_tokens=128', 'sample_every=0', 'validate_every=0', 'groups='],
];

export const gpt2 = { ...tiny, ...gpt2Recipe };

export const classic = {
  ...tiny,
  norm: 'layernorm',
  norm_placement: 'post',
  ffn: 'relu',
  position: 'sinusoidal',
  tie_word_embeddings: false,
};

/** All steps of a run, or those up to `until`. */
export async function steps(run, until = Infinity) {
  const all = [];
  for await (const step of run) {
    all.push(step);
    if (step.step === until) break;
  }
  return all;
}

/** A run to its end, what `use` makes of it, and no run any more. */
export async function trained(config, data, options, use) {
  const run = train(config, data, options);
  try {
    return await use(run, await steps(run));
  } finally {
    await run.dispose();
  }
}

/** The steps of a run without their speed, then what `use` makes of it. */
export async function ran(config, data, options, use = async () => undefined) {
  const value = async (run, list) => ({
    steps: list.map(({ tokensPerSecond: _, ...step }) => step),
    value: await use(run),
  });
  return trained(config, data, options, value);
}

/** A run is refused before its first step. */
export const refusedRun = (config, data, options, code, words) =>
  refused(train(config, data, options).next(), code, words);
