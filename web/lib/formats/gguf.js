// gguf.js - the reader of GGUF: metadata, tensor list, and the supported architectures
//
//   "GGUF" | u32 version | u64 n tensors | u64 n keys | keys | tensor infos | padding | data, each tensor aligned
//
// All numbers little-endian. A tensor's dimensions are listed innermost first. The `llama` architecture stores the rows
// of q and k permuted so that adjacent pairs are rotated; they are not reordered, and rope_pairs in the config says so.
import { BLOCKS, DTYPES, isDtype } from '../base/blocks.js';
import { completeConfig } from './config.js';
import { fail, show } from '../base/errors.js';
import { placesByName } from './plan.js';

/** @typedef {import('./bytes.js').ByteReader} ByteReader */
/** @typedef {import('./config.js').Config} Config */
/** @typedef {import('./plan.js').Entry} Entry */
/** @typedef {import('./plan.js').Place} Place */
/** @typedef {number | boolean | string | Meta} Value */
/** @typedef {(number | boolean | string)[]} Meta */
/**
 * @typedef {object} Gguf
 * @property {Map<string, Value>} meta
 * @property {Entry[]} entries
 * @property {number} padding  bytes that may follow the last tensor
 */

const MAX_STRING = 1 << 24;
const MAX_ARRAY = 1 << 23;
const MAX_KEYS = 1 << 16;
const MAX_TENSORS = 1 << 17;

/** Names of ggml's tensor types by number. */
const TYPES = (
  'F32 F16 Q4_0 Q4_1   Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ2_S IQ4_XS ' +
  'I8 I16 I32 I64 F64 IQ1_M BF16    TQ1_0 TQ2_0    MXFP4'
).split(' ');

/** Sizes of the metadata's number types; 8 is a string, 9 an array. @type {Record<number, number>} */
const VALUE_BYTES = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };

/** The header, one value after the other. */
class Header {
  /** @param {ByteReader} r */
  constructor(r) {
    this.r = r;
    this.utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  }

  /**
   * @param {string} why
   * @returns {never}
   */
  no(why) {
    return fail('bad-header', `${this.r.name}: ${why}`);
  }

  /**
   * @param {number} n
   * @param {string} what
   */
  async view(n, what) {
    if (this.r.ready < n) await this.r.need(n, what);
    const b = this.r.takeReady(n);
    return new DataView(b.buffer, b.byteOffset, n);
  }

  /** @param {string} what */
  async u32(what) {
    return (await this.view(4, what)).getUint32(0, true);
  }

  /**
   * A count or size, at most max.
   * @param {string} what
   * @param {number} max
   */
  async count(what, max) {
    const n = (await this.view(8, what)).getBigUint64(0, true);
    return n <= BigInt(max) ? Number(n) : this.no(`${what} is ${n}, at most ${max} are possible`);
  }

  /** @param {string} what */
  async string(what) {
    const n = await this.count(`the length of ${what}`, MAX_STRING);
    if (this.r.ready < n) await this.r.need(n, what);
    try {
      return this.utf8.decode(this.r.takeReady(n));
    } catch {
      return this.no(`${what} is not UTF-8`);
    }
  }

  /** Strings up to n that are here in full: vocabularies have 100,000 and more, each not worth a wait, and most not worth a decoder.
   * What is wrong with one is left for `string` to say. @param {Meta} list @param {number} n */
  arrived(list, n) {
    const { buf, at } = this.r;
    const v = new DataView(buf.buffer, buf.byteOffset, buf.length);
    let end = at;
    let text = '';
    let begin = 0;
    while (list.length < n && end + 8 <= buf.length) {
      const from = end + 8;
      const length = v.getUint32(end, true);
      const to = from + length;
      if (v.getUint32(end + 4, true) || length > MAX_STRING || to > buf.length) break;
      if (to > begin + text.length) text = LATIN.decode(buf.subarray((begin = from), Math.max(to, from + WINDOW)));
      try {
        list.push(
          isAscii(buf, from, to) ? text.slice(from - begin, to - begin) : this.utf8.decode(buf.subarray(from, to)),
        );
      } catch {
        break;
      }
      end = to;
    }
    this.r.takeReady(end - at);
  }

