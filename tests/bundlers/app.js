// app.js - application files that several fixtures share. check.js is copied beside the package.json of every project.

/**
 * A page that loads a script; the script writes its result into <output>.
 * @param {string} script tag
 */
export const html = (script) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>app</title></head><body><output></output>${script}</body></html>\n`;

/**
 * The script of a page.
 * @param {{from?: string, check?: string, options?: string}} [how] from: the specifier of the package
 */
export const pageProgram = ({
  from = 'glassformer',
  check = './check.js',
  options = '{}',
} = {}) => `import { load, train } from '${from}';
import { checkPage } from '${check}';
checkPage({ load, train }, ${options});
`;

/**
 * The program for a runtime such as Node: its last argument is the model's address.
 * @param {{from?: string, check?: string}} [how]
 */
export const program = ({ from = 'glassformer', check = './check.js' } = {}) => `import { load, train } from '${from}';
import { check, checkThreads } from '${check}';
const library = { load, train }, model = process.argv.at(-1);
console.log('RESULT ' + JSON.stringify({ ...await check(library, model), threads: await checkThreads(library, model) }));
`;

/** A page at the root with its program beside it. */
export const page = { 'index.html': html('<script type="module" src="/main.js"></script>'), 'main.js': pageProgram() };
