// precompress.js - writes FILE.br and FILE.gz beside the files of a built folder, for servers that send precompressed
// files (serve.js, nginx, Apache; docs/hosting.md)
//
//   node scripts/precompress.js FOLDER
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Fonts and images are compressed already. */
const EXTENSIONS = new Set(['.js', '.css', '.html', '.svg', '.json', '.wasm', '.txt', '.webmanifest', '.gguf']);
/**
 * A copy is written if it has at most this share of the file's bytes. Most Q8_0 weights stay above it: for a few percent
 * it is better to send them with their own Content-Length, which shows progress in percent and permits resuming.
 */
const WORTHWHILE = 0.9;
/** Below this a response is mostly headers. */
const SMALLEST = 256;

/** The best quality makes weights half a percent smaller, and takes twenty times as long. */
const QUALITY_OF_WEIGHTS = 9;

const encoders = {
  '.br': (/** @type {Buffer} */ bytes, /** @type {string} */ file) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: file.endsWith('.gguf') ? QUALITY_OF_WEIGHTS : constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  '.gz': (/** @type {Buffer} */ bytes) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
};

/**
 * Compress the files below a folder. Existing copies are replaced.
 * @param {string} folder
 * @returns {Promise<{file: string, size: number, br?: number, gz?: number}[]>} the files that got a copy; sizes in bytes
 */
export async function precompress(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && EXTENSIONS.has(extname(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const rows = await Promise.all(files.map(copiesOf));
  return rows.filter(({ gz }) => gz);
}

/**
 * Write the copies of one file that are worth it.
 * @param {string} file
 * @returns {Promise<{file: string, size: number, br?: number, gz?: number}>}
 */
async function copiesOf(file) {
  const bytes = readFileSync(file);
  /** @type {{file: string, size: number} & Record<string, any>} */
  const row = { file, size: bytes.length };
  if (bytes.length < SMALLEST) return row;
  // gzip first: it is fast, and where it saves almost nothing Brotli does not save much either
  for (const extension of /** @type {const} */ (['.gz', '.br'])) {
    const copy = await encoders[extension](bytes, file);
    if (copy.length > WORTHWHILE * bytes.length) break;
    writeFileSync(file + extension, copy);
    row[extension.slice(1)] = copy.length;
  }
  return row;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  if (!folder) {
    console.error('usage: node scripts/precompress.js FOLDER');
    process.exit(2);
  }
  for (const { file, size, br, gz } of await precompress(folder)) console.log(`${file}  ${size}  br ${br}  gz ${gz}`);
}