  /**
   * @param {number} type
   * @param {string} what
   * @returns {Promise<number | boolean | string>}
   */
  async scalar(type, what) {
    if (type === 8) return this.string(what);
    const size = VALUE_BYTES[type] ?? this.no(`${what} has the value type ${type}, which does not exist`);
    return num(await this.view(size, what), 0, type) ?? this.no(`${what} is larger than 2^53`);
  }

  /**
   * @param {string} what
   * @returns {Promise<Value>}
   */
  async value(what) {
    const type = await this.u32(what);
    if (type !== 9) return this.scalar(type, what);
    const of = await this.u32(what);
    if (of === 9) this.no(`${what} is an array of arrays`);
    const size =
      of === 8 ? 8 : (VALUE_BYTES[of] ?? this.no(`${what} has elements of type ${of}, which does not exist`));
    const n = await this.count(`the length of ${what}`, MAX_ARRAY);
    if (this.r.total !== null && n * size > this.r.total - this.r.pos) {
      fail('truncated', `${this.r.name}: ${what} claims ${n} elements, more than the file has bytes for`);
    }
    /** @type {Meta} */
    const list = [];
    if (of === 8) {
      while (list.length < n) {
        this.arrived(list, n);
        if (list.length < n) list.push(await this.string(what));
      }
      return list;
    }
    const view = await this.view(n * size, what);
    const Kind = NUMBERS[of];
    // aligned
    if (Kind) return Array.from(new Kind(new Uint8Array(view.buffer, view.byteOffset, n * size).slice().buffer));
    for (let i = 0; i < n; i++)
      list.push(num(view, i * size, of) ?? this.no(`${what} holds a number larger than 2^53`));
    return list;
  }
}

/**
 * Arrays of numbers that can be read in one piece: scores and types of tokens.
 * @type {Record<number, Float32ArrayConstructor | Int32ArrayConstructor>}
 */
const NUMBERS = { 5: Int32Array, 6: Float32Array };

/** One character a byte. */
const LATIN = new TextDecoder('latin1');
/** Bytes that are decoded ahead. */
const WINDOW = 1 << 14;

/**
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 */
function isAscii(bytes, from, to) {
  for (let i = from; i < to; i++) if (bytes[i] > 127) return false;
  return true;
}

/**
 * @param {DataView} v
 * @param {number} at
 * @param {number} type
 * @returns {number | boolean | null} null where a double cannot hold it
 */
function num(v, at, type) {
  switch (type) {
    case 0:
      return v.getUint8(at);
    case 1:
      return v.getInt8(at);
    case 2:
      return v.getUint16(at, true);
    case 3:
      return v.getInt16(at, true);
    case 4:
      return v.getUint32(at, true);
    case 5:
      return v.getInt32(at, true);
    case 6:
      return v.getFloat32(at, true);
    case 7:
      return v.getUint8(at) !== 0;
    case 12:
      return v.getFloat64(at, true);
    default: {
      const n = Number(type === 10 ? v.getBigUint64(at, true) : v.getBigInt64(at, true));
      return Number.isSafeInteger(n) ? n : null;
    }
  }
}

/**
 * Read everything before the tensor data.
 * @param {ByteReader} r at the start of the file
 * @param {number} file
 * @returns {Promise<Gguf>}
 */
