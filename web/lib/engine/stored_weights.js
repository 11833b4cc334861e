// stored_weights.js - the memory of a model's weights as bytes, on their way from an engine to the binary that trains

/** @import { Engine } from './engine.js' */
/** @import { Instance } from './instance.js' */

/** Bytes of a weight that are copied at a time. */
const PIECE = 1 << 23;

/**
 * A piece of the memory that begins with a roster entry; empty after the last one, and where the entry is in the memory
 * of another.
 * @param {Engine} engine
 * @param {number} entry
 * @param {number} from  byte
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function savedPiece(engine, entry, from) {
  return engine.lend(PIECE, (p) => {
    const n = engine.x.gf_tensor_save(engine.model, entry, from, PIECE, p);
    return new Uint8Array(engine.memory.buffer, p, n).slice();
  });
}

/**
 * Put a piece into a model that has the same configuration and types.
 * @param {Instance} instance
 * @param {number} model  its address
 * @param {number} entry
 * @param {number} from
 * @param {Uint8Array} bytes
 */
export function restorePiece(instance, model, entry, from, bytes) {
  instance.lend(bytes.length, (p) => {
    new Uint8Array(instance.memory.buffer, p, bytes.length).set(bytes);
    instance.x.gf_tensor_restore(model, entry, from, p, bytes.length);
  });
}
