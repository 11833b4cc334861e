// source.js - opens a checkpoint from files, addresses, folders or the Hugging Face hub
//
// openCheckpoint reads headers, configuration and tokenizer. `stream` of its result then delivers the bytes of every
// tensor once, in file order, and keeps none. The reader of GGUF, the common format in pages, is always loaded; the
// readers of other formats are loaded when such a file is opened.
import { BLOCKS } from '../base/blocks.js';
import { ByteReader, concatenate } from '../bytes/bytes.js';
import { chatTemplate } from '../tokenizers/chat_template.js';
import { GlassformerError, fail, show } from '../base/errors.js';
import { lacking } from '../base/extras.js';
import { isBytes, failNotASource } from '../base/checks.js';
import { detectFormat } from '../bytes/detect.js';
import { readGguf } from '../gguf/gguf.js';
import { ROPE_TABLE, ggufModel } from '../gguf/gguf_model.js';
import { parseJson } from '../bytes/json.js';
import { failWebPage, localPath, nodeFiles, openBytes } from '../bytes/open_file.js';
import { planTensors } from '../config/plan.js';
import { pieceModels } from '../tokenizers/tokenizer_json.js';
import { ggufTokenizer } from '../tokenizers/vocab.js';

/** @import { NameInFile, Rename } from '../huggingface/weight_names.js' */
/** @import { Config } from '../config/config.js' */
/** @import { TensorSource } from '../config/plan.js' */
/** @typedef {import('../bytes/open_file.js').Bytes} Bytes */
/** @typedef {{weights: Bytes | Bytes[], config?: Bytes | object, tokenizer?: Bytes | object}} Parts */
/** @typedef {Bytes | Parts | ArrayLike<File>} Source */
/**
 * The caller's configuration and tokenizer, which are used in place of those beside the weights.
 * config null: there is none.
 * @typedef {{config?: Bytes | object | null, tokenizer?: Bytes | object}} Overrides
 */
/**
 * A folder of files: `get` returns null for a file that it lacks, `list` is empty where the names are unknown.
 * @typedef {{name: string, get: (file: string) => Bytes | null, list: () => Promise<string[]>}} Folder
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
 * @property {{bos_token?: string, eos_token?: string}} [texts]
 */
/**
 * @typedef {object} OpenOptions
 * @property {typeof globalThis.fetch} [fetch]
 * @property {AbortSignal} [signal]
 * @property {boolean} [trusted]  whether `fetch` never delivers more bytes than the response's content-length, as the
 *   platform's own
 * @property {(loaded: number, total: number | null) => void} [onBytes]  progress of the weight files, in bytes
 * @property {string} [hfEndpoint]  instead of https://huggingface.co (or $HF_ENDPOINT in Node)
 * @property {Record<string, any>} [config]  keys of the configuration that replace or complete those of the files
 * @property {Record<string, NameInFile>} [names]  of tensors in the files, by our names
 * @property {Rename} [rename]  the same as a function
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
 * @property {Partial<import('../encoders/sentence.js').Pooling>} [pooling]  of an encoder
 * @property {Special} special
 * @property {string[]} warnings
 * @property {import('../bytes/detect.js').Format} format
 * @property {string} [architecture]  of a GGUF
 * @property {TensorSource[]} tensors  in the order of `stream`, except of PyTorch files, whose order is found while
 *   they are read; they cover every weight of the roster once
 * @property {number | null} totalBytes of the weight files; null where it is unknown
 * @property {(sink: TensorSink) => Promise<void>} stream  delivers the tensors; callable once
 * @property {() => void} close        to be called when `stream` is not called
 */
/**
 * What a format's reader returns.
 * @typedef {object} Parsed
 * @property {Config} config
 * @property {string} [architecture]  of a GGUF
 * @property {TensorSource[]} tensors
 * @property {Special} special
 * @property {string | null} chatTemplate
 * @property {Partial<import('../encoders/sentence.js').Pooling>} [pooling]  of an encoder
 * @property {object} [tokenizer]
 * @property {(() => Promise<ByteReader>)[]} readers  one for each file, at the start of its data
 * @property {number[]} [padding]  bytes that may follow the last tensor of each file
 * @property {Deliver} [deliver]  reads one file, where its tensors come in another order than that of `tensors`
 */
/**
 * @typedef {(file: number, r: ByteReader, tensors: TensorSource[],
 *   give: (t: TensorSource, r: ByteReader) => Promise<void>) => Promise<void>} Deliver
 */

/** Longest JSON file that is read, in bytes. */
const MAX_JSON = 1 << 28;

const llama2c = () => import('../llama2c/llama2c.js').catch(lacking('llama2c'));

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

