// claims/section.js - a section of a tutorial: its claims in their order, where each is seen, a table, exercises

/** @typedef {import('./claim.js').Claim} Claim */
/** @typedef {typeof import('glassformer')} Glassformer */
/**
 * @typedef {object} Place  where claims are seen
 * @property {string} page  of the textbook, or 'compare': the panel that counts a preset without weights
 * @property {any} model    a configuration, made with random weights; the file of a shipped model; for 'compare' a preset
 *
 * @typedef {{ head: string[], rows: string[][] }} Table
 *
 * @typedef {object} Exercise
 * @property {string} text
 * @property {(g: Glassformer) => import('../views/learn/questions.js').Answer} [answer]  of a question
 * @property {{ model: any, n: number }} [ids]  so many random ids as the prompt of this model
 *
 * @typedef {object} Section
 * @property {string} title
 * @property {{ claim: Claim, place: Place }[]} claims
 * @property {(g: Glassformer) => Table} [table]
 * @property {Exercise[]} [exercises]
 */

/**
 * @param {string} page
 * @param {any} model
 * @param {...string} names  of claims, without the number of the tutorial
 */
export const seen = (page, model, ...names) => ({ place: { page, model }, names });

/**
 * What makes sections of these claims.
 * @param {Claim[]} claims  of one tutorial
 * @returns {(title: string, seen: { place: Place, names: string[] }[], more?: Pick<Section, 'table' | 'exercises'>) => Section}
 */
export const sectionsOf =
  (claims) =>
  (title, parts, more = {}) => ({
    title,
    claims: parts.flatMap(({ place, names }) =>
      names.map((name) => ({
        claim: /** @type {Claim} */ (claims.find(({ id, tutorial }) => id === `${tutorial}-${name}`)),
        place,
      })),
    ),
    ...more,
  });
