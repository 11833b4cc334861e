// sampler_fields.js - makes web/lib/engine/config/sampler_fields.js from the sampler's table in src/glassformer.h
import { HEADER, camel, limit, literal, rowsOf } from './c_tables.js';

export const TARGET = 'web/lib/engine/config/sampler_fields.js';

/** @returns {string} the text that the header of this tree gives */
export function text() {
  const rows = rowsOf(HEADER, 'GF_SAMPLING_FIELDS').map(([type, member, off, initial, least, most, meaning]) => ({
    name: camel(member),
    meaning: `${literal(meaning)}; default ${off}: off`,
    code: [
      `name: '${camel(member)}', member: '${member}', whole: ${type === 'int32_t'}, off: ${off}, commandLine: ${initial}`,
      `least: ${least === 'GF_ABOVE_ZERO' ? 0 : limit(least)}, aboveLeast: ${least === 'GF_ABOVE_ZERO'}`,
      `most: ${limit(most)}`,
    ].join(', '),
  }));
  return `// sampler_fields.js - the options of the sampler: values that turn them off, defaults and ranges
//
// Made from src/glassformer.h by scripts/generate.js. Do not edit it.

/**
 * @typedef {object} SamplingOptions
${rows.map(({ name, meaning }) => ` * @property {number} [${name}]  ${meaning}`).join('\n')}
 */
/**
 * An option. member: its name in C; whole: whether it is a whole number; off: the value without effect, which an absent
 * option has; commandLine: its default there; aboveLeast: whether it must be above \`least\` in single precision.
 * @typedef {{name: keyof SamplingOptions, member: string, whole: boolean, off: number, commandLine: number,
 *   least: number, aboveLeast: boolean, most: number}} SamplerField
 */

/** @type {readonly SamplerField[]} */
export const SAMPLER = [
${rows.map(({ code }) => `{ ${code} },`).join('\n')}
];
`;
}
