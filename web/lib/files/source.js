// source.js - opens a checkpoint from files, addresses, folders or the Hugging Face hub
//
// openCheckpoint reads headers, configuration and tokenizer. `stream` of its result then delivers the bytes of every
// tensor once, in file order, and keeps none. The reader of GGUF, the common format in pages, is always loaded; the
// readers of other formats are loaded when such a file is opened.
import { BLOCKS } from '../base/dtype_names.js';
import { ByteReader } from './bytes/chunks.js';
import { chatTemplates } from './vocabulary/chat_template.js';
import { fail } from '../base/errors.js';
import { isBytes } from '../base/checks.js';
import { detectFormat } from './bytes/detect_format.js';
import { readGguf } from './gguf/gguf.js';
import { ROPE_TABLE, ggufModel } from './gguf/gguf_model.js';
import { ARCHITECTURES } from './gguf/gguf_archs.js';
import { OpenedFiles, fileFolder } from './opened_files.js';
import { planTensors } from '../engine/config/tensor_plan.js';
import { tokenTextsOf } from './vocabulary/packed_texts.js';
import { pieceModels } from './vocabulary/tokenizer_json.js';
import { ggufTokenizer } from './vocabulary/gguf_vocab.js';

/** @import { Config } from '../engine/config/config.js' */
/** @import { TensorSource } from '../engine/config/tensor_plan.js' */
/** @import { Folder, OpenOptions } from './opened_files.js' */
/** @typedef {import('./bytes/open_file.js').Bytes} Bytes */
/** @typedef {{weights: Bytes | Bytes[], config?: Bytes | object, tokenizer?: Bytes | object}} Parts */
/** A source of load, as api/input/load_options.js returns it. @typedef {Bytes | Parts | File[]} Source */
/**
 * The caller's configuration and tokenizer, which are used in place of those beside the weights.
 * config null: there is none.
 * @typedef {{config?: Bytes | object | null, tokenizer?: Bytes | object}} Overrides
 */
/**
 * Ids of the special tokens. `texts` holds their texts where the files name them for the chat template. Of
 * encoder-decoders of Hugging Face: `start` holds the tokens before the first one of every target, `never` those that
 * are never generated.
 * @typedef {object} Special
 * @property {number | null} bos
 * @property {number[]} eos
 * @property {boolean} addBos
 * @property {number[]} [start]
 * @property {number[]} [never]
 * @property {Record<string, string>} [texts]  by bos_token, eos_token, pad_token and others
 */
/**
 * Receives the tensors, each with one call of `begin`, several of `write` and one of `end`. A view ends on a whole
 * block of the tensor's dtype, and is valid until `write` returns or its promise settles.
 * @typedef {object} TensorSink
 * @property {(tensor: TensorSource) => void | Promise<void>} begin
 * @property {(view: Uint8Array) => void | Promise<void>} write
 * @property {(tensor: TensorSource) => void | Promise<void>} end
 */
/**
 * An opened checkpoint.
 * @typedef {object} Checkpoint
 * @property {Config} config           complete and checked
 * @property {object | null} tokenizer in the form of a tokenizer.json
 * @property {string | null} chatTemplate
 * @property {string | null} [toolTemplate]  of conversations with tools, where it is another one
 * @property {Partial<import('./huggingface/sentence_transformers.js').OwnPooling>} [pooling]  of an encoder
 * @property {import('./huggingface/classifiers.js').Labels} [labels]  of a classifier
 * @property {Special} special
 * @property {string[]} warnings
 * @property {import('./bytes/detect_format.js').Format} format
 * @property {string} [architecture]  of a GGUF
 * @property {string} [name]  that the file states
 * @property {TensorSource[]} tensors  in the order of `stream`, except of PyTorch files, whose order is found while
 *   they are read; they cover every weight of the roster once
 * @property {number | null} totalBytes of the weight files; null where it is unknown
 * @property {(sink: TensorSink) => Promise<void>} stream  delivers the tensors; callable once
 * @property {() => void} close        to be called when `stream` is not called
 */
