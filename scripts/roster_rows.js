// roster_rows.js - makes web/lib/engine/config/roster_rows.js from the tables of weights in src/model/roster.c
import { HEADER, callsOf, expression, literal, namesOf, rowsOf } from './c_tables.js';

export const TARGET = 'web/lib/engine/config/roster_rows.js';
const SOURCE = 'src/model/roster.c';
const components = new Map(rowsOf(HEADER, 'GF_COMPONENTS').map(([id, name]) => [id, literal(name)]));

/** A size in the names of the configuration: 'n_heads × d_head'. @param {string} text */
const size = (text) => `'${text.replace(/c->|at->/g, '').replace(/ \* /g, ' × ')}'`;

/** @param {string[]} texts */
const dims = (...texts) => `dims: [${texts.map(size).join(', ')}]`;

/** @param {string} id */
const component = (id) => `component: '${components.get(id)}'`;

/** The members of a row by its kind: when and name come before these arguments. @type {Record<string, (...args: string[]) => string>} */
const MEMBERS = {
  MATRIX: (rows, cols) => dims(rows, cols),
  ROWS: (rows, cols) => dims(rows, cols),
  TABLE: (rows, cols) => dims(rows, cols),
  VECTOR: (n) => dims(n),
  SLICE: (n) => dims(n),
  HEADS: (end, heads) => `end: ${end}, heads: ${size(heads)}`,
  TIED: (to) => `tiedTo: ${to}`,
  PART: (part, id) => `part: '${part}', ${component(id)}`,
  EACH: (count, part, id) => `count: ${size(count)}, part: '${part}', ${component(id)}`,
  BLOCKS: (stack, count, _, cross) =>
    `count: ${size(count)}, part: 'block', stack: '${stack.replace('GF_STACK_', '').toLowerCase()}', cross: ${cross === '1'}`,
};

/** @param {{kind: string, args: string[]}} call @returns {string} */
function row({ kind, args }) {
  if (kind === 'COMPONENT') return `{ ${component(args[0])} },`;
  if (kind === 'WIDTH') return `{ width: ${size(args[0])} },`;
  const [when, name, ...others] = args,
    condition = when === '1' ? '' : `when: (c${when.includes('at->') ? ', at' : ''}) => ${expression(when)}, `;
  return `{ ${condition}name: ${name}, ${MEMBERS[kind](...others)} },`;
}

/** @returns {string} the text that the sources of this tree give */
export function text() {
  const tables = namesOf(SOURCE, /#define (\w+)_WEIGHTS\b/g).map(
    (name) => `${name.toLowerCase()}: [\n${callsOf(SOURCE, `${name}_WEIGHTS`).map(row).join('\n')}\n],`,
  );
  return `// roster_rows.js - the tables of all weights
//
// Made from src/model/roster.c by scripts/generate.js. Do not edit it.
import { hasNorm1, isNarrow, isSparse } from './config.js';
import { isGated } from './config_fields.js';

/** @typedef {${[...components.values()].map((name) => `'${name}'`).join('|')}} Component */

/**
 * The weights of each part, in the engine's order. A row is a weight (dims, or the same for heads), another part
 * (count: as often), or what holds for the rows that follow it (component or width alone).
 * @type {Record<string, import('./weight_roster.js').Row[]>}
 */
export const ROWS = {
${tables.join('\n')}
};
`;
}
