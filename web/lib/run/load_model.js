// load_model.js - loads a checkpoint into an engine, or creates a model with random weights
//
// It runs beside the engine: in the worker, or in the caller's thread when there is no worker.
import { Engine } from '../engine/engine.js';
import { warmUp } from '../engine/warm_up.js';
import { LoadedModel } from './loaded_model.js';
import { defaultKvDtype } from './kv_cache_type.js';
import { BLOCKS } from '../base/dtype_names.js';
import { Yielder } from '../base/event_loop.js';
import { applySwitches, drawnSeed } from './generation_options.js';
import { fail, GlassformerError } from '../base/errors.js';
import { openCheckpoint } from '../files/source.js';
import { loadFetch } from '../files/transfer/requests.js';
import { transferRate } from '../files/transfer/transfer_rate.js';
import { Tokenizer } from '../text/tokenizer.js';

/** @import { TensorSource } from '../engine/config/tensor_plan.js' */
/** @import { Config } from '../engine/config/config.js' */
/** @import { Hooks } from './calls.js' */

/**
 * Progress of a load. loaded and total are bytes; in the phase compile they are 1 when the binary is compiled.
 * @typedef {object} Progress
 * @property {'download'|'compile'|'load'} phase
 * @property {number} loaded
 * @property {number | null} total  null where it is unknown
 * @property {boolean} fromCache
 * @property {number | null} bytesPerSecond  over the last seconds; null before there is one, and in the phase compile
 * @property {number | null} secondsLeft  rest of the phase at this rate; null without a rate or a total
 */

/** Standard deviation of random weights, as in GPT-2. */
const INITIAL_STD = 0.02;

/**
 * Loads a checkpoint into a new engine.
 * @param {any} source  a source that api/input/load_options.js has checked
 * @param {Record<string, any>} options
 * @param {Hooks} hooks
 */
export async function loadModel(source, options, hooks) {
  options = { dtype: 'keep', ...options };
  const { signal } = hooks;
  signal?.throwIfAborted();
  const { fetch, downloads } = await requests(source, options, hooks);
  for (let first; ;) {
    try {
      const model = await loadOnce(source, options, hooks, fetch, downloads);
      await downloads?.accept(model.warnings);
      return model;
    } catch (/** @type {any} */ error) {
      if (!(await downloads?.refuse(error, signal))) throw first && error?.code === 'network' ? first : error;
      first ??= error; // the cache had wrong bytes: without them
    }
  }
}

/**
 * The fetch of a load; its downloads where they are cached or checked.
 * @param {any} source
 * @param {Record<string, any>} options
 * @param {Hooks} hooks
 */
async function requests(source, options, { signal, fetch: given, prefetchedFetch }) {
  const fetch = loadFetch(source, options, given ?? prefetchedFetch);
  if ((options.cache ?? 'none') === 'none' && options.sha256 === undefined) return { fetch, downloads: null };
  const { openDownloads } = await import('../files/transfer/cached_downloads.js');
  return { fetch, downloads: await openDownloads(source, options, fetch, signal) };
}

/**
 * Loads a checkpoint into a new engine.
 * @param {any} source
 * @param {Record<string, any>} options  checked
 * @param {Hooks} hooks
 * @param {typeof globalThis.fetch} fetch
 * @param {Awaited<ReturnType<typeof requests>>['downloads']} downloads
 */
