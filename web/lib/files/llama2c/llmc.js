// llmc.js - the GPT-2 of llm.c: the .bin that its train_gpt2.py and its training write
//
//   256 x i32: 20240326, version (3: f32, 5: bf16), positions, tokens, layers, heads, width, tokens padded | weights
//
// Tensors have no names; each follows for all layers. Matrices are [out, in], the head is tied, and the rows of padding
// of the embedding are dropped.
import { completeConfig } from '../../engine/config/config.js';
import { fail } from '../../base/errors.js';
import { planTensors } from '../../engine/config/tensor_plan.js';

/** @import { ByteReader } from '../bytes/chunks.js' */
/** @import { Config } from '../../engine/config/config.js' */
/** @import { Entry, Place, TensorSource } from '../../engine/config/tensor_plan.js' */

const HEADER_BYTES = 1024;
/** Type of the weights and bytes of one, by version. */
const TYPES = /** @type {Record<number, [dtype: string, bytes: number]>} */ ({ 3: ['f32', 4], 5: ['bf16', 2] });
/** GPT-2's vocabulary, whose last token ends a text. */
const GPT2_TOKENS = 50257;

/** The tensors of a block: our names and the shape, of a width. @param {number} d */
const inBlock = (d) =>
  /** @type {[string, string[], number[]][]} */ ([
    ['norm1.weight', ['norm1.weight'], [d]],
    ['norm1.bias', ['norm1.bias'], [d]],
    ['attn.qkv.weight', ['attn.q.weight', 'attn.k.weight', 'attn.v.weight'], [3 * d, d]],
    ['attn.qkv.bias', ['attn.q.bias', 'attn.k.bias', 'attn.v.bias'], [3 * d]],
    ['attn.o.weight', ['attn.o.weight'], [d, d]],
    ['attn.o.bias', ['attn.o.bias'], [d]],
    ['norm2.weight', ['norm2.weight'], [d]],
    ['norm2.bias', ['norm2.bias'], [d]],
    ['ffn.up.weight', ['ffn.up.weight'], [4 * d, d]],
    ['ffn.up.bias', ['ffn.up.bias'], [4 * d]],
    ['ffn.down.weight', ['ffn.down.weight'], [d, 4 * d]],
    ['ffn.down.bias', ['ffn.down.bias'], [d]],
  ]);

/**
 * The tensors from front to back.
 * @param {Config} config
 * @param {number} padding  rows of the embedding that are no tokens
 * @returns {[name: string, covers: string[], shape: number[]][]} covers []: dropped
 */
function storedOrder({ d_model: d, n_layers: layers, vocab_size: tokens, context_length: positions }, padding) {
  const blocks = inBlock(d).flatMap(([name, covers, shape]) =>
    Array.from({ length: layers }, (_, l) => {
      const at = `blocks.${l}.`;
      const own = covers.map((cover) => at + cover);
      return /** @type {[string, string[], number[]]} */ ([at + name, own, shape]);
    }),
  );
  return [
    ['embed.weight', ['embed.weight'], [tokens, d]],
    ['rows of padding', [], [padding, d]],
    ['position.weight', ['position.weight'], [positions, d]],
    ...blocks,
    ['final_norm.weight', ['final_norm.weight'], [d]],
    ['final_norm.bias', ['final_norm.bias'], [d]],
  ];
}

/**
 * Reads the header.
 * @param {ByteReader} r  at the start of the file; afterwards at the start of the weights
 * @param {string[]} warnings  appended to
 * @returns {Promise<{config: Config, tensors: TensorSource[], eos: number[]}>}
 */
export async function readLlmc(r, warnings) {
  const h = await r.view(HEADER_BYTES, 'the header');
  const [version, positions, tokens, layers, heads, d, padded] = Array.from({ length: 7 }, (_, i) =>
    h.getInt32(4 * (i + 1), true),
  );
  if (!Object.hasOwn(TYPES, version))
    fail(
      'unsupported',
      `${r.name}: version ${version} of llm.c's GPT-2 is not supported, only 3 (f32) and 5 (bf16) are`,
    );
  const [dtype, size] = TYPES[version];
  const config = completeConfig(
    {
      ...{ vocab_size: tokens, d_model: d, n_layers: layers, n_heads: heads, d_ff: 4 * d, context_length: positions },
      ...{ norm: 'layernorm', norm_eps: 1e-5, norm_placement: 'pre', final_norm: true, ffn: 'gelu_tanh' },
      ...{ position: 'learned', bias_qkv: true, bias_attn_out: true, bias_ffn: true, tie_word_embeddings: true },
    },
    r.name,
  );
  if (padded < tokens)
    fail('bad-header', `${r.name}: ${padded} rows of the embedding, fewer than its ${tokens} tokens`);
  /** @type {Entry[]} */
  const entries = [];
  /** @type {Map<string, Place>} */
  const places = new Map();
  let offset = r.pos;
  for (const [name, covers, shape] of storedOrder(config, padded - tokens)) {
    const bytes = size * shape.reduce((a, b) => a * b, 1);
    entries.push({ name, dtype, shape, file: 0, offset, bytes });
    if (covers.length) places.set(name, { covers });
    offset += bytes;
  }
  r.checkSize(offset);
  const kept = entries.filter(({ shape }) => !shape.includes(0));
  const tensors = planTensors(config, kept, places, () => true, [r.name], warnings);
  return { config, tensors, eos: tokens === GPT2_TOKENS ? [GPT2_TOKENS - 1] : [] };
}
