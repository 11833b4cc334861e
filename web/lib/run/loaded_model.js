// loaded_model.js - a loaded model beside its engine: loading, text and ids, generation, sessions
//
// It runs in the worker, or in the caller's thread when there is no worker. Arguments and results are plain data, so
// that they can be posted.
import { Engine } from '../engine/engine.js';
import { Sequence } from './sequence.js';
import { Yielder } from '../base/event_loop.js';
import { generate } from './generate.js';
import { contextFull, generateOptions, isList, number, oneMask, seedOf, switched } from '../input/options.js';
import { fail, GlassformerError, show } from '../base/errors.js';
import { camelConfig } from '../formats/config.js';
import { checkedIds } from '../base/values.js';
import { parameterTable } from '../formats/roster.js';
import { openCheckpoint } from '../formats/source.js';
import { requests } from '../download/requests.js';
import { Tokenizer } from '../tokenizer.js';

/** @typedef {import('../formats/config.js').Config} Config */
/** @typedef {import('../engine/engine.js').Tensor} Tensor */
/** @typedef {import('../engine/session.js').EngineSession} EngineSession */
/** @typedef {ArrayLike<number>} Ids */
/**
 * @typedef {object} Hooks
 * @property {AbortSignal} [signal]
 * @property {(p: Progress) => void} [onProgress]
 * @property {typeof globalThis.fetch} [fetch]
 * @property {(line: MessagePort) => void} [watch] load and create: receives the line of each helper thread, see
 *   threads.js
 * @property {string} [helper]  address of the worker's file, which helper threads run too
 * @property {Promise<WebAssembly.Module>} [engine]  load and create: the compiled binary
 */
/**
 * @typedef {{phase: 'download'|'compile'|'load', loaded: number, total: number | null, fromCache: boolean}} Progress
 *   bytes
 */

/** Standard deviation of random weights, as in GPT-2. */
const FRESH_STD = 0.02;

export class LoadedModel {
  /** @type {import('./session_table.js').SessionTable | null} */
  #sessions = null;
  /** @type {import('../inspect/capture.js').Points | null} */
  #points = null;
  /** @type {Map<number, string>} */
  #texts = new Map();

  /**
   * @param {Engine} engine  with a sealed model
   * @param {import('../formats/source.js').Checkpoint | null} checkpoint
   * @param {Tokenizer | null} tokenizer
   * @param {Record<string, any>} options
   * @param {string[]} warnings
   */
  constructor(engine, checkpoint, tokenizer, options, warnings) {
    this.engine = engine;
    this.config = /** @type {Config} */ (engine.config);
    this.tokenizer = tokenizer;
    this.chatTemplate = checkpoint?.chatTemplate ?? null;
    this.special = checkpoint?.special ?? { bos: null, eos: [], addBos: false };
    this.warnings = warnings;
    this.contextLength = options.contextLength ?? this.config.context_length;
    this.kvDtype = options.kvDtype;
    this.table = tableOf(engine);
    this.#open().close(); // throws now, and not at the first call, when memory for contextLength is missing
  }