async function loadOnce(source, options, hooks, fetch, downloads) {
  const { signal, onProgress, onHelper, helper, engine: binary } = hooks;
  const report = progressReporter(onProgress);
  const starting = startEngine(options, report, binary);
  const download = { loaded: 0, total: /** @type {number | null} */ (null), fromCache: false };
  const onHit = () => {
    download.fromCache = true;
  };
  let checkpoint = await openCheckpoint(source, {
    fetch: downloads?.fetch(onHit) ?? fetch,
    signal,
    hfEndpoint: options.hfEndpoint,
    config: options.config,
    names: options.names,
    rename: hooks.rename,
    packed: downloads?.packed(onHit),
    trusted: hooks.fetch === undefined && !downloads,
    ranges: !downloads, // a cache stores whole files, and a checksum is that of a whole file
    onBytes: (loaded, all) => {
      download.loaded = loaded;
      download.total = all ?? null;
      report('download', loaded, download.total, loaded === download.total, download.fromCache);
    },
  });
  const { warnings: known } = checkpoint;
  const before = known.length;
  /** @type {Engine | undefined} */
  let engine;
  try {
    const tokenizer = checkpoint.tokenizer && new Tokenizer(checkpoint.tokenizer);
    engine = await starting;
    if (options.adapters?.length) {
      const { withAdapters } = await import('../files/adapters/merge_adapters.js');
      checkpoint = withAdapters(checkpoint, options.adapters, options.dtype === 'keep', engine);
    }
    const warnings = [...checkpoint.warnings];
    checkContext(options.contextLength, checkpoint.config, warnings);
    const config = applySwitches(checkpoint.config, options.switches);
    const stored = openModel(engine, config, checkpoint.tensors, options, warnings);
    if (options.dtype === 'keep' && checkpoint.tensors.some((t) => t.packed || blockOf(t)[2] !== t.dtype))
      warnings.push(...(await import('./converted_types.js')).conversions(engine.tensors(), stored));
    engine.startThreads(options.threads, onHelper, helper);
    const tensorBytes = checkpoint.tensors.reduce((n, t) => n + t.bytes * (t.packed?.growth ?? 1), 0);
    let copied = 0;
    await loadTensors(engine, checkpoint, signal, (bytes) => report('load', (copied = bytes), tensorBytes));
    warnings.push(...known.slice(before)); // warnings of tensors that were read
    if (checkpoint.tensors.some(({ gain }) => gain))
      (await import('../engine/stored_gains.js')).convertGains(engine, checkpoint.tensors);
    engine.seal();
    report('download', download.loaded, download.total ?? download.loaded, true, download.fromCache);
    report('load', copied, tensorBytes, true);
    return new LoadedModel(engine, checkpoint, tokenizer, options, warnings);
  } catch (error) {
    checkpoint.close();
    engine?.close();
    throw error;
  }
}

/**
 * Creates a model with random weights in a new engine.
 * @param {Config} config  complete and checked
 * @param {Record<string, any>} options
 * @param {Hooks} hooks
 */
export async function createModel(config, options, { signal, onProgress, onHelper, helper, engine: binary }) {
  const { seed, dtype: given = 'keep', ...rest } = options;
  const engine = await startEngine(rest, progressReporter(onProgress), binary);
  signal?.throwIfAborted();
  try {
    const dtype = given === 'keep' ? 'f32' : given;
    /** @type {string[]} */
    const warnings = [];
    checkContext(rest.contextLength, config, warnings);
    openModel(engine, config, null, { dtype }, warnings);
    engine.startThreads(rest.threads, onHelper, helper);
    engine.randomize(seed ?? drawnSeed(), INITIAL_STD);
    return new LoadedModel(engine, null, null, rest, warnings);
  } catch (error) {
    engine.close();
    throw error;
  }
}

/**
 * Throws when contextLength is longer than the table of learned positions. With other positions, adds a warning: the
 * model was not trained on positions beyond its own context length.
 * @param {number | undefined} length  the option contextLength
 * @param {Config} config
 * @param {string[]} warnings  appended to
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
 * Start an engine when its binary is compiled.
 * @param {Record<string, any>} options
 * @param {ReturnType<typeof progressReporter>} report
 * @param {Promise<WebAssembly.Module> | undefined} binary
 * @returns {Promise<Engine>}
 */
function startEngine({ threads }, report, binary) {
  const engine = /** @type {Promise<WebAssembly.Module>} */ (binary).then((module) => Engine.start(module, threads));
  // The caller awaits the same promise and reports its failure.
  engine.then(() => report('compile', 1, 1, true)).catch(() => {});
  return engine;
}

/**
 * A function that calls onProgress, at most every 50 ms for each phase.
 * @param {Hooks['onProgress']} onProgress
 */
