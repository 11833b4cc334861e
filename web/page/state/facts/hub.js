// hub.js - models on the Hugging Face hub, and what a pasted address means

/** @typedef {typeof HUB[number]} HubModel */

/**
 * dtype of the weights in the safetensors file; buffers: bytes in that file that are not parameters; encoder: it writes
 * no text.
 */
export const HUB = /** @type {const} */ ([
  {
    name: 'SmolLM2 135M Instruct',
    source: 'hf:HuggingFaceTB/SmolLM2-135M-Instruct',
    parameters: 134_515_008,
    dtype: 'bf16',
    buffers: 0,
    licence: 'Apache 2.0',
    encoder: false,
  },
  {
    name: 'GPT-2',
    source: 'hf:openai-community/gpt2',
    parameters: 124_439_808,
    dtype: 'f32',
    buffers: 12 * 1024 * 1024 * 4, // the causal mask of each layer
    licence: 'MIT',
    encoder: false,
  },
  {
    name: 'Gemma 3 270M Instruct',
    source: 'hf:unsloth/gemma-3-270m-it', // Google's own asks for an account
    parameters: 268_098_176,
    dtype: 'bf16',
    buffers: 0,
    licence: 'Gemma Terms of Use',
    encoder: false,
  },
  {
    name: 'SmolLM2 360M Instruct',
    source: 'hf:HuggingFaceTB/SmolLM2-360M-Instruct',
    parameters: 361_821_120,
    dtype: 'bf16',
    buffers: 0,
    licence: 'Apache 2.0',
    encoder: false,
  },
  {
    name: 'Qwen3 0.6B',
    source: 'hf:Qwen/Qwen3-0.6B',
    parameters: 596_049_920,
    dtype: 'bf16',
    buffers: 151_936 * 1024 * 2, // the tied head, saved a second time
    licence: 'Apache 2.0',
    encoder: false,
  },
  {
    name: 'all-MiniLM-L6-v2',
    source: 'hf:sentence-transformers/all-MiniLM-L6-v2',
    parameters: 22_713_216,
    dtype: 'f32',
    buffers: 512 * 8, // numbers of the positions
    licence: 'Apache 2.0',
    encoder: true,
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

/**
 * Tokens per second to expect where memory is read at this rate: each token reads all weights once.
 * @param {number} memory  bytes of the weights
 * @param {number} bytesPerMs  as measured here (calls/read_rate.js)
 */
export const expectedSpeed = (memory, bytesPerMs) => (1000 * bytesPerMs) / memory;

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
