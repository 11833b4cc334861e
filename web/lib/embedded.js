// embedded.js - the worker and the WebAssembly binaries as text, for hosts where the package's files are missing
//
// The build of the package (scripts/package.js) replaces this file. The source tree embeds nothing.

/** @type {import('./files.js').Embedded | null} */
export const embedded = null;
