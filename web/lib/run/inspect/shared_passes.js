// shared_passes.js - runs an encoder over many inputs, of which short ones share a pass over the weights
/** @import { Sequence } from '../sequence.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Yielder } from '../../base/event_loop.js' */
/**
 * What the encoder reads of an input.
 * @typedef {object} PassSource
 * @property {number[]} ids
 * @property {ArrayLike<number> | null} mask  null: nothing is hidden
 * @property {ArrayLike<number> | null} types  null: all 0
 */

/** Chunks of the engine in a pass. With two, f32 weights take 7 % less time than with one; more gain nothing. */
const CHUNKS = 2;

/**
 * Encodes n inputs, and calls `read` after each pass.
 * @template {PassSource} S
 * @param {LoadedModel} model
 * @param {number} n
 * @param {(i: number) => S} sourceOf
 * @param {Yielder} yielder
 * @param {(sequence: Sequence, sources: S[]) => Promise<void>} read  gets the inputs of the pass, in their order
 */
export async function encodeInPasses(model, n, sourceOf, yielder, read) {
  const { chunk } = model.engine.schema;
  const sequence = await model.openSequence();
  try {
    /** @type {S[]} */
    let pass = [];
    let tokens = 0;
    const run = async () => {
      encodeTogether(sequence, pass);
      await read(sequence, pass);
      [pass, tokens] = [[], 0];
    };
    for (let i = 0; i < n; i++) {
      await yielder.yieldIfDue();
      const source = sourceOf(i);
      const full = pass.length === chunk || tokens + source.ids.length > CHUNKS * chunk;
      if (pass.length && full) await run();
      pass.push(source);
      tokens += source.ids.length;
    }
    if (pass.length) await run();
  } finally {
    sequence.close();
  }
}

/**
 * One pass over several inputs.
 * @param {Sequence} sequence
 * @param {PassSource[]} sources
 */
function encodeTogether({ session }, sources) {
  /** Null where no input has any. @param {'mask' | 'types'} name @param {number} absent  of inputs without */
  const joined = (name, absent) =>
    sources.some((s) => s[name]) ? sources.flatMap((s) => Array.from(s[name] ?? s.ids.map(() => absent))) : null;
  const ids = sources.flatMap((s) => s.ids);
  const lengths = sources.map((s) => s.ids.length);
  session.encode(ids, joined('mask', 1), joined('types', 0), lengths);
}
