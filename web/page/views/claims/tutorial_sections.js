// tutorial_sections.js - a section of a tutorial: its claims in their order, where each is seen, a table, exercises

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
 * @property {(g: Glassformer) => import('../learn/questions.js').Answer} [answer]  of a question
 * @property {{ model: any, n: number }} [ids]  so many random ids as the prompt of this model
 *
 * @typedef {object} Section
 * @property {string} title
 * @property {{ claim: Claim, place: Place }[]} claims
 * @property {(g: Glassformer) => Table} [table]
 * @property {Exercise[]} [exercises]
 */

/** Claims that are seen in one place: what each says, by its name.
 * @param {string} page @param {any} model @param {Record<string, string>} says @param {boolean} [slow] */
export const seen = (page, model, says, slow = false) => ({ place: { page, model }, says, slow });

/**
 * What makes sections of a tutorial, whose claims are run so.
 * @param {number} tutorial
 * @param {import('./claim.js').Runs} runs
 * @returns {(title: string, parts: ReturnType<typeof seen>[], more?: Pick<Section, 'table' | 'exercises'>) => Section}
 */
export const sectionsOf = (tutorial, runs) => (title, parts, more) => ({
  title,
  claims: parts.flatMap(({ place, says, slow }) =>
    Object.entries(says).map(([name, text]) => ({
      claim: { id: `${tutorial}-${name}`, tutorial, text, slow, run: runs[name] },
      place,
    })),
  ),
  ...more,
});
