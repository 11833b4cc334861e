// lora.js - LoRA adapters with pseudo-random values, as PEFT and as llama.cpp write them
import { randomTensor } from './random_values.js';
import { safetensors } from './checkpoint_files.js';

/** A matrix of pseudo-random values below 1/4. */
export const matrix = (rows, cols, seed) => ({
  shape: [rows, cols],
  data: randomTensor([rows, cols], seed, 1 / 4),
});

/**
 * An adapter of some modules. `modules`: [in, out] by name.
 * @returns {{weights: Buffer, config: any, pairs: Record<string, {a: any, b: any}>}}
 */
export function adapter(modules, { r = 4, alpha = 6, seed = 1, extra = {} } = {}) {
  const pairs = Object.fromEntries(
    Object.entries(modules).map(([name, [cols, rows]], i) => [
      name,
      { a: matrix(r, cols, seed + 2 * i), b: matrix(rows, r, seed + 2 * i + 1) },
    ]),
  );
  const tensors = Object.fromEntries(
    Object.entries(pairs).flatMap(([name, { a, b }]) => [
      [`base_model.model.${name}.lora_A.weight`, a],
      [`base_model.model.${name}.lora_B.weight`, b],
    ]),
  );
  const config = {
    peft_type: 'LORA',
    r,
    lora_alpha: alpha,
    bias: 'none',
    target_modules: ['x'],
    rank_pattern: {},
    ...extra,
  };
  return { weights: safetensors(tensors), config, pairs };
}
