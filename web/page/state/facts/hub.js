// hub.js - models on the Hugging Face hub, and what a pasted address means

/** @typedef {typeof HUB[number]} HubModel */

/** dtype of the weights in the safetensors file; buffers: bytes in that file that are not parameters. */
export const HUB = /** @type {const} */ ([
  {
    name: 'SmolLM2 135M Instruct',
    source: 'hf:HuggingFaceTB/SmolLM2-135M-Instruct',
    parameters: 134_515_008,
    dtype: 'bf16',
    buffers: 0,
  },
  {
    name: 'GPT-2',
    source: 'hf:openai-community/gpt2',
    parameters: 124_439_808,
    dtype: 'f32',
    buffers: 12 * 1024 * 1024 * 4, // the causal mask of each layer
  },
  {
    name: 'Qwen2.5 0.5B Instruct',
    source: 'hf:Qwen/Qwen2.5-0.5B-Instruct',
    parameters: 494_032_768,
    dtype: 'bf16',
    buffers: 0,
  },
]);

/** Bytes of a weight in memory: the engine keeps a float scale for each 32 quantised weights, files a half. */
const BYTES = { f32: 4, bf16: 2, q8_0: (32 + 4) / 32, q4_0: (16 + 4) / 32 };

/**
 * Bytes to download: the weights and buffers of the file, without its header of some 30 KB.
 * @param {HubModel} model
 */
export const downloadOf = ({ parameters, dtype, buffers }) => parameters * BYTES[dtype] + buffers;

/**
 * Bytes of the weights in memory, as if all were in matrices: vectors, one weight in a thousand, stay f32.
 * @param {HubModel} model
 * @param {'keep' | 'q8_0' | 'q4_0'} dtype
 */
export const memoryOf = (model, dtype) => Math.round(model.parameters * BYTES[dtype === 'keep' ? model.dtype : dtype]);

const REPOSITORY = /^[\w.-]+\/[\w.-]+$/;

/**
 * The library's source for what somebody pasted: an address, a page of the hub, hf:owner/name or owner/name.
 * @param {string} text
 * @returns {string | null} null: it is none of these
 */
export function sourceOf(text) {
  const asked = text.trim();
  if (/^hf:[\w.-]+\/[\w.-]+/.test(asked)) return asked;
  if (REPOSITORY.test(asked)) return `hf:${asked}`;
  if (!URL.canParse(asked) || !/^https?:$/.test(new URL(asked).protocol)) return null;
  const { hostname, pathname } = new URL(asked);
  if (!/^(?:www\.)?(?:huggingface\.co|hf\.co)$/.test(hostname)) return asked;
  const [owner, name, view, revision, ...file] = pathname.split('/').filter(Boolean);
  if (!name || view === 'resolve') return asked;
  const at = revision && revision !== 'main' ? `@${revision}` : '';
  const inside = view === 'blob' && file.length ? `/${file.join('/')}` : '';
  return view === undefined || view === 'tree' || view === 'blob' ? `hf:${owner}/${name}${at}${inside}` : asked;
}