/**
 * What a format's reader returns besides parts of a Checkpoint.
 * @typedef {object} Read
 * @property {object} [tokenizer]
 * @property {(() => Promise<ByteReader>)[]} readers  one for each file, at the start of its data
 * @property {number[]} [padding]  bytes that may follow the last tensor of each file
 * @property {Deliver} [deliver]  reads one file, where its tensors come in another order than that of `tensors`
 */
/**
 * @typedef {Read & Omit<Checkpoint, 'tokenizer' | 'warnings' | 'format' | 'totalBytes' | 'stream' | 'close'>} Parsed
 */
/**
 * @typedef {(file: number, r: ByteReader, tensors: TensorSource[],
 *   give: (t: TensorSource, r: ByteReader) => Promise<void>) => Promise<void>} Deliver
 */

const llama2c = () => import('./llama2c/llama2c.js');

/**
 * Opens a checkpoint and reads everything but the tensors.
 * @param {Source} source
 * @param {OpenOptions} [options]
 * @returns {Promise<Checkpoint>}
 */
export async function openCheckpoint(source, options = {}) {
  options.signal?.throwIfAborted();
  const opener = new Opener(options);
  try {
    return await opener.checkpoint(source);
  } catch (e) {
    opener.close();
    throw e;
  }
}

/**
 * Opens a tokenizer alone: a tokenizer.json, the vocabulary of a GGUF, or llama2.c's tokenizer.bin.
 * @param {Bytes | object} source
 * @param {OpenOptions} [options]
 * @returns {Promise<object>} in the form of a tokenizer.json
 */
export async function openTokenizer(source, options = {}) {
  const opener = new Opener(options);
  try {
    return (await opener.tokenizer(source)).json;
  } finally {
    opener.close();
  }
}

/** Opens the checkpoint or the tokenizer of one call of openCheckpoint or openTokenizer. */
export class Opener extends OpenedFiles {
  /**
   * Open a checkpoint.
   * @param {Source} source
   * @returns {Promise<Checkpoint>}
   */
  async checkpoint(source) {
    if (source === '') fail('bad-argument', 'the address is empty');
    if (Array.isArray(source)) return this.folder(fileFolder(source), {});
    const { weights, ...overrides } = isBytes(source) ? { weights: source } : source;
    const files = [weights].flat().map((file) => this.resolve(file));
    const folder = Array.isArray(weights) ? null : await this.folderOf(weights);
    return folder ? this.folder(folder, overrides) : this.weights(files, overrides);
  }

  /**
   * Open the checkpoint in a folder.
   * @param {Folder} folder
   * @param {Overrides} overrides
   * @returns {Promise<Checkpoint>}
   */
  async folder(folder, overrides) {
    return (await import('./folder.js')).openFolder(this, folder, overrides);
  }

  /**
   * Open the checkpoint in one or several weight files.
   * @param {(Bytes | ByteReader)[]} files
   * @param {Overrides} overrides
   * @param {Record<string, string>} [map]  of a sharded checkpoint: file name by tensor
   * @returns {Promise<Checkpoint>}
   */
  async weights(files, overrides, map = {}) {
    const first = files[0] instanceof ByteReader ? files[0] : await this.reader(files[0], true);
    const format = await detectFormat(first, !!overrides.config);
    const ofC = format === 'llama2c' || format === 'llmc';
    const hasOwnConfig = format === 'gguf' || ofC;
    if (ofC && files.length > 1) fail('unsupported', `${first.name}: a model of ${format} has only one file`);
    if (hasOwnConfig && (overrides.config || this.options.config))
      this.warnings.push(`${first.name}: it has its own configuration; the given one was not used`);
    if (hasOwnConfig && (this.options.names || this.options.rename))
      fail('bad-option', `${first.name}: names is an option of safetensors and PyTorch files, this one is ${format}`);
    const read =
      format === 'gguf'
        ? this.gguf(first, files)
        : ofC
          ? this.ofC(first, format)
          : (await import('./folder.js')).openStateDict(this, format, first, files, overrides, map);
    const { readers, padding = [], deliver, tokenizer: ownTokenizer, ...model } = await read;
    const tokenizer =
      overrides.tokenizer === undefined ? ownTokenizer : (await this.tokenizer(overrides.tokenizer)).json;
    const { vocab_size: size, encoder_vocab_size: ofEncoder } = model.config;
    if (tokenizer) checkVocabulary(tokenizer, Math.max(size, ofEncoder));
    return {
      ...model,
      tokenizer: tokenizer ?? null,
      warnings: this.warnings,
      format,
      totalBytes: this.total,
      stream: (sink) => this.stream(model, readers, padding, sink, deliver),
      close: () => this.close(),
    };
  }

