// convert.js - writes a loaded model as a GGUF file: the commands convert and quantize
import { fail } from '../../base/errors.js';
import { Tokenizer, load } from '../../api/index.js';
import { configOf } from '../../api/estimate.js';
import { replaceFile } from '../../files/transfer/node_file.js';
import { PIECES, SentencePieces } from '../../files/vocabulary/sentencepiece_vocab.js';
import { ggufHeader, text, u32 } from '../../files/gguf/write_gguf.js';
import { FILE_TYPES } from '../../files/gguf/quant_mix.js';
import { writeModel } from '../../files/gguf/write_model.js';
import { openCheckpoint } from '../../files/source.js';
import { loadFetch } from '../../files/transfer/requests.js';
import { vocabularyMeta } from '../../files/gguf/write_vocab.js';

/** Texts that the old and the new tokenizer must split alike. */
const SAMPLES = [
  'Once upon a time',
  ' two  spaces,\n\nlines\tand 12345 numbers',
  'größe, naïve, 漢字 и 😀!',
  "I'll don't we've",
];

/**
 * Write a checkpoint as GGUF.
 * @param {string} source  what load takes
 * @param {string} out  path of the file
 * @param {{type: string, vocabulary: boolean, name?: string, options: import('../../api/index.js').LoadOptions}} o
 *   type: of the matrices; vocabulary: whether the tokenizer is written; name: of the model, by default that of source
 * @returns {Promise<{bytes: number, type: string}>}
 */
export async function convert(source, out, { type, vocabulary, name = nameOf(source), options }) {
  const chosen = type.toUpperCase();
  if (!Object.hasOwn(FILE_TYPES, chosen))
    fail('bad-option', `--type is "${type}", expected one of ${Object.keys(FILE_TYPES).join(', ')}`);
  let model = await load(source, options);
  try {
    if (model.warnings.some((warning) => warning.includes('rounded to its steps'))) {
      model.dispose(); // the file's own values, not those of the type in memory
      model = await load(source, { ...options, dtype: 'f32' });
    }
    const meta = {
      ...startOf(model),
      ...(vocabulary && (await vocabularyOf(model))),
    };
    if (vocabulary && model.tokenizer)
      await compareTokenizers({ ...meta, 'general.name': text(name) }, await model.tokenizer);
    const config = /** @type {any} */ (configOf(model.config));
    const chunks = writeModel(config, async (name) => (await model.matrix(name)).data, {
      type: /** @type {any} */ (chosen),
      name,
      meta,
      ...(await behindStates(model, source, options)),
    });
    const bytes = await writeFile(out, chunks);
    return { bytes, type: chosen };
  } finally {
    model.dispose();
  }
}

/**
 * The labels of a classifier, and what makes one vector of an encoder's states: the files have more than a model tells.
 * @param {import('../../api/index.js').Model} model
 * @param {string} source
 * @param {import('../../api/index.js').LoadOptions} options
 */
async function behindStates({ config, labels: isClassifier }, source, options) {
  if (config.kind !== 'encoder' && !isClassifier) return {};
  const { signal, hfEndpoint, config: given } = options;
  const fetch = loadFetch(source, /** @type {any} */ (options));
  const checkpoint = await openCheckpoint(source, { fetch, signal, hfEndpoint, config: given });
  checkpoint.close();
  return { labels: checkpoint.labels, pooling: checkpoint.pooling };
}

/** The last part of a path. @param {string} source */
const nameOf = (source) => source.replace(/\/$/, '').replace(/^.*[/\\]/, '') || 'model';

/**
 * The key of the token that begins every target of an encoder-decoder.
 * @param {import('../../api/index.js').Model} model
 * @returns {Record<string, import('../../files/gguf/write_gguf.js').Value>}
 */
const startOf = ({ config, special: { bos } }) =>
  config.kind === 'encoder_decoder' && bos !== null ? { 't5.decoder_start_token_id': u32(bos) } : {};

/**
 * The metadata of a model's vocabulary. What an encoder-decoder calls its first token begins its targets only.
 * @param {import('../../api/index.js').Model} model
 */
async function vocabularyOf({ tokenizer, special, config, chatTemplate, toolTemplate }) {
  if (!tokenizer) return {};
  const json = JSON.parse((await tokenizer).toText());
  if (json.model.type === PIECES) json.model = SentencePieces.fromJSON(json.model);
  const ids = config.kind === 'encoder_decoder' ? { ...special, bos: null, texts: undefined } : special;
  return vocabularyMeta(json, ids, config.vocabSize, { chatTemplate, toolTemplate });
}

/**
 * Write the file.
 * @param {string} out
 * @param {AsyncIterable<Uint8Array>} chunks
 * @returns {Promise<number>} bytes
 */
const writeFile = (out, chunks) =>
  replaceFile(out, chunks).catch((error) => {
    if (error?.syscall) fail('storage', `${out} cannot be written: ${error.message}`);
    throw error;
  });

/**
 * Throw when the tokenizer of a GGUF splits a text in another way than the one it was made from.
 * @param {Record<string, import('../../files/gguf/write_gguf.js').Value>} meta  of the GGUF
 * @param {import('../../api/index.js').Tokenizer} before
 */
async function compareTokenizers(meta, before) {
  const after = await Tokenizer.load(ggufHeader(meta, []).header);
  const added = [before, after].flatMap((tokenizer) => JSON.parse(tokenizer.toText()).added_tokens ?? []);
  const around = added.filter((token) => token.lstrip || token.rstrip || token.single_word);
  for (const sample of [...SAMPLES, ...around.map(({ content }) => `a ${content}\n a${content}a`)]) {
    const [a, b] = [before, after].map((tokenizer) => idsOf(tokenizer, sample));
    if (a === b) continue;
    fail(
      'unsupported',
      `the tokenizer cannot be written as GGUF: ${JSON.stringify(sample)} would become ${b}, not ${a}; ` +
        (SAMPLES.includes(sample)
          ? ''
          : 'a reader leaves out blanks after added tokens where the name of SOURCE has "phi3" or "phi-3"; ') +
        '--no-tokenizer leaves it out',
    );
  }
}

/**
 * @param {import('../../api/index.js').Tokenizer} tokenizer
 * @param {string} sample
 */
function idsOf(tokenizer, sample) {
  try {
    return tokenizer.encode(sample).join(' ');
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}
