// sae_formats.js - the architectures of SAELens in the one form of DictionaryWeights: biases of the input, lengths of
// decoder rows and finetuning factors are folded in
import { fail, show } from '../../base/errors.js';
import { thresholdVectors } from './sparse_dictionary.js';
import { transposed } from './write_dictionary.js';

/** @import { Tensors } from './read_dictionary.js' */
/** @import { DictionaryWeights } from './sparse_dictionary.js' */

/**
 * What an architecture has: skip: a matrix beside the features; out: it reconstructs another point.
 * @type {Record<string, {kind: 'relu' | 'jumprelu' | 'gated' | 'topk', out?: boolean, skip?: boolean}>}
 */
const ARCHITECTURES = {
  standard: { kind: 'relu' },
  gated: { kind: 'gated' },
  jumprelu: { kind: 'jumprelu' },
  topk: { kind: 'topk' },
  topk_transcoder: { kind: 'topk', out: true },
  transcoder: { kind: 'relu', out: true },
  skip_transcoder: { kind: 'relu', out: true, skip: true },
  jumprelu_transcoder: { kind: 'jumprelu', out: true },
  jumprelu_skip_transcoder: { kind: 'jumprelu', out: true, skip: true },
};

/** Normalisations that are computed at run time; the others are folded into the weights, or there are none. */
const NORMS = /** @type {Record<string, 0 | 1 | 2>} */ ({ constant_norm_rescale: 1, layer_norm: 2 });
const NO_NORM = ['none', 'expected_average_only_in', 'covariance_whitening'];

/** Names of keys before SAELens 6, by those of today. */
const OLD = { hook_point: 'hook_name', hook_point_head_index: 'hook_head_index', activation_fn_str: 'activation_fn' };

/**
 * A configuration as SAELens 6 writes it: as its handle_pre_6_0_config does.
 * @param {any} cfg
 */
function newest(cfg) {
  const version = cfg.sae_lens_version ?? cfg.metadata?.sae_lens_version;
  if (version && Number.parseInt(version) >= 6) return cfg;
  const renamed = Object.fromEntries(
    Object.entries(cfg).map(([key, value]) => [/** @type {any} */ (OLD)[key] ?? key, value]),
  );
  const k = renamed.activation_fn === 'topk' ? renamed.activation_fn_kwargs?.k : undefined;
  const norm = renamed.normalize_activations;
  return {
    apply_b_dec_to_input: true,
    architecture: 'standard',
    ...renamed,
    normalize_activations: typeof norm === 'boolean' || !norm ? (norm ? 'expected_average_only_in' : 'none') : norm,
    ...(k !== undefined && { architecture: 'topk', k }),
    metadata: renamed,
  };
}

/** The input of the MLP, in the form of TransformerLens 3. Ours is before the gain, which is folded in later. */
const MLP_INPUT = /^(blocks\.\d+\.)mlp\.hook_in$/;

/**
 * Our name of a hook. TransformerLens 2 calls the stream before the MLP's norm hook_mlp_in.
 * @param {string} where
 * @param {any} name
 */
function pointOf(where, name) {
  if (typeof name !== 'string') return fail('bad-config', `${where}: hook_name is ${show(name)}`);
  return name.replace(MLP_INPUT, '$1ln2.hook_normalized').replace(/hook_mlp_in$/, 'hook_resid_mid');
}

/**
 * A tensor of this shape.
 * @param {string} where
 * @param {Tensors} tensors
 * @param {string} name
 * @param {number[]} shape
 */
function need(where, tensors, name, shape) {
  const found = tensors[name] ?? fail('missing-tensor', `${where}: ${name} is missing`);
  if (String(found.shape) !== String(shape))
    fail('bad-shape', `${where}: ${name} has the shape [${found.shape}], expected [${shape}]`);
  return found.data;
}

/**
 * Divide decoder rows by their lengths, and multiply what comes before by them: a TopK that rescales chooses by the
 * product, and then computes with the same function.
 * @param {number} size
 * @param {Float32Array} wEnc
 * @param {Float32Array} wDec
 * @param {Float32Array} bias
 */
function foldLengths(size, wEnc, wDec, bias) {
  const [d, out] = [wEnc.length / size, wDec.length / size];
  for (let i = 0; i < size; i++) {
    const row = wDec.subarray(i * out, (i + 1) * out);
    const length = Math.sqrt(row.reduce((sum, x) => sum + x * x, 0));
    for (let c = 0; c < out; c++) row[c] /= length;
    for (let c = 0; c < d; c++) wEnc[i * d + c] *= length;
    bias[i] *= length;
  }
}

/**
 * Bias, threshold, gain and magnitude of each feature.
 * @param {string} where
 * @param {Tensors} tensors
 * @param {string} kind
 * @param {number} size
 */