export async function readGguf(r, file) {
  const h = new Header(r);
  const magic = new TextDecoder('latin1').decode(await r.take(4, 'the magic'));
  if (magic !== 'GGUF') fail('bad-file', `${r.name}: begins with ${show(magic)}, a GGUF file begins with "GGUF"`);
  const version = await h.u32('the version');
  if (version !== 2 && version !== 3)
    fail('unsupported', `${r.name}: GGUF version ${version} is not supported, only 2 and 3 are`);
  const nTensors = await h.count('the number of tensors', MAX_TENSORS);
  const nKeys = await h.count('the number of keys', MAX_KEYS);
  /** @type {Map<string, Value>} */
  const meta = new Map();
  for (let i = 0; i < nKeys; i++) {
    const key = await h.string('a key');
    if (meta.has(key)) h.no(`the key ${show(key)} is there twice`);
    meta.set(key, await h.value(show(key)));
  }
  const given = meta.get('general.alignment') ?? 32;
  const power = typeof given === 'number' && given >= 1 && given <= 65536 && !(given & (given - 1));
  const alignment = power ? given : h.no(`general.alignment is ${show(given)}, expected a power of two`);
  const entries = [];
  const names = new Set();
  for (let i = 0; i < nTensors; i++) {
    const e = await tensorInfo(h, file);
    if (names.has(e.name)) fail('duplicate-tensor', `${r.name}: ${show(e.name)} is listed twice`);
    names.add(e.name);
    entries.push(e);
  }
  const start = align(r.pos, alignment);
  return { meta, entries, padding: tiled(r, entries, start, alignment) };
}

/**
 * @param {number} n
 * @param {number} to
 */
const align = (n, to) => Math.ceil(n / to) * to;

/**
 * @param {Header} h
 * @param {number} file
 * @returns {Promise<Entry>} offset from the start of the data
 */
async function tensorInfo(h, file) {
  const name = await h.string('a tensor name');
  const rank = await h.u32(name);
  if (rank < 1 || rank > 4) h.no(`${show(name)} has ${rank} dimensions, 1 to 4 are possible`);
  const shape = [];
  for (let i = 0; i < rank; i++) shape.unshift(await h.count(`a dimension of ${show(name)}`, 2 ** 40));
  const type = await h.u32(name);
  const offset = await h.count(`the offset of ${show(name)}`, Number.MAX_SAFE_INTEGER);
  const theirs = TYPES[type];
  const dtype = theirs?.toLowerCase();
  if (!isDtype(dtype))
    return fail(
      'unknown-dtype',
      `${h.r.name}: ${show(name)} is stored as ${theirs || `tensor type ${type}`}, expected one of ${DTYPES.toUpperCase()}`,
    );
  const [perBlock, blockBytes] = BLOCKS[dtype];
  if (shape[rank - 1] % perBlock)
    h.no(`${show(name)} has rows of ${shape[rank - 1]}, ${theirs} needs multiples of ${perBlock}`);
  const bytes = (shape.reduce((n, d) => n * BigInt(d), 1n) / BigInt(perBlock)) * BigInt(blockBytes);
  if (bytes > BigInt(Number.MAX_SAFE_INTEGER)) h.no(`${show(name)} of shape ${show(shape)} is larger than any file`);
  return { name, dtype, shape, file, offset, bytes: Number(bytes) };
}

/**
 * Throws unless the tensors follow each other with only alignment between them.
 * @param {ByteReader} r
 * @param {Entry[]} entries
 * @param {number} start
 * @param {number} alignment
 */
function tiled(r, entries, start, alignment) {
  let at = start;
  let end = entries.length ? start : r.pos; // a file without tensors may end before the padding
  for (const e of entries) e.offset += start;
  for (const e of [...entries].sort((a, b) => a.offset - b.offset || a.bytes - b.bytes)) {
    if (e.offset < at)
      fail('overlap', `${r.name}: ${show(e.name)} begins at byte ${e.offset}, before the end of the tensor before it`);
    if (e.offset > at) fail('overlap', `${r.name}: ${show(e.name)} begins at byte ${e.offset}, expected ${at}`);
    end = at + e.bytes;
    at = align(end, alignment);
  }
  const padding = align(end, alignment) - end;
  r.fits(end, padding);
  return padding;
}

