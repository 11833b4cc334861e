// lora_files.js - an adapter as the files that PEFT writes: adapter_config.json and adapter_model.safetensors
//
// Names and fields as in peft/tuners/lora (config.py, layer.py) and peft/utils/save_and_load.py.
import { fail } from '../base/errors.js';
import { toSafetensors } from '../files/bytes/tensor_files.js';

/** @import { Module } from '../files/adapters/model_modules.js' */

const utf8 = new TextEncoder();

/**
 * adapter_config.json.
 * @param {Module[]} modules
 * @param {{rank: number, alpha: number}} lora
 * @param {string} base  name of the model; '' where it has none
 */
function configOf(modules, { rank, alpha }, base) {
  const last = (/** @type {string} */ name) => name.slice(name.lastIndexOf('.') + 1);
  return {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: base || null,
    r: rank,
    lora_alpha: alpha,
    lora_dropout: 0,
    bias: 'none',
    fan_in_fan_out: modules.some(({ transposed }) => transposed),
    target_modules: [...new Set(modules.map(({ name }) => last(name)))],
    use_rslora: false,
    use_dora: false,
    modules_to_save: null,
    inference_mode: true,
  };
}

/**
 * The files of a model with its adapter: those of the run, whose context may be shorter, and which has no tokens before
 * and after a text.
 * @param {{name: string, bytes: Uint8Array<ArrayBuffer>}[]} files  config.json, weights, tokenizer.json
 * @param {import('../api/model.js').Model} model
 */
export function wholeFiles([{ name, bytes }, weights, tokenizer], { config, special: { bos, eos } }) {
  const [json, vocabulary] = [bytes, tokenizer.bytes].map((text) => JSON.parse(new TextDecoder().decode(text)));
  if (vocabulary.model.type === 'SentencePieces')
    fail('unsupported', 'the vocabulary of this GGUF has no tokenizer.json: load the model with the option adapters');
  const own = { ...json, context_length: config.contextLength, bos_token_id: bos, eos_token_id: eos };
  return [{ name, bytes: utf8.encode(JSON.stringify(own, null, 2)) }, weights, tokenizer];
}

/**
 * The files of an adapter.
 * @param {Module[]} modules
 * @param {{rank: number, alpha: number}} lora
 * @param {{a: Float32Array<ArrayBuffer>, b: Float32Array}[]} factors  A [rank, in] and B [out, rank]
 *   of each, B in the model's order
 * @param {import('./run_provenance.js').TrainingProvenance} provenance
 * @returns {{name: string, bytes: Uint8Array<ArrayBuffer>}[]}
 */
export function adapterFiles(modules, lora, factors, provenance) {
  const { rank } = lora;
  const config = configOf(modules, lora, provenance.base?.name ?? '');
  const metadata = { format: 'pt', provenance: JSON.stringify(provenance) };
  /** @type {Record<string, import('../engine/engine.js').Tensor>} */
  const tensors = {};
  for (const [i, { name, shape, rows }] of modules.entries()) {
    const { a, b } = factors[i];
    const ordered = new Float32Array(b.length);
    rows.forEach((to, from) => ordered.set(b.subarray(from * rank, (from + 1) * rank), to * rank));
    const key = `base_model.model.${name}`;
    tensors[`${key}.lora_A.weight`] = { shape: [rank, shape[1]], data: a };
    tensors[`${key}.lora_B.weight`] = { shape: [shape[0], rank], data: ordered };
  }
  return [
    { name: 'adapter_config.json', bytes: utf8.encode(JSON.stringify(config, null, 2)) },
    { name: 'adapter_model.safetensors', bytes: toSafetensors(tensors, metadata) },
  ];
}
