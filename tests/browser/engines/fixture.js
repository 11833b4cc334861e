// fixture.js - servers for tests in every engine: the library in an empty page (index.html in this folder), and the
// built page
import { fileURLToPath } from 'node:url';
import { serve } from '../../../scripts/serve.js';

export const top = fileURLToPath(new URL('../../..', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));

/**
 * Serves the package, the weights, and a page with window.library and window.programme.
 * @param {boolean} isolate
 */
export function serveLibrary(isolate) {
  return serve(here, {
    isolate,
    also: { '/dist/': `${top}dist`, '/weights/': `${top}weights` },
    head: '<script src="/complaints.js"></script>',
  });
}

/**
 * Serves the built page in a folder.
 * @param {boolean} isolate
 */
export function servePage(isolate) {
  return serve(`${top}site`, {
    base: '/some/folder/',
    isolate,
    also: { '/engines/': here },
    head: '<script src="/engines/complaints.js"></script>',
  });
}