  /**
   * Read the header of a GGUF, or those of its parts.
   * @param {ByteReader} r  of the first file
   * @param {(Bytes | ByteReader)[]} files
   * @returns {Promise<Parsed>}
   */
  async gguf(r, files) {
    const whole = await readGguf(r, 0);
    const isPart = whole.meta.has('split.count') || files.length > 1;
    const parts = isPart ? await (await import('./gguf/gguf_parts.js')).openParts(this, whole, r, files) : null;
    const gguf = parts?.gguf ?? whole;
    const readers = parts?.readers ?? [async () => r];
    const names = parts?.names ?? [r.name];
    const tables = gguf.entries.filter(({ name }) => ROPE_TABLE.test(name));
    const scaling = tables.length
      ? await (
          await import('./gguf/rope_freqs.js')
        ).readRopeTables(this, readers, parts?.files ?? files, tables, gguf.meta)
      : null;
    const known = Object.hasOwn(ARCHITECTURES, String(gguf.meta.get('general.architecture')))
      ? ARCHITECTURES
      : (await import('./gguf/gguf_archs_more.js')).ALL_ARCHITECTURES;
    const heads = gguf.entries.some(({ name }) => /^(cls\.output|dense_2)\./.test(name))
      ? await (await import('./gguf/gguf_heads.js')).readHeads(this, readers, parts?.files ?? files, gguf, known)
      : { known };
    const { config, places, isBuffer, pooling, start } = ggufModel(r.name, gguf, this.warnings, scaling, heads.known);
    const tensors = planTensors(config, gguf.entries, places, isBuffer, names, this.warnings, 'each');
    const vocab = await ggufTokenizer(r.name, gguf.meta, this.warnings);
    return {
      config,
      architecture: String(gguf.meta.get('general.architecture')),
      name: String(gguf.meta.get('general.name') ?? ''),
      tensors,
      tokenizer: vocab?.json,
      special: {
        ...(vocab?.special ?? { bos: null, eos: [], addBos: false }),
        ...(start !== undefined && { bos: start, start: [start] }),
      },
      ...chatTemplates(gguf.meta.get('tokenizer.chat_template'), gguf.meta.get('tokenizer.chat_template.tool_use')),
      pooling: pooling && { ...pooling, ...heads.pooling },
      ...(heads.labels && { labels: heads.labels }),
      readers,
      padding: parts?.padding ?? [gguf.padding],
    };
  }

  /**
   * Read the header of a checkpoint of llama2.c or llm.c.
   * @param {ByteReader} r
   * @param {'llama2c' | 'llmc'} format
   * @returns {Promise<Parsed>}
   */
  async ofC(r, format) {
    const { config, tensors, ...ends } =
      format === 'llama2c'
        ? { ...(await (await llama2c()).readLlama2c(r, this.warnings)), bos: 1, eos: [1, 2], addBos: true }
        : { ...(await (await import('./llama2c/llmc.js')).readLlmc(r, this.warnings)), bos: null, addBos: false };
    return { config, tensors, special: ends, chatTemplate: null, readers: [async () => r] };
  }

  /**
   * Deliver the tensors to a sink and close all files.
   * @param {{config: Config, tensors: TensorSource[]}} model  tensors in file order
   * @param {(() => Promise<ByteReader>)[]} readers
   * @param {number[]} padding  bytes that may follow the last tensor of each file
   * @param {TensorSink} sink
   * @param {Deliver} [deliver]
   */
  async stream({ config, tensors: planned }, readers, padding, sink, deliver = inOrder) {
    const arranging = planned.some(({ arrangement, stored }) => arrangement || stored)
      ? new (await import('./arranged_tensors.js')).Arranging(planned, sink, config, this.warnings)
      : null;
    const tensors = arranging?.tensors ?? planned;
    const give = async (/** @type {TensorSource} */ t, /** @type {ByteReader} */ r) => {
      if (!(await arranging?.take(t, r))) await deliverTensor(t, r, sink);
    };
    try {
      for (const [i, get] of readers.entries()) {
        const r = await get();
        if (r.done && r.ready === 0 && r.total !== r.pos) fail('bad-state', `${r.name}: was read already`);
        await deliver(
          i,
          r,
          tensors.filter((t) => t.file === i),
          give,
        );
        if (padding[i] !== undefined) await this.passRest(r, padding[i]);
        await r.end();
        this.release(r);
      }
      await arranging?.end();
    } finally {
      this.close();
    }
  }