  /**
   * @param {any} source
   * @param {Record<string, any>} options
   * @param {Hooks} hooks
   */
  static async load(source, options, { signal, onProgress, fetch, watch, helper, engine: binary }) {
    options = loadOptions(options);
    signal?.throwIfAborted();
    const report = progress(onProgress);
    const starting = start(options, report, binary);
    let downloaded = 0;
    let total = /** @type {number | null} */ (null);
    let fromCache = false;
    const request = requests(source, options, fetch);
    const isCallers = fetch !== undefined;
    fetch = request;
    if ((options.cache ?? 'none') !== 'none' || options.sha256 !== undefined) {
      fetch = await (
        await import('../download/store.js')
      ).storedFetch(
        source,
        options,
        fetch,
        () => {
          fromCache = true;
        },
        signal,
      );
    }
    const checkpoint = await openCheckpoint(source, {
      fetch,
      signal,
      hfEndpoint: options.hfEndpoint,
      trusted: !isCallers && fetch === request,
      onBytes: (loaded, all) => {
        downloaded = loaded;
        total = all ?? null;
        report('download', loaded, total, loaded === total, fromCache);
      },
    });
    /** @type {Engine | undefined} */
    let engine;
    try {
      const tokenizer = checkpoint.tokenizer && new Tokenizer(checkpoint.tokenizer);
      engine = await starting;
      const warnings = [...checkpoint.warnings];
      checkContext(options.contextLength, checkpoint.config, warnings);
      openModel(engine, switched(checkpoint.config, options.switches), checkpoint.tensors, options.dtype, warnings);
      await engine.startThreads(options.threads, watch, helper);
      const all = checkpoint.tensors.reduce((n, t) => n + t.bytes, 0);
      let placed = 0;
      await fill(engine, checkpoint, signal, (bytes) => report('load', (placed = bytes), all));
      engine.seal();
      report('download', downloaded, total ?? downloaded, true, fromCache);
      report('load', placed, all, true);
      return new LoadedModel(engine, checkpoint, tokenizer, options, warnings);
    } catch (error) {
      checkpoint.close();
      engine?.close();
      throw error;
    }
  }

  /**
   * @param {Config} config  complete and checked
   * @param {Record<string, any>} options
   * @param {Hooks} hooks
   */
  static async create(config, options, { signal, onProgress, watch, helper, engine: binary }) {
    const { seed, ...given } = options;
    const rest = loadOptions(given);
    const engine = await start(rest, progress(onProgress), binary);
    signal?.throwIfAborted();
    try {
      const dtype = rest.dtype === 'keep' ? 'f32' : rest.dtype;
      /** @type {string[]} */
      const warnings = [];
      checkContext(rest.contextLength, config, warnings);
      openModel(engine, config, null, dtype, warnings);
      await engine.startThreads(rest.threads, watch, helper);
      engine.randomize(seedOf(seed), FRESH_STD);
      return new LoadedModel(engine, null, null, rest, warnings);
    } catch (error) {
      engine.close();
      throw error;
    }
  }

  /** What the public Model holds, so that its properties need no message. */
  info() {
    return {
      config: camelConfig(this.config),
      parameters: this.table,
      backend: this.engine.backend,
      warnings: this.warnings,
      special: this.special,
      hasTokenizer: !!this.tokenizer,
      chatTemplate: this.chatTemplate,
      contextLength: this.contextLength,
    };
  }

  memory() {
    return this.engine.memoryMap();
  }

  // ---- text and ids

  /**
   * @param {string} text
   * @param {{addSpecialTokens?: boolean}} [options]
   * @returns {number[]}
   */
  encode(text, options) {
    if (!this.tokenizer) fail('no-tokenizer', 'this model came without a tokenizer: give token ids instead of text');
    return this.tokenizer.encode(text, options);
  }

  /**
   * @param {number[]} ids
   * @returns {string}
   */
  decode(ids) {
    if (!this.tokenizer) fail('no-tokenizer', 'this model came without a tokenizer: ids cannot be decoded');
    return this.tokenizer.decode(ids);
  }

  /** The vocabulary for a Tokenizer on the caller's side; null without one. */
  tokenizerText() {
    return this.tokenizer && this.tokenizer.toText();
  }

  /**
   * Text of one token alone; '' without a tokenizer.
   * @param {number} id
   */
  tokenText(id) {
    if (!this.tokenizer) return '';
    const text = this.#texts.get(id) ?? this.tokenizer.idToText(id);
    this.#texts.set(id, text);
    return text;
  }

  /**
   * A decoder for the tokens that follow a prompt; null without a tokenizer.
   * @param {number[]} prompt
   */
  decoder(prompt) {
    return this.tokenizer ? this.tokenizer.stream(prompt) : null;
  }

