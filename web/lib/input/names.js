// names.js - the option `names` of load where it is a function
import { GlassformerError, fail, messageOf, show } from '../base/errors.js';

/**
 * The caller's function for a list of names; its answers are checked and copied. What it throws becomes a `callback`
 * error.
 * @param {(name: string) => unknown} names
 * @returns {(list: string[]) => Promise<(string | {name: string, transposed?: boolean} | null)[]>}
 */
export const checkedRename = (names) => async (list) =>
  list.map((name) => {
    try {
      return checked(names(name), name);
    } catch (error) {
      if (error instanceof GlassformerError) throw error;
      return fail('callback', `names threw for ${show(name)}: ${messageOf(error)}`, error);
    }
  });

/**
 * @param {unknown} value
 * @param {string} name
 */
function checked(value, name) {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' && value) return value;
  const { name: file, transposed } = /** @type {any} */ (typeof value === 'object' ? value : {});
  if (typeof file === 'string' && file && (transposed === undefined || typeof transposed === 'boolean'))
    return { name: file, transposed };
  return fail(
    'bad-option',
    `names: ${show(name)} became ${show(value)}, expected the name of a tensor, { name, transposed } or null`,
  );
}
