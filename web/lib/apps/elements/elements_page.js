// elements_page.js - glassformer.iife.js: the package with everything embedded, and the elements, as one classic script
export * from '../../api/inline.js';
export * from './elements.js';
