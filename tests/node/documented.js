// documented.js - the documents that people write, and the model that stands for those on the Hub in their examples
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('../..', import.meta.url));

/** The pages of docs/ by their paths, without those that are generated. */
export const written = readdirSync(`${top}docs`, { recursive: true })
  .map((name) => `docs/${String(name).replaceAll('\\', '/')}`)
  .filter((name) => name.endsWith('.md') && !/node_modules|\/api\b|\/cli\.md$/.test(name))
  .sort();

const bytes = Array.from({ length: 256 }, (_, i) => i);
const isShown = (/** @type {number} */ b) => (b > 32 && b < 127) || (b > 160 && b !== 173);
/** GPT-2's characters for the 256 bytes. */
const letters = [...bytes.filter(isShown), ...bytes.filter((b) => !isShown(b))].map((b, i) =>
  String.fromCodePoint(i < 188 ? b : 256 + i - 188),
);
const tokenizer = {
  model: { type: 'BPE', vocab: Object.fromEntries(letters.map((letter, i) => [letter, i])), merges: [] },
  added_tokens: [],
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
  decoder: { type: 'ByteLevel' },
};
const chat = { chat_template: '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}' };
const ofCase = (/** @type {string} */ name) => readFileSync(`${top}tests/golden/cases/t5_literal_untied/${name}`);

/** A folder on the Hub: one small model with a byte tokenizer and a chat template. @type {Record<string, Buffer>} */
export const CHAT_FOLDER = {
  'config.json': ofCase('config.json'),
  'model.safetensors': ofCase('model.safetensors'),
  'tokenizer.json': Buffer.from(JSON.stringify(tokenizer)),
  'tokenizer_config.json': Buffer.from(JSON.stringify(chat)),
};