/** What distinguishes the architectures, beyond the keys that all share. @type {Record<string, Record<string, any>>} */
const ARCHITECTURES = {
  llama: { norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', rope_pairs: 'adjacent' },
  qwen2: { norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', rope_pairs: 'half' },
  qwen3: { norm: 'rmsnorm', ffn: 'swiglu', position: 'rope', rope_pairs: 'half', qk_norm: true },
  gpt2: { norm: 'layernorm', ffn: 'gelu_tanh', position: 'learned', bias_norm: true },
};

/** @type {import('./plan.js').Names} */
const NAMES = {
  embed: 'token_embd',
  position: 'position_embd',
  blocks: 'blk',
  norm1: 'attn_norm',
  norm2: 'ffn_norm',
  'attn.o': 'attn_output',
  'ffn.*': 'ffn_*',
  final_norm: 'output_norm',
  head: 'output',
};

/** Keys below the architecture's name that the model is built from, or that change nothing. */
const KEYS = new RegExp(
  '^(vocab_size|context_length|embedding_length|block_count|feed_forward_length|expert_(used_)?count|tensor_data_layout|' +
    'attention\\.(head_count(_kv)?|(key|value)_length|layer_norm_(rms_)?epsilon|sliding_window|causal)|' +
    'rope\\.(dimension_count|freq_base|scale_linear|scaling\\.(type|factor|original_context_length|finetuned)))$',
);

/**
 * The configuration, and where tensors go.
 * @param {string} where
 * @param {Gguf} gguf
 * @param {string[]} warnings grows
 * @param {Record<string, any> | null} [scaling]  what rope_freqs.weight said
 * @returns {{config: Config, places: Map<string, Place>, isBuffer: (e: Entry) => boolean}}
 */
export function ggufModel(where, { meta, entries }, warnings, scaling = null) {
  const arch = meta.get('general.architecture');
  if (typeof arch !== 'string') fail('bad-header', `${where}: general.architecture is missing`);
  const base = Object.hasOwn(ARCHITECTURES, arch)
    ? ARCHITECTURES[arch]
    : fail(
        'unsupported',
        `${where}: the architecture ${show(arch)} is not supported, expected one of ${Object.keys(ARCHITECTURES).join(', ')}`,
      );
  /**
   * @param {string} key
   * @param {number|null} [fallback]
   * @returns {any}
   */
  const num = (key, fallback) => {
    const given = meta.get(`${arch}.${key}`) ?? fallback;
    const equal = Array.isArray(given) && given.length > 0 && given.every((x) => x === given[0]); // one value per layer
    const v = equal ? given[0] : given;
    if (Array.isArray(v))
      fail('unsupported', `${where}: ${arch}.${key} differs from layer to layer, which is not supported`);
    if (v === undefined) fail('bad-config', `${where}: ${arch}.${key} is missing`);
    return v === null || typeof v === 'number'
      ? v
      : fail('bad-config', `${where}: ${arch}.${key} is ${show(v)}, expected a number`);
  };
  /**
   * @param {string} key
   * @param {unknown} value
   * @returns {never}
   */
  const lacks = (key, value) => fail('unsupported', `${where}: ${arch}.${key} ${show(value)} is not supported`);

  const byName = new Map(entries.map((e) => [e.name, e]));
  const embed = byName.get('token_embd.weight') ?? fail('missing-tensor', `${where}: token_embd.weight is missing`);
  const tokens = meta.get('tokenizer.ggml.tokens');
  if (Array.isArray(tokens) && tokens.length !== embed.shape[0]) {
    fail(
      'bad-tokenizer',
      `${where}: the vocabulary has ${tokens.length} tokens, token_embd.weight ${embed.shape[0]} rows`,
    );
  }
  if (num('vocab_size', embed.shape[0]) !== embed.shape[0]) {
    fail(
      'bad-shape',
      `${where}: token_embd.weight has ${embed.shape[0]} rows, ${arch}.vocab_size is ${num('vocab_size')}`,
    );
  }
  const nHeads = num('attention.head_count');
  const dModel = num('embedding_length');
  const dHead = num('attention.key_length', Math.floor(dModel / nHeads));
  if (num('attention.value_length', dHead) !== dHead) lacks('attention.value_length', num('attention.value_length'));
  if (base.position === 'rope' && num('rope.dimension_count', dHead) !== dHead)
    lacks('rope.dimension_count', num('rope.dimension_count'));
  if (num('expert_count', 0)) lacks('expert_count', num('expert_count'));
  if (meta.get(`${arch}.attention.causal`) === false) lacks('attention.causal', false);
  for (const [key, value] of meta) {
    const [of, ...rest] = key.split('.');
    if (of === arch && !KEYS.test(rest.join('.'))) lacks(rest.join('.'), value);
  }
  // a second copy of a tied embedding, as converters of GPT-2 write it, is skipped; stored in another precision it is a
  // head of its own
  const head = byName.get('output.weight');
  const tied = !head || (arch === 'gpt2' && head.dtype === embed.dtype);
  const config = completeConfig(
    {
      ...base,
      ...(scaling ?? ropeScaling(meta, arch, lacks)),
      kind: 'decoder',
      vocab_size: embed.shape[0],
      d_model: dModel,
      n_layers: num('block_count'),
      n_heads: nHeads,
      n_kv_heads: num('attention.head_count_kv', nHeads),
      d_head: dHead,
      d_ff: num('feed_forward_length'),
      context_length: num('context_length'),
      norm_eps: epsilon(num(`attention.layer_norm_${base.norm === 'rmsnorm' ? 'rms_' : ''}epsilon`)),
      norm_placement: 'pre',
      final_norm: true,
      ...(base.position === 'rope' ? { rope_theta: num('rope.freq_base', 10000) } : {}),
      bias_qkv: byName.has('blk.0.attn_q.bias') || byName.has('blk.0.attn_qkv.bias'),
      bias_attn_out: byName.has('blk.0.attn_output.bias'),
      bias_ffn: byName.has('blk.0.ffn_up.bias'),
      sliding_window: num('attention.sliding_window', 0),
      tie_word_embeddings: tied,
    },
    where,
  );
  if (head && tied) warnings.push(`${where}: output.weight is a copy of the embedding, skipped`);
  return {
    config,
    places: placesByName(config, { ...NAMES, 'attn.*': byName.has('blk.0.attn_qkv.weight') ? 'attn_qkv' : 'attn_*' }),
    isBuffer: ({ name, shape }) =>
      name === 'rope_freqs.weight' ||
      (tied && name === 'output.weight' && shape.length === 2 && shape[0] === config.vocab_size && shape[1] === dModel),
  };
}

/**
 * Epsilons are stored as f32: 1e-5 is read as 0.000009999999747. The shortest decimal with the same f32 value is the
 * intended number, and the one that other formats give.
 * @param {number} eps
 */
const epsilon = (eps) => {
  for (let digits = 1; digits < 17; digits++) {
    const short = Number(eps.toPrecision(digits));
    if (Math.fround(short) === Math.fround(eps)) return short;
  }
  return eps;
};

/**
 * @param {Map<string, Value>} meta
 * @param {string} arch
 * @param {(key: string, value: unknown) => never} lacks
 */
function ropeScaling(meta, arch, lacks) {
  const type = meta.get(`${arch}.rope.scaling.type`);
  const factor = meta.get(`${arch}.rope.scaling.factor`) ?? meta.get(`${arch}.rope.scale_linear`);
  if (type === 'none' || (type === undefined && (factor === undefined || factor === 1))) return {};
  if (type !== undefined && type !== 'linear') return lacks('rope.scaling.type', type);
  return { rope_scaling: 'linear', rope_factor: factor };
}
