// hub.js - models of others on the Hugging Face hub, and what a pasted address means

/**
 * @typedef {object} HubModel
 * @property {string} name
 * @property {string} source
 * @property {number} parameters
 * @property {string} format
 * @property {number} fileBytes  of the weights on the hub
 */

/** @type {HubModel[]} */
export const HUB = [
  {
    name: 'SmolLM2 135M Instruct',
    source: 'hf:HuggingFaceTB/SmolLM2-135M-Instruct',
    parameters: 134_515_008,
    format: 'safetensors, bf16',
    fileBytes: 269_060_552,
  },
  {
    name: 'GPT-2',
    source: 'hf:openai-community/gpt2',
    parameters: 124_439_808,
    format: 'safetensors, f32',
    fileBytes: 548_105_171,
  },
  {
    name: 'Qwen2.5 0.5B Instruct',
    source: 'hf:Qwen/Qwen2.5-0.5B-Instruct',
    parameters: 494_032_768,
    format: 'safetensors, bf16',
    fileBytes: 988_097_824,
  },
];

/** Bytes of a weight in memory. */
const BYTES = { q8_0: 34 / 32, q4_0: 18 / 32 };

/**
 * Bytes of the weights in memory.
 * @param {HubModel} model
 * @param {'keep' | 'q8_0' | 'q4_0'} dtype
 */
export const memoryOf = ({ parameters, fileBytes }, dtype) =>
  dtype === 'keep' ? fileBytes : Math.round(parameters * BYTES[dtype]);

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
