// table.js - generates the table in docs/bundlers.md from the fixtures of this folder
//
//   node tests/bundlers/table.js     writes the table; documents.test.js compares it
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fixtures } from './fixtures.js';

const file = fileURLToPath(new URL('../../docs/bundlers.md', import.meta.url));
const [BEGIN, END] = ['<!-- fixtures: node tests/bundlers/table.js -->\n', '<!-- /fixtures -->'];
const HOW = { file: 'files followed', shim: 'files, from their origin', copy: 'embedded copy' };

/**
 * How one run gets the package's files, as the table words it.
 * @param {import('./suite.js').Run} run
 */
function how({ workers = 'file', binaries, program, api, passes, story, slides }) {
  if (passes || story || slides || (program && workers === 'file') || api) return 'works';
  const scripts = HOW[workers];
  return binaries && HOW[binaries] !== scripts ? `workers: ${scripts}; binaries: ${HOW[binaries]}` : scripts;
}

/** @returns {string} a row for each way in which a fixture gets the files, with the modes that get them so */
function table() {
  const rows = fixtures.flatMap(({ name, version, packages = [], runs }) => {
    /** @type {Map<string, string[]>} */
    const modes = new Map();
    for (const run of runs) modes.set(how(run), [...(modes.get(how(run)) ?? []), run.mode.replace(', ', ' ')]);
    const release = version ?? packages[0]?.replace(/^.+@/, '') ?? '';
    return [...modes].map(([result, list]) => `| ${name} | ${release} | ${list.join(', ')} | ${result} |`);
  });
  return `| fixture | version | modes | the package's files |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

/**
 * @param {string} document
 * @returns {string} the same text with the table of the fixtures
 */
export function withTable(document) {
  const [before, rest] = document.split(BEGIN),
    [, after] = rest?.split(END) ?? [];
  if (after === undefined) throw new Error(`docs/bundlers.md has no ${BEGIN.trim()} ... ${END}`);
  return `${before}${BEGIN}\n${table()}\n${END}${after}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(file, withTable(readFileSync(file, 'utf8')));
