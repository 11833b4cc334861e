// lens_weights.js - weights under TransformerLens's names and in its shapes (HookedTransformer, loaded without
// processing: nothing is folded or centred)

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { Config } from '../../engine/config/config.js' */

/** Our names of TransformerLens's weights, without those of the block. @type {Record<string, string>} */
const NAMES = {
  'embed.W_E': 'embed.weight',
  'pos_embed.W_pos': 'position.weight',
  'unembed.W_U': 'head.weight',
  'unembed.b_U': 'head.bias',
  'ln_final.w': 'final_norm.weight',
  'ln_final.b': 'final_norm.bias',
  'ln1.w': 'norm1.weight',
  'ln1.b': 'norm1.bias',
  'ln2.w': 'norm2.weight',
  'ln2.b': 'norm2.bias',
  'mlp.W_in': 'ffn.up.weight',
  'mlp.b_in': 'ffn.up.bias',
  'mlp.W_gate': 'ffn.gate.weight',
  'mlp.W_out': 'ffn.down.weight',
  'mlp.b_out': 'ffn.down.bias',
  ...Object.fromEntries(
    ['Q', 'K', 'V', 'O'].flatMap((part) => [
      [`attn.W_${part}`, `attn.${part.toLowerCase()}.weight`],
      [`attn.b_${part}`, `attn.${part.toLowerCase()}.bias`],
    ]),
  ),
};

/** @param {Tensor} matrix @returns {Tensor} */
function transposed({ data, shape: [rows, cols] }) {
  const out = new Float32Array(data.length);
  for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) out[c * rows + r] = data[r * cols + c];
  return { data: out, shape: [cols, rows] };
}

/**
 * Each head's rows of a matrix [heads x d_head, d_model] as columns, or its part of a bias; heads that share keys and
 * values have equal ones.
 * @param {Tensor} weight
 * @param {Config} config
 * @returns {Tensor} [n_heads, d_model, d_head] or [n_heads, d_head]
 */
function ofHeads({ data, shape: [rows, cols] }, { n_heads: heads, d_head: d }) {
  const n = d * (cols ?? 1);
  const out = new Float32Array(heads * n);
  for (let h = 0; h < heads; h++) {
    const from = Math.floor((h * rows) / (heads * d)) * n;
    const own = { data: data.subarray(from, from + n), shape: [d, cols ?? 1] };
    out.set(transposed(own).data, h * n);
  }
  return { data: out, shape: cols ? [heads, cols, d] : [heads, d] };
}

/**
 * @param {string} name  TransformerLens's, or any other
 * @param {Config} config
 * @returns {{name: string, shaped: (weight: Tensor) => Tensor} | null}  our name, and what makes its shape of ours;
 *   null for other names
 */
export function lensWeight(name, config) {
  const [, block = '', part] = /^(blocks\.\d+\.)?(.*)$/s.exec(name) ?? [];
  if (!Object.hasOwn(NAMES, part)) return null;
  const { n_heads: heads, d_head: d, d_model: width } = config;
  const shaped = (/** @type {Tensor} */ weight) => {
    if (/attn\.[Wb]_[QKV]/.test(part)) return ofHeads(weight, config);
    if (part === 'attn.W_O') return { data: transposed(weight).data, shape: [heads, d, width] };
    return weight.shape.length > 1 && !/W_(E|pos)$/.test(part) ? transposed(weight) : weight;
  };
  return { name: block + NAMES[part], shaped };
}