function vectorsOf(where, tensors, kind, size) {
  const vector = (/** @type {string} */ name) => need(where, tensors, name, [size]);
  if (kind !== 'gated')
    return thresholdVectors(
      vector('b_enc').slice(),
      kind === 'jumprelu' ? vector('threshold') : new Float32Array(size),
    );
  const vectors = new Float32Array(4 * size);
  vectors.set(vector('b_gate'));
  vectors.set(vector('r_mag').map(Math.exp), 2 * size);
  vectors.set(vector('b_mag'), 3 * size);
  return vectors;
}

/**
 * Subtract from all biases what the decoder's bias adds to the products: x - b_dec is encoded.
 * @param {DictionaryWeights & {wEnc: Float32Array}} w
 */
function foldInputBias({ size, dIn, wEnc, vectors, bDec }) {
  for (let i = 0; i < size; i++) {
    let sum = 0;
    for (let c = 0; c < dIn; c++) sum += wEnc[i * dIn + c] * bDec[c];
    vectors[i] -= sum;
    vectors[3 * size + i] -= sum * vectors[2 * size + i];
  }
}

/**
 * @param {string} where  folder, for messages
 * @param {any} given     cfg.json
 * @param {Tensors} tensors
 * @param {Tensors | null} tables
 * @returns {DictionaryWeights}
 */
export function weightsOf(where, given, tensors, tables) {
  const cfg = newest(given);
  const { architecture, d_in: dIn, d_sae: size, normalize_activations: norm = 'none' } = cfg;
  const meta = cfg.metadata ?? {};
  const made = Object.hasOwn(ARCHITECTURES, architecture)
    ? ARCHITECTURES[architecture === 'topk' && meta.hook_name_out ? 'topk_transcoder' : architecture]
    : fail(
        'unsupported',
        `${where}: the architecture is ${show(architecture)}, expected ${Object.keys(ARCHITECTURES).join(', ')}`,
      );
  const dOut = made.out ? cfg.d_out : dIn;
  for (const [key, value] of Object.entries({ d_in: dIn, d_sae: size, d_out: dOut }))
    if (!Number.isInteger(value) || value < 1) fail('bad-config', `${where}: ${key} is ${show(value)}`);
  if (!(norm in NORMS) && !NO_NORM.includes(norm))
    fail('unsupported', `${where}: normalize_activations is ${show(norm)}`);
  if (made.kind === 'topk' && !(Number.isInteger(cfg.k) && cfg.k >= 1 && cfg.k <= size))
    fail('bad-config', `${where}: k is ${show(cfg.k)}`);
  const wEnc = tensors.W_enc?.scaled // integers are stored by feature
    ? need(where, tensors, 'W_enc', [size, dIn])
    : transposed(need(where, tensors, 'W_enc', [dIn, size]), dIn, size);
  const wDec = need(where, tensors, 'W_dec', [size, dOut]);
  const vectors = vectorsOf(where, tensors, made.kind, size);
  if (cfg.rescale_acts_by_decoder_norm) {
    foldLengths(size, wEnc, wDec, vectors.subarray(0, size));
    vectors.copyWithin(3 * size, 0, size);
  }
  const factors = cfg.finetuning_scaling_factor ? tensors.finetuning_scaling_factor : undefined;
  if (factors) for (let i = 0; i < wDec.length; i++) wDec[i] *= factors.data[Math.floor(i / dOut)];
  const table = (/** @type {string} */ name, /** @type {number} */ d) => {
    const found = tables?.[name];
    if (found && found.shape[1] !== d) fail('bad-shape', `${where}: ${name} has the shape [${found.shape}]`);
    return found?.data ?? null;
  };
  /** @type {DictionaryWeights & {wEnc: Float32Array}} */
  const w = {
    at: pointOf(where, meta.hook_name),
    out: made.out ? pointOf(where, meta.hook_name_out) : null,
    architecture:
      made.kind === 'topk' ? 'topk' : made.out ? architecture : made.kind === 'relu' ? 'standard' : made.kind,
    dIn,
    dOut,
    size,
    k: made.kind === 'topk' ? cfg.k : 0,
    from: meta.glassformer?.from ?? 0,
    norm: NORMS[norm] ?? 0,
    afterGain: MLP_INPUT.test(meta.hook_name),
    dtype: 'f32',
    wEnc,
    vectors,
    wDec,
    bDec: need(where, tensors, 'b_dec', [dOut]),
    tableIn: table('table', dIn),
    tableOut: table('table_out', dOut),
    skip: made.skip ? need(where, tensors, 'W_skip', [dOut, dIn]) : null,
    provenance: { ...meta.glassformer, model_name: meta.model_name ?? null },
  };
  if (cfg.apply_b_dec_to_input && !made.out) foldInputBias(w);
  return w;
}