  /**
   * @param {string | Ids} input
   * @param {string} what  what the error message calls it
   * @param {boolean} [addSpecialTokens]
   * @returns {number[]} at least one: an empty target of an encoder-decoder becomes its bos token
   */
  ids(input, what, addSpecialTokens = true) {
    const ids =
      typeof input !== 'string'
        ? checkedIds(Array.from(input), what, this.config.vocab_size)
        : input
          ? this.encode(input, { addSpecialTokens })
          : [];
    const { bos } = this.special;
    if (!ids.length && bos !== null && addSpecialTokens && what !== 'source' && this.config.kind === 'encoder_decoder')
      return [bos];
    return ids.length ? ids : fail('empty-prompt', `the ${what} is empty: ${show(input)} has no tokens`);
  }

  /**
   * @param {ArrayLike<number> | undefined} mask
   * @param {number} n
   * @param {string} what
   */
  mask(mask, n, what) {
    if (mask === undefined || mask === null) return null;
    oneMask(mask, what);
    if (mask.length !== n) fail('bad-option', `${what} has ${mask.length} entries, the sequence has ${n} positions`);
    if (!Array.from(mask).some(Boolean)) fail('bad-option', `${what} hides every position`);
    return mask;
  }

  // ---- captures and sequences

  /** The capture points of this model. */
  async points() {
    const { Points } = await import('../inspect/capture.js');
    if (!this.#points) {
      const session = this.#open();
      try {
        this.#points = new Points(this.engine, this.config, session);
      } finally {
        session.close();
      }
    }
    return this.#points;
  }

  /** @returns {Promise<string[]>} the names that capture and edits accept */
  async pointNames() {
    return (await this.points()).names;
  }