  /**
   * Read a file to its end, and warn of bytes that belong to nothing.
   * @param {ByteReader} r  behind the last tensor
   * @param {number} padding  bytes that may follow
   */
  async passRest(r, padding) {
    const end = r.pos;
    await r.skipRest();
    if (r.pos > end + padding)
      this.warnings.push(`${r.name}: ${r.pos - end} bytes that follow the last tensor were not read`);
  }

  /**
   * Read a tokenizer in any of its forms.
   * @param {Bytes | object} source
   * @returns {Promise<{json: object}>} json: in the form of a tokenizer.json
   */
  async tokenizer(source) {
    if (!isBytes(source)) return { json: source };
    const file = this.resolve(source);
    const packed = await this.packedTokenizer(file);
    if (packed) return { json: packed };
    const r = await this.reader(file);
    const head = await r.peek(4);
    const text = String.fromCharCode(...head); // browsers decode 'latin1' as windows-1252, in which \x80 is a euro sign
    if (text === 'GGUF') {
      const { meta } = await readGguf(r, 0);
      this.release(r);
      return (await ggufTokenizer(r.name, meta)) ?? fail('bad-tokenizer', `${r.name}: the file has no vocabulary`);
    }
    const bytes = await this.readAll(r);
    if (/^\s*[{[]/.test(text)) return { json: await this.parseTokenizer(bytes, r.name, file) };
    if (/^\x80[\x02-\x05]/.test(text))
      return { json: (await import('./vocabulary/character_ids.js')).charactersJson(bytes, r.name) };
    return { json: (await llama2c()).llama2cTokenizer(r.name, bytes) };
  }
}

/**
 * Delivers the tensors of a file one after the other. @type {Deliver}
 */
async function inOrder(_, r, tensors, give) {
  for (const t of tensors) {
    await r.skip(t.offset - r.pos);
    if (t.covers.length || t.stored) await give(t, r);
    else await r.skip(t.bytes, t.name);
  }
}

/**
 * Delivers one tensor to a sink.
 * @param {TensorSource} t
 * @param {ByteReader} r  at its first byte
 * @param {TensorSink} sink
 */
async function deliverTensor(t, r, sink) {
  await sink.begin(t);
  const write = (/** @type {Uint8Array} */ view) => sink.write(view);
  if (t.int8) await (await llama2c()).pipeInt8(r, t, write);
  else if (t.packed) await (await import('./gguf/rare_types.js')).pipePacked(r, t, t.packed, write);
  else await r.pipe(t.bytes, write, BLOCKS[t.dtype][1], t.name);
  await sink.end(t);
}

/**
 * Throws when a tokenizer has ids for which the embedding has no row. Added tokens may be without one: a text that uses
 * one is refused (Gemma 3's <image_soft_token>).
 * @param {any} json  the tokenizer
 * @param {number} vocabSize
 */
function checkVocabulary(json, vocabSize) {
  const texts = pieceModels.has(json.model) ? json.model.texts : tokenTextsOf(json.model?.vocab);
  const vocab = texts ? { last: texts.size - 1 } : json.model?.vocab;
  const added = new Set([json.added_tokens ?? []].flat().map((t) => t?.id));
  const ids = [...(Array.isArray(vocab) ? vocab.keys() : Object.values(vocab ?? {}))].filter((id) => !added.has(id));
  const most = ids.reduce((m, id) => (typeof id === 'number' && id > m ? id : m), -1);
  if (most >= vocabSize)
    fail('bad-tokenizer', `the tokenizer knows the id ${most}, the model has only ${vocabSize} tokens`);
}