/** Opens the files of one call of openCheckpoint or openTokenizer; holds its options, open readers and warnings. */
export class Opener {
  /** @param {OpenOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {Set<ByteReader>} */
    this.open = new Set();
    /** @type {string[]} */
    this.warnings = [];
    /** Bytes of weight files that have arrived. */
    this.loaded = 0;
    /** @type {number | null} size of the weight files opened so far; null where it is unknown */
    this.total = 0;
  }

  /** Close every open file. */
  close() {
    for (const r of this.open) r.close();
  }

  /**
   * Open a checkpoint.
   * @param {Source} source
   * @returns {Promise<Checkpoint>}
   */
  async checkpoint(source) {
    if (source === '') fail('bad-argument', 'the address is empty');
    if (isBytes(source)) {
      const folder = await this.folderOf(source);
      return folder ? this.folder(folder, {}) : this.weights([this.resolve(source)], {});
    }
    if (isFileList(source)) return this.folder(fileFolder(source), {});
    if (source === null || typeof source !== 'object' || !('weights' in source)) {
      return failNotASource(source);
    }
    const { weights, config, tokenizer } = /** @type {Parts} */ (source);
    if (Array.isArray(weights)) {
      if (!weights.length || !weights.every(isBytes)) fail('bad-argument', 'weights: expected one or more files');
      return this.weights(
        weights.map((w) => this.resolve(w)),
        { config, tokenizer },
      );
    }
    if (!isBytes(weights))
      return fail('bad-argument', `weights: expected an address, a path or bytes, found ${show(weights)}`);
    const folder = await this.folderOf(weights);
    return folder
      ? this.folder(folder, { config, tokenizer })
      : this.weights([this.resolve(weights)], { config, tokenizer });
  }

  /**
   * The address of hf:owner/name[@revision][/file]; anything else is returned as it is.
   * @param {Bytes} file
   * @returns {Bytes}
   */
  resolve(file) {
    if (typeof file !== 'string' || !file.startsWith('hf:')) return file;
    const parts = /^hf:([\w.-]+)\/([\w.-]+)(?:@([^/]+))?(?:\/(.*))?$/.exec(file);
    if (!parts)
      return fail(
        'bad-argument',
        `${show(file)}: expected hf:owner/name, hf:owner/name@revision or hf:owner/name/file.gguf`,
      );
    const [, owner, name, revision = 'main', rest = ''] = parts;
    const hub = this.options.hfEndpoint ?? globalThis.process?.env?.HF_ENDPOINT ?? 'https://huggingface.co';
    const path = rest.split('/').map(encodeURIComponent).join('/');
    const branch = encodeURIComponent(revision.replace(/%2F/gi, '/'));
    return `${hub.replace(/\/$/, '')}/${owner}/${name}/resolve/${branch}/${path}`;
  }

  /**
   * The folder that an address or a path means; null when it means a file.
   * @param {Bytes} source
   * @returns {Promise<Folder | null>}
   */
  async folderOf(source) {
    const at = this.resolve(source);
    if (typeof at !== 'string' && !(at instanceof URL)) return null;
    const path = localPath(at);
    if (path !== null) return (await nodeFiles()).folderAt(path);
    const text = String(at);
    return text.endsWith('/') ? { name: text, get: (file) => text + file, list: async () => [] } : null;
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
    const hasOwnConfig = format === 'gguf' || format === 'llama2c';
    if (format === 'llama2c' && files.length > 1) fail('unsupported', `${first.name}: llama2.c has only one file`);
    if (hasOwnConfig && (overrides.config || this.options.config))
      this.warnings.push(`${first.name}: brings its own configuration, the given one was not used`);
    if (hasOwnConfig && (this.options.names || this.options.rename))
      fail('bad-option', `${first.name}: names is an option of safetensors and PyTorch files, this one is ${format}`);
    const read =
      format === 'gguf'
        ? this.gguf(first, files)
        : format === 'llama2c'
          ? this.llama2c(first)
          : (await import('./folder.js')).openStateDict(this, format, first, files, overrides, map);
    const { readers, padding = [], deliver, tokenizer: ownTokenizer, ...model } = await read;
    const tokenizer =
      overrides.tokenizer === undefined ? ownTokenizer : (await this.tokenizer(overrides.tokenizer)).json;
    if (tokenizer) checkVocabulary(tokenizer, model.config.vocab_size);
    return {
      ...model,
      tokenizer: tokenizer ?? null,
      warnings: this.warnings,
      format,
      totalBytes: this.total,
      stream: (sink) => this.stream(model.tensors, readers, padding, sink, deliver),
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
    const parts = isPart ? await (await import('../gguf/gguf_parts.js')).openParts(this, whole, r, files) : null;
    const gguf = parts?.gguf ?? whole;
    const readers = parts?.readers ?? [async () => r];
    const tables = gguf.entries.filter(({ name }) => ROPE_TABLE.test(name));
    const scaling = tables.length
      ? await (await import('../gguf/rope_freqs.js')).readRopeTables(r.name, readers, tables, gguf.meta)
      : null;
    const { config, places, isBuffer, pooling, start } = ggufModel(r.name, gguf, this.warnings, scaling);
    const tensors = planTensors(config, gguf.entries, places, isBuffer, parts?.names ?? [r.name], this.warnings);
    const vocab = await ggufTokenizer(r.name, gguf.meta, this.warnings);
    return {
      config,
      architecture: String(gguf.meta.get('general.architecture')),
      tensors,
      tokenizer: vocab?.json,
      special: {
        ...(vocab?.special ?? { bos: null, eos: [], addBos: false }),
        ...(start !== undefined && { bos: start, start: [start] }),
      },
      chatTemplate: chatTemplate(gguf.meta.get('tokenizer.chat_template')),
      pooling,
      readers,
      padding: parts?.padding ?? [gguf.padding],
    };
  }

  /**
   * Read the header of a checkpoint of llama2.c.
   * @param {ByteReader} r
   * @returns {Promise<Parsed>}
   */
  async llama2c(r) {
    const { readLlama2c } = await llama2c();
    const { config, tensors } = await readLlama2c(r, this.warnings);
    return {
      config,
      tensors,
      special: { bos: 1, eos: [1, 2], addBos: true },
      chatTemplate: null,
      readers: [async () => r],
    };
  }

  /**
   * Deliver the tensors to a sink and close all files.
   * @param {TensorSource[]} tensors  in file order
   * @param {(() => Promise<ByteReader>)[]} readers
   * @param {number[]} padding  bytes that may follow the last tensor of each file
   * @param {TensorSink} sink
   * @param {Deliver} [deliver]
   */
  async stream(tensors, readers, padding, sink, deliver = inOrder) {
    const give = (/** @type {TensorSource} */ t, /** @type {ByteReader} */ r) => deliverTensor(t, r, sink);
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
        await r.skip((await r.peek(padding[i] ?? 0)).length);
        await r.end();
        this.release(r);
      }
    } finally {
      this.close();
    }
  }

  /**
   * Read a tokenizer in any of its forms.
   * @param {Bytes | object} source
   * @returns {Promise<{json: object}>} json: in the form of a tokenizer.json
   */
  async tokenizer(source) {
    if (!isBytes(source)) {
      if (source === null || typeof source !== 'object' || Array.isArray(source))
        fail('bad-argument', `tokenizer: expected a file or an object, found ${show(source)}`);
      return { json: source };
    }
    const r = await this.reader(this.resolve(source));
    const head = await r.peek(4);
    const text = new TextDecoder('latin1').decode(head);
    if (text === 'GGUF') {
      const { meta } = await readGguf(r, 0);
      this.release(r);
      return (await ggufTokenizer(r.name, meta)) ?? fail('bad-tokenizer', `${r.name}: the file has no vocabulary`);
    }
    const bytes = await this.readAll(r);
    if (/^\s*[{[]/.test(text)) return { json: parseJson(bytes, r.name) };
    return { json: (await llama2c()).llama2cTokenizer(r.name, bytes) };
  }

  /**
   * Open a file. A missing file, a web page and a Git LFS pointer are refused.
   * @param {Bytes} source
   * @param {boolean} [counts]  whether its bytes count for the progress
   * @param {boolean} [first]  false when the file is opened again: its size is then counted already
   * @returns {Promise<ByteReader>}
   */
  async reader(source, counts = false, first = true) {
    const { signal } = this.options;
    const { name, chunks, total, exact = true, bounded, reused } = await openBytes(source, this.options);
    const onBytes = counts
      ? (/** @type {number} */ n) => {
          this.loaded += n;
          this.options.onBytes?.(this.loaded, this.total);
        }
      : undefined;
    if (counts && first && this.total !== null) this.total = total === null ? null : this.total + total;
    const r = new ByteReader(chunks, { name, total: exact ? total : null, bounded, reused, onBytes, signal });
    this.open.add(r);
    const head = new TextDecoder('latin1')
      .decode(await r.peek(64))
      .trimStart()
      .toLowerCase();
    if (/^(<!doctype html|<html|<head|<!--)/.test(head)) failWebPage(name);
    if (head.startsWith('version https://git-lfs'))
      fail('bad-file', `${name}: this is a Git LFS pointer, not the file`);
    return r;
  }

  /**
   * Close one file.
   * @param {ByteReader} r
   */
  release(r) {
    r.close();
    this.open.delete(r);
  }

  /**
   * Open a file that may be missing; null when it is. Some servers answer every unknown address with their start page:
   * a web page counts as missing.
   * @param {Bytes | null} source
   * @param {boolean} [counts]
   * @returns {Promise<ByteReader | null>}
   */
  async optionalReader(source, counts) {
    if (source === null) return null;
    try {
      return await this.reader(source, counts);
    } catch (e) {
      if (e instanceof GlassformerError && (e.code === 'not-found' || e.code === 'html')) return null;
      throw e;
    }
  }

  /**
   * The rest of a file, which is then closed.
   * @param {ByteReader} r
   * @returns {Promise<Uint8Array>}
   */
  async readAll(r) {
    const parts = [];
    let size = 0;
    for (;;) {
      const view = r.ready ? r.takeReady(r.ready) : await r.next();
      if (!view) break;
      parts.push(r.reused ? view.slice() : view);
      size += view.length;
      if (size > MAX_JSON) fail('bad-file', `${r.name}: larger than ${MAX_JSON} bytes`);
    }
    this.release(r);
    return concatenate(parts, size);
  }

  /**
   * The content of a JSON file.
   * @param {Bytes} source
   * @returns {Promise<any>}
   */
  async json(source) {
    const r = await this.reader(this.resolve(source));
    return parseJson(await this.readAll(r), r.name);
  }

  /**
   * The content of a JSON file; null when the file is missing.
   * @param {Bytes | null} source
   * @returns {Promise<any>}
   */
  async optionalJson(source) {
    const r = await this.optionalReader(source);
    return r && parseJson(await this.readAll(r), r.name);
  }

  /**
   * The content of a text file; null when the file is missing.
   * @param {Bytes | null} source
   * @returns {Promise<string | null>}
   */
  async optionalText(source) {
    const r = await this.optionalReader(source);
    return r && new TextDecoder().decode(await this.readAll(r));
  }
}

/**
 * Delivers the tensors of a file one after the other. @type {Deliver}
 */
async function inOrder(_, r, tensors, give) {
  for (const t of tensors) {
    await r.skip(t.offset - r.pos);
    if (t.covers.length) await give(t, r);
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
  if (t.minusOne) await (await import('./minus_one.js')).pipePlusOne(r, t, (view) => sink.write(view));
  else if (t.int8) await (await llama2c()).pipeInt8(r, t, (view) => sink.write(view));
  else await r.pipe(t.bytes, (view) => sink.write(view), BLOCKS[t.dtype][1], t.name);
  await sink.end(t);
}

/**
 * Throws when a tokenizer has ids for which the embedding has no row.
 * @param {any} json  the tokenizer
 * @param {number} vocabSize
 */
function checkVocabulary(json, vocabSize) {
  const vocab = pieceModels.has(json.model) ? { last: json.model.texts.size - 1 } : json.model?.vocab;
  const ids = [
    ...(Array.isArray(vocab) ? vocab.keys() : Object.values(vocab ?? {})),
    ...[json.added_tokens ?? []].flat().map((t) => t?.id),
  ];
  const most = ids.reduce((m, id) => (typeof id === 'number' && id > m ? id : m), -1);
  if (most >= vocabSize)
    fail('bad-tokenizer', `the tokenizer knows the id ${most}, the model has only ${vocabSize} tokens`);
}

/**
 * Whether a value is a FileList or an array of files.
 * @param {unknown} v
 * @returns {v is ArrayLike<File>}
 */
function isFileList(v) {
  return (
    v !== null &&
    typeof v === 'object' &&
    'length' in v &&
    Array.from(/** @type {ArrayLike<unknown>} */ (v)).every((f) => f instanceof Blob)
  );
}

/**
 * The files of a file input or of a drop as a folder. A Blob has no name and is not found. A file of a chosen folder is
 * known by its path in it, and by its name where the folder itself has no other file of this name.
 * @param {ArrayLike<File>} files
 * @returns {Folder}
 */
function fileFolder(files) {
  const list = Array.from(files);
  const byName = new Map(list.map((f) => [f.name, f]));
  for (const f of list) byName.set((f.webkitRelativePath || '').split('/').slice(1).join('/') || f.name, f);
  return {
    name: 'the files given',
    get: (file) => byName.get(file) ?? null,
    list: async () => [...byName.keys()].filter((name) => typeof name === 'string'),
  };
}