  #open() {
    return this.engine.session(this.contextLength, this.kvDtype);
  }

  /**
   * @param {{capture?: string[], captureBudget?: number, edits?: import('../inspect/capture.js').Edit[], source?: any}}
   *   [o]
   */
  async openSequence(o = {}) {
    const sequence = new Sequence(this, this.#open());
    try {
      await sequence.observe(o);
      return sequence;
    } catch (error) {
      sequence.close();
      throw error;
    }
  }

  /**
   * @param {number} n
   * @param {string} what
   */
  fits(n, what) {
    if (n > this.contextLength) contextFull(what, n, this.contextLength);
  }

  /** @param {string} call */
  needDecoder(call) {
    if (this.config.kind === 'encoder')
      fail('unsupported', `${call}: an encoder predicts no next token; forward and embed give its hidden states`);
  }

  /**
   * @param {any} prompt  text, ids, or a list of several
   * @param {Record<string, any>} options
   * @param {import('./generate.js').Delivery} hooks
   */
  async *generate(prompt, options, hooks) {
    this.needDecoder('generate');
    const o = generateOptions(options, this.config.vocab_size);
    const many = isList(prompt);
    if (o.source !== undefined && !many) o.source = this.ids(o.source, 'source');
    const prompts = (many ? Array.from(prompt) : [prompt]).map((p) => this.ids(p, 'prompt', options.addSpecialTokens));
    if (!prompts.length) fail('empty-prompt', 'the list of prompts is empty');
    for (const p of prompts) this.fits(p.length, 'prompt');
    if (many) return yield* (await import('./batch.js')).generateMany(this, prompts, o, hooks);
    return yield* (o.beams > 1 ? (await import('./beams.js')).beamSearch : generate)(this, prompts[0], o, hooks);
  }

  /**
   * Call a function of inspect/inspect.js, which is loaded at the first such call.
   * @param {keyof typeof import('../inspect/inspect.js')} feature
   * @param {any[]} args
   * @param {Hooks} [hooks]
   */
  async inspect(feature, args, hooks = {}) {
    return /** @type {any} */ ((await import('../inspect/inspect.js'))[feature])(this, ...args, hooks);
  }

  /**
   * Call a method of the session table.
   * @param {'open'|'eval'|'rewind'|'fork'|'close'} method
   * @param {any[]} args
   * @param {Hooks} [hooks]
   */
  async session(method, args, hooks = {}) {
    // two calls may wait here: the table is created once, below
    const { SessionTable } = await import('./session_table.js');
    this.#sessions ??= new SessionTable(this);
    return /** @type {any} */ (this.#sessions)[method](...args, hooks);
  }

  dispose() {
    this.engine.close();
  }
}

/**
 * @param {Record<string, any>} o
 * @returns {Record<string, any>} checked, with older names replaced; dtype and kvDtype (in the engine's spelling) are
 *   always present
 */
function loadOptions(o) {
  const oneOf = (/** @type {string} */ name, /** @type {string[]} */ values) => {
    if (o[name] !== undefined && !values.includes(o[name]))
      fail('bad-option', `${name} is ${show(o[name])}, expected one of ${values.join(', ')}`);
  };
  for (const name of ['dtype', 'quantize']) oneOf(name, ['keep', 'f32', 'f16', 'q8_0', 'q4_0']);
  for (const name of ['kvDtype', 'kvCache']) oneOf(name, ['f32', 'f16', 'q8_0', 'q8']);
  const kv = kvDtypeOf(o.kvDtype);
  const kvCache = kvDtypeOf(o.kvCache);
  for (const [name, value, alias, other] of [
    ['dtype', o.dtype, 'quantize', o.quantize],
    ['kvDtype', kv, 'kvCache', kvCache],
  ]) {
    if (value !== undefined && other !== undefined && value !== other)
      fail(
        'bad-option',
        `${name} is ${show(o[name])} and ${alias}, its older name, is ${show(o[alias])}: give one of them`,
      );
  }
  oneOf('cache', ['none', 'cache-storage', 'opfs', 'file']);
  if (o.cacheDir !== undefined) {
    if (typeof o.cacheDir !== 'string' || !o.cacheDir)
      fail('bad-option', `cacheDir is ${show(o.cacheDir)}, expected the path of a folder`);
    if (o.cache !== 'file')
      fail('bad-option', `cacheDir is the folder of cache: 'file', but cache is ${show(o.cache ?? 'none')}`);
  }
  if (o.contextLength !== undefined) number('contextLength', o.contextLength, 1, 2 ** 31 - 1, true);
  if (o.threads !== undefined) number('threads', o.threads, 1, 64, true);
  return { ...o, dtype: o.dtype ?? o.quantize ?? 'keep', kvDtype: kv ?? kvCache ?? 'f32' };
}

/**
 * A context longer than the model's own is refused where positions are learned: the table has no rows for them. With
 * other encodings the model was not trained on such positions, which is a warning.
 * @param {number | undefined} length @param {Config} config @param {string[]} warnings  grows
 */
function checkContext(length, { context_length: own, position }, warnings) {
  if (length === undefined || length <= own) return;
  if (position === 'learned')
    fail('bad-argument', `contextLength is ${length}, but this model has learned positions for ${own}`);
  warnings.push(
    `contextLength is ${length}, the model was made for ${own} positions: its output beyond them may be poor`,
  );
}

/**
 * Blocks of 32 in eight bits are 'q8_0' wherever they are stored; 'q8' is the older name and the engine's.
 * @param {unknown} value
 */
const kvDtypeOf = (value) => (value === 'q8_0' ? 'q8' : value);

/**
 * @param {Record<string, any>} options
 * @param {ReturnType<typeof progress>} report
 * @param {Promise<WebAssembly.Module> | undefined} binary
 * @returns {Promise<Engine>}
 */
function start({ threads }, report, binary) {
  const engine = /** @type {Promise<WebAssembly.Module>} */ (binary).then((module) => Engine.start(module, threads));
  // the caller awaits the same promise and reports the failure
  engine.then(() => report('compile', 1, 1, true)).catch(() => {});
  return engine;
}

/**
 * Report progress at most every 50 ms for each phase.
 * @param {Hooks['onProgress']} onProgress
 */
function progress(onProgress) {
  /** @type {Record<string, number>} */
  const last = {};
  return (
    /** @type {Progress['phase']} */ phase,
    /** @type {number} */ loaded,
    /** @type {number | null} */ total,
    now = false,
    fromCache = false,
  ) => {
    const time = performance.now();
    if (!onProgress || (!now && time - (last[phase] ?? -Infinity) < 50)) return;
    last[phase] = time;
    onProgress({ phase, loaded, total, fromCache });
  };
}

/**
 * Reserve the model's memory.
 * @param {Engine} engine
 * @param {Config} config
 * @param {import('../formats/plan.js').TensorSource[] | null} tensors
 * @param {string} quantize
 * @param {string[]} warnings  grows
 */
function openModel(engine, config, tensors, quantize, warnings) {
  /** @type {Map<string, string>} */
  const stored = new Map();
  for (const t of tensors ?? []) for (const name of t.covers) stored.set(name, t.dtype);
  const list = engine.roster(config);
  const wanted = list.map((t) => {
    if (t.shape.length === 1 || t.component === 'position') return 'f32';
    return quantize === 'keep' ? (stored.get((t.tiedTo < 0 ? t : list[t.tiedTo]).name) ?? 'f32') : quantize;
  });
  engine.open(config, wanted);
  const changed = engine.tensors().filter((t, i) => t.dtype !== wanted[i]);
  if (changed.length) {
    const [t] = changed;
    warnings.push(
      `${t.name}${changed.length > 1 ? ` and ${changed.length - 1} more weights are` : ' is'} kept as ${t.dtype} instead of ${wanted[list.findIndex((w) => w.name === t.name)]}`,
    );
  }
}

/**
 * Stream the checkpoint's tensors to their final place.
 * @param {Engine} engine
 * @param {import('../formats/source.js').Checkpoint} checkpoint
 * @param {AbortSignal | undefined} signal
 * @param {(bytes: number) => void} onBytes
 */
async function fill(engine, checkpoint, signal, onBytes) {
  const place = new Map(engine.roster(engine.config).map((t, i) => [t.name, i]));
  const yielder = new Yielder(signal);
  /** @type {ReturnType<Engine['tensor']> | null} */
  let tensor = null;
  let name = '';
  let bytes = 0;
  const named = (/** @type {() => void} */ step) => {
    try {
      step();
    } catch (error) {
      if (error instanceof GlassformerError && !error.message.includes(name))
        error.message = `${name}: ${error.message}`;
      throw error;
    }
  };
  await checkpoint.stream({
    begin(/** @type {import('../formats/plan.js').TensorSource} */ t) {
      name = t.name;
      const first = place.get(t.covers[0]);
      if (first === undefined) tensor = null;
      else
        named(() => {
          tensor = engine.tensor(first, t.covers.length, t.dtype, t.layout);
        });
    },
    write(/** @type {Uint8Array} */ view) {
      if (tensor) named(() => /** @type {any} */ (tensor).write(view));
      onBytes((bytes += view.length));
      return yielder.yieldIfDue();
    },
    end() {
      if (tensor) named(() => /** @type {any} */ (tensor).end());
      tensor = null;
    },
  });
}

/**
 * @typedef {object} Placed
 * @property {number} address      where it begins in linear memory
 * @property {number} memoryBytes  its share of what is reserved: rows padded to 16, scales of quantised types in f32
 */
/**
 * @typedef
 *   {Omit<import('../formats/roster.js').ParameterTable, 'rows'> & {rows: (import('../formats/roster.js').ParameterRow & Placed)[]}}
 *   LoadedTable
 */

/**
 * The parameter table of the loaded model, compared with the engine's own list.
 * @param {Engine} engine
 * @returns {LoadedTable}
 */
function tableOf(engine) {
  const tensors = engine.tensors();
  const dtype = new Map(tensors.map((t) => [t.name, t.dtype]));
  const table = parameterTable(/** @type {Config} */ (engine.config), ({ name }) => dtype.get(name) ?? 'f32');
  const differs =
    tensors.length !== table.rows.length ||
    tensors.some((t, i) => t.name !== table.rows[i].name || t.count !== table.rows[i].count);
  if (differs || engine.countParameters(engine.config) !== table.total)
    fail(
      'bad-state',
      'the engine and the table count different parameters: the WebAssembly file and the package are of different versions',
    );
  return {
    ...table,
    rows: table.rows.map((row, i) => ({
      ...row,
      address: tensors[i].address,
      memoryBytes: row.count && tensors[i].bytes,
    })),
  };
}