function progressReporter(onProgress) {
  /** @type {Record<string, number>} */
  const last = {};
  /** @type {Record<string, ReturnType<typeof transferRate>>} */
  const rates = {};
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
    const bytesPerSecond = phase === 'compile' ? null : (rates[phase] ??= transferRate())(loaded, time);
    const secondsLeft = total !== null && bytesPerSecond ? Math.max(0, total - loaded) / bytesPerSecond : null;
    onProgress({ phase, loaded, total, fromCache, bytesPerSecond, secondsLeft });
  };
}

/**
 * Reserve the model's memory. Routers of experts are not quantised, because rounding would change which experts they
 * choose. Adds a warning when a weight cannot have the requested dtype.
 * @param {Engine} engine
 * @param {Config} config
 * @param {TensorSource[] | null} tensors  of the checkpoint
 * @param {Record<string, any>} options  dtype: of the matrices; keep: as stored
 * @param {string[]} warnings  appended to
 * @returns {Map<string, TensorSource>} tensors by name of the weight
 */
function openModel(engine, config, tensors, { dtype, kvDtype }, warnings) {
  /** @type {Map<string, TensorSource>} */
  const stored = new Map();
  for (const t of tensors ?? []) for (const name of t.covers) stored.set(name, t);
  const list = engine.roster(config);
  const wanted = list.map((t) => {
    if (t.shape.length === 1 || t.component === 'position' || t.name === 'token_type.weight') return 'f32';
    const isRouter = /\.(router|shared_gate)\.weight$/.test(t.name);
    if (dtype !== 'keep') return isRouter ? 'f32' : dtype;
    const [, , kept] = blockOf(stored.get((t.tiedTo < 0 ? t : list[t.tiedTo]).name));
    return isRouter && BLOCKS[kept][0] > 1 ? 'f32' : kept;
  });
  if (tensors) warmUp(engine, config, list, wanted, kvDtype ?? defaultKvDtype(wanted));
  engine.open(config, wanted);
  const opened = engine.tensors();
  const changed = opened.filter((t, i) => t.dtype !== wanted[i]);
  if (changed.length) {
    const [t] = changed;
    const names = `${t.name}${changed.length > 1 ? ` and ${changed.length - 1} more weights are` : ' is'}`;
    const requested = wanted[list.findIndex((w) => w.name === t.name)];
    warnings.push(`${names} kept as ${t.dtype} instead of ${requested}`);
  }
  return stored;
}

/** A row of BLOCKS for the type that a tensor has in its file. @param {TensorSource | undefined} t */
const blockOf = (t) => t?.packed?.block ?? BLOCKS[t?.dtype ?? 'f32'];

/**
 * Copy the checkpoint's tensors into the engine while they arrive.
 * @param {Engine} engine
 * @param {import('../files/source.js').Checkpoint} checkpoint
 * @param {AbortSignal | undefined} signal
 * @param {(bytes: number) => void} onBytes
 */
async function loadTensors(engine, checkpoint, signal, onBytes) {
  const place = new Map(engine.roster(engine.config).map((t, i) => [t.name, i]));
  const yielder = new Yielder(signal);
  /** @type {ReturnType<Engine['receiveTensor']> | null} */
  let tensor = null;
  let name = '';
  let bytes = 0;
  const withTensorName = (/** @type {() => void} */ step) => {
    try {
      step();
    } catch (error) {
      if (error instanceof GlassformerError && !error.message.includes(name))
        error.message = `${name}: ${error.message}`;
      throw error;
    }
  };
  await checkpoint.stream({
    begin(/** @type {TensorSource} */ t) {
      name = t.name;
      const first = place.get(t.covers[0]);
      if (first === undefined) tensor = null;
      else
        withTensorName(() => {
          tensor = engine.receiveTensor(first, t.covers.length, t.dtype, t.layout);
        });
    },
    write(/** @type {Uint8Array} */ view) {
      if (tensor) withTensorName(() => /** @type {any} */ (tensor).write(view));
      onBytes((bytes += view.length));
      return yielder.yieldIfDue();
    },
    end() {
      if (tensor) withTensorName(() => /** @type {any} */ (tensor).end());
      tensor = null;
    },
  });
}
