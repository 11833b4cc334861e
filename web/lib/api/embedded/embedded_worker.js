// embedded_worker.js - the text of the engine's worker, for hosts where the package's files are missing
//
// The build of the package (scripts/package.js) replaces this file. The source tree embeds nothing. Each copy is a file
// of its own, smaller than the 244 KiB from which webpack warns.

/** @type {import('../package_files.js').Embedded | null} */
export const embedded = null;
