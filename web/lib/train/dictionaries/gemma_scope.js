// gemma_scope.js - Gemma Scope 2's dictionaries as those of SAELens
import { fail, show } from '../../base/errors.js';
import { transposed } from './write_dictionary.js';

/** @import { Tensors } from './read_dictionary.js' */

/** The point that is a module's input or output: [pattern of hf_hook_point, point]. */
const POINTS = /** @type {[RegExp, string][]} */ ([
  [/^model\.layers\.(\d+)\.output$/, 'hook_resid_post'],
  [/^model\.layers\.(\d+)\.self_attn\.o_proj\.input$/, 'attn.hook_z'],
  [/^model\.layers\.(\d+)\.post_feedforward_layernorm\.output$/, 'hook_mlp_out'],
  [/^model\.layers\.(\d+)\.pre_feedforward_layernorm\.output$/, 'mlp.hook_in'],
]);

/** Folders of a repository without config.json, by which SAELens finds the point too: [part of the folder, point]. */
const FOLDERS = /** @type {[RegExp, string, string?][]} */ ([
  [/transcoder|clt/, 'mlp.hook_in', 'hook_mlp_out'],
  [/resid_post/, 'hook_resid_post'],
  [/attn_out/, 'attn.hook_z'],
  [/mlp_out/, 'hook_mlp_out'],
]);

/**
 * The point of SAELens that a module of Hugging Face's class means.
 * @param {string} where
 * @param {any} name
 */
function pointOf(where, name) {
  for (const [pattern, point] of POINTS) {
    const found = pattern.exec(String(name));
    if (found) return `blocks.${found[1]}.${point}`;
  }
  return fail('unsupported', `${where}: the hook point ${show(name)} is not known`);
}

/**
 * @param {string} where  folder
 * @param {any} config    its config.json; null: there is none
 * @param {Tensors} tensors
 * @returns {{cfg: any, tensors: Tensors}} in SAELens's form
 */
export function gemmaScopeConfig(where, config, tensors) {
  const { w_enc: enc, w_dec: dec, affine_skip_connection: skip, ...rest } = tensors;
  if (!enc || !dec) return fail('missing-tensor', `${where}params.safetensors: w_enc or w_dec is missing`);
  if (config && config.architecture !== 'jump_relu')
    fail('unsupported', `${where}: the architecture is ${show(config.architecture)}, expected "jump_relu"`);
  const folder = FOLDERS.find(([pattern]) => pattern.test(where));
  const layer = /layer_(\d+)/.exec(where)?.[1];
  const named = (/** @type {any} */ name, /** @type {string | undefined} */ point) =>
    name !== undefined && name !== null
      ? pointOf(where, name)
      : config || !point || layer === undefined
        ? undefined
        : `blocks.${layer}.${point}`;
  const out = named(config?.hf_hook_point_out, folder?.[2]);
  const at = named(config?.hf_hook_point_in, folder?.[1]);
  const isOther = out !== undefined && out !== at;
  const cfg = {
    architecture: isOther ? (skip ? 'jumprelu_skip_transcoder' : 'jumprelu_transcoder') : 'jumprelu',
    d_in: enc.shape[0],
    d_sae: enc.shape[1],
    d_out: dec.shape[1],
    apply_b_dec_to_input: false,
    normalize_activations: 'none',
    metadata: {
      sae_lens_version: '6.0.0',
      model_name: config?.model_name ?? null,
      hook_name: at,
      ...(isOther && { hook_name_out: out }),
    },
  };
  const [rows, cols] = skip?.shape ?? [];
  return {
    cfg,
    tensors: {
      W_enc: enc,
      W_dec: dec,
      ...rest,
      ...(skip && { W_skip: { data: transposed(skip.data, rows, cols), shape: [cols, rows] } }),
    },
  };
}
