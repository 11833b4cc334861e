// inspect.js - the calls that read the inside of a model, loaded together at the first of them; the largest ones later
export { attribution } from './attribution.js';
export { distribution } from './distribution.js';
export { forward } from './forward.js';
export { loss } from './loss.js';
export { logitLens } from './logit_lens.js';
export { trace } from './trace.js';
export { weight } from './weight.js';

/** @param {Parameters<typeof import('../explain/explain.js').explain>} args */
export const explain = async (...args) => (await import('../explain/explain.js')).explain(...args);

/** @param {Parameters<typeof import('./classify.js').classify>} args */
export const classify = async (...args) => (await import('./classify.js')).classify(...args);

/** @param {Parameters<typeof import('./embed.js').embed>} args */
export const embed = async (...args) => (await import('./embed.js')).embed(...args);
