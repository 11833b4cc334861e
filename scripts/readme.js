// readme.js - generates the bundler table of the README from the fixtures of tests/bundlers
//
//   node scripts/readme.js [--check]     --check: write nothing, exit with status 1 when the table differs
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fixtures } from '../tests/bundlers/fixtures.js';

const file = fileURLToPath(new URL('../README.md', import.meta.url));
const [BEGIN, END] = ['<!-- bundlers: node scripts/readme.js -->\n', '<!-- /bundlers -->'];
const HOW = { file: 'files followed', shim: 'files, from their origin', copy: 'embedded copy' };

/**
 * How one run gets the package's files, as the table words it.
 * @param {import('../tests/bundlers/suite.js').Run} run
 */
function how({ workers = 'file', binaries, program, api, passes }) {
  if (passes || (program && workers === 'file') || api) return 'works';
  const scripts = HOW[workers];
  return binaries && HOW[binaries] !== scripts ? `workers: ${scripts}; binaries: ${HOW[binaries]}` : scripts;
}

/** @returns {string} */
export function table() {
  const rows = fixtures.map(({ name, version, packages = [], runs }) => {
    /** @type {Map<string, string[]>} */
    const modes = new Map();
    for (const run of runs) modes.set(how(run), [...(modes.get(how(run)) ?? []), run.mode]);
    const results = [...modes].map(([result, list]) =>
      modes.size > 1 ? `${list.map((mode) => mode.replace(', ', ' ')).join(', ')}: ${result}` : result,
    );
    const release = version ?? packages[0]?.replace(/^.+@/, '') ?? '';
    const all = runs.map((run) => run.mode.replace(', ', ' ')).join(', ');
    return `| ${name} | ${release} | ${all} | ${results.join('; ')} |`;
  });
  return `| fixture | version | modes | the package's files |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

/**
 * @param {string} readme
 * @returns {string} the same text with the table of the fixtures
 */
export function withTable(readme) {
  const [before, rest] = readme.split(BEGIN),
    [, after] = rest?.split(END) ?? [];
  if (after === undefined) throw new Error(`README.md has no ${BEGIN.trim()} ... ${END}`);
  return `${before}${BEGIN}\n${table()}\n${END}${after}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const old = readFileSync(file, 'utf8'),
    text = withTable(old);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (text !== old) {
    console.error('The bundler table of the README is out of date: run node scripts/readme.js');
    process.exitCode = 1;
  }
}
