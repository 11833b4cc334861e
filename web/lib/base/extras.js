// extras.js - what a call throws that needs an extra, a folder beside the core, where a build has left it out
import { GlassformerError, messageOf } from './errors.js';

/**
 * Handles the failure of the import() of an extra. A build may leave the folder out.
 * @param {string} name  of its folder
 * @returns {(error: unknown) => never}
 * @throws {GlassformerError} `not-found`; an error of the package as it is
 */
export const lacking = (name) => (error) => {
  if (error instanceof GlassformerError) throw error;
  throw new GlassformerError(
    'not-found',
    `this call needs the extra ${name}, a file of the package that could not be loaded: ${messageOf(error)}`,
    { cause: error },
  );
};
