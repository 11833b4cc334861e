// result_origin.js - what identifies a result that leaves the page: package, weights, types, binary, seed, prompt, address
import { addressOf } from './address.js';

/** @typedef {import('../store/state.js').State} State */

/**
 * What identifies the present model and text.
 * @param {State} s
 */
export async function provenanceOf(s) {
  const found = await s.engine.model?.api.provenance();
  return { ...found, seed: s.sampler.seed, prompt: s.text.prompt, address: new URL(addressOf(s), location.href).href };
}

/**
 * Which program and weights gave it, in a line.
 * @param {Partial<import('glassformer').Provenance>} found
 */
export const provenanceSaid = ({ glassformer, weights, dtypes, kvDtype, backend }) =>
  [
    glassformer && `glassformer ${glassformer}`,
    weights && `SHA-256 ${weights}`,
    dtypes && Object.keys(dtypes).join(', '),
    kvDtype && `kv ${kvDtype}`,
    backend,
  ]
    .filter(Boolean)
    .join(' · ');

/**
 * A table of numbers as CSV. Its first line is a comment, which readers of numbers pass over (numpy.genfromtxt by
 * default, pandas.read_csv with comment='#').
 * @param {State} s
 * @param {string} table  CSV
 */
export async function withProvenance(s, table) {
  const { seed, prompt, address, ...found } = await provenanceOf(s);
  const line = [provenanceSaid(found), `seed ${seed}`, JSON.stringify(prompt), address].join(' · ');
  return `# ${line.replace(/\s+/g, ' ')}\n${table}`;
}
