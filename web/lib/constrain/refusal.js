// refusal.js - why a schema is refused: thrown where it is found, and completed with the place in the schema
import { fail } from '../base/errors.js';

/** What is wrong with a part of a schema. Its message names no place. */
class Refusal extends Error {
  /** The place below the part that is compiled. */
  below = '';

  /**
   * @param {string} code
   * @param {string} why
   * @param {unknown} [cause]
   */
  constructor(code, why, cause) {
    super(why, { cause });
    this.code = code;
  }
}

/**
 * @param {string} code
 * @param {string} why
 * @param {unknown} [cause]
 * @returns {never}
 */
export function refuse(code, why, cause) {
  throw new Refusal(code, why, cause);
}

/**
 * Work on a part below another one.
 * @template T
 * @param {string} path  from that one
 * @param {() => T} work
 */
export function below(path, work) {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) error.below = path + error.below;
    throw error;
  }
}

/**
 * Work on a part of a schema; what is refused gets its place.
 * @template T
 * @param {string} at
 * @param {() => T} work
 */
export function placed(at, work) {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return fail(error.code, `json: ${at}${error.below}: ${error.message}`, error.cause);
  }
}
