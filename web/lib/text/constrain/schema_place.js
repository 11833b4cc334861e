// schema_place.js - the place in a schema of what is refused
import { GlassformerError } from '../../base/errors.js';

/** The places of errors; they begin with `#` where the message has them. @type {WeakMap<object, string>} */
const places = new WeakMap();

/**
 * Work on a part of a schema. The message of an error gets the place of the innermost part.
 * @template T
 * @param {string} at  from `#`, or from the part around it
 * @param {() => T} work
 */
export function inPart(at, work) {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof GlassformerError)) throw error;
    const inside = places.get(error) ?? '';
    if (inside[0] === '#') throw error;
    places.set(error, at + inside);
    if (at[0] === '#') error.message = `json: ${at}${inside}: ${error.message}`;
    throw error;
  }
}
