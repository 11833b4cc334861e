// warm_up.js - runs a small model of the same kind before the weights arrive
//
// Browsers compile WebAssembly twice: at once and badly, then well, in other threads, the functions that have run for
// some milliseconds. The first prompt of a model of 15 million parameters takes ten times as long in the first code.
// The small model makes the second compilation begin while the weights are downloaded.
import { BLOCKS } from '../base/dtype_names.js';
import { GlassformerError } from '../base/errors.js';

/** @import { Engine } from './engine.js' */

/** Models with fewer parameters are fast enough at once. */
const LEAST = 4e6;
/** Most parameters of the small model: with more, its weights would take longer than the compilation saves. */
const MOST = 3e6;
const VOCAB = 1024;
/** Tokens of the prompt, and tokens after it. */
const PROMPT = 16;
const DECODED = 4;
/** Time after which no further prompt is run, in ms. */
const TIME_MS = 8;
const ZEROS = 1 << 16;

/**
 * Runs one layer of a decoder with zero weights. Does nothing for small models, and for those with large layers.
 * @param {Engine} engine  without a model, before and afterwards
 * @param {import('./engine.js').Config} config  of the model that will be opened
 * @param {import('./engine.js').EngineTensor[]} list  its weights
 * @param {string[]} dtypes  of each
 * @param {string} kvDtype  of the key/value cache
 */
export function warmUp(engine, config, list, dtypes, kvDtype) {
  const size = (/** @type {{count: number}[]} */ all) => all.reduce((n, { count }) => n + count, 0);
  if (config.kind !== 'decoder' || size(list) < LEAST) return;
  const dtypeOf = new Map(list.map(({ name }, i) => [name, dtypes[i]]));
  const context = Math.min(config.context_length, PROMPT + DECODED);
  const small = { ...config, n_layers: 1, vocab_size: Math.min(config.vocab_size, VOCAB), context_length: context };
  try {
    const weights = engine.roster(small);
    if (size(weights) > MOST) return;
    engine.open(
      small,
      weights.map(({ name }) => dtypeOf.get(name) ?? 'f32'),
    );
    writeZeros(engine);
    engine.seal();
    const session = engine.openSession(context, kvDtype);
    const start = performance.now();
    do {
      session.eval(new Int32Array(context - DECODED));
      for (let i = 0; i < DECODED; i++) {
        session.sample({ temperature: 0 });
        session.eval([0]);
      }
      session.rewind(0);
    } while (performance.now() - start < TIME_MS);
  } catch (error) {
    if (!(error instanceof GlassformerError)) throw error; // a trap
  } finally {
    engine.close();
  }
}

/**
 * Loads zeros into every weight of the open model.
 * @param {Engine} engine
 */
function writeZeros(engine) {
  const zeros = new Uint8Array(ZEROS);
  for (const [i, { count, dtype, tiedTo }] of engine.tensors().entries()) {
    if (tiedTo >= 0) continue;
    const [values, blockBytes] = BLOCKS[/** @type {import('../base/dtype_names.js').Dtype} */ (dtype)];
    const tensor = engine.receiveTensor(i, 1, /** @type {any} */ (dtype), 'rows');
    for (let left = (count / values) * blockBytes; left > 0; left -= ZEROS) tensor.write(zeros.subarray(0, left));
    tensor.end();
  }
}
