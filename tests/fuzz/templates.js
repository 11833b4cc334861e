// templates.js - fuzzes the interpreter of chat templates with the recorded templates, changed at random
//
//   node tests/fuzz/templates.js [--seconds N] [--cases N] [--seed N] [--case N]
//
// A case must give a text or be refused by the interpreter itself. An error of JavaScript (a TypeError, a RangeError), a
// text that is no text, two different texts, or more than the time of one rendering is a finding. The texts of the
// templates as they were recorded are those of Jinja2: tests/node/chat_templates.test.js.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { renderTemplate } from '../../web/lib/text/template/render_template.js';
import { MOST } from '../../web/lib/text/template/template_limits.js';
import { runFromCommandLine } from './command_line.js';
import { Random } from './mutate.js';

const recorded = new URL('../golden/chat/templates.json', import.meta.url);
const { variables, cases: seeds } = JSON.parse(readFileSync(recorded, 'utf8'));
/** Parts of templates, each from a bracket, a filter, an attribute or a blank on. */
const pieces = seeds.flatMap(({ template }) => template.split(/(?=[{%|(.[ ])/)).filter(({ length }) => length < 40);

/** A recorded template with up to four changes. @param {Random} r */
function changed(r) {
  let { template } = r.of(seeds);
  for (let n = r.below(4); n >= 0; n--) {
    const at = r.below(template.length + 1);
    const added = [r.of(pieces), '', template.slice(r.below(at + 1), at)][r.below(3)];
    template = template.slice(0, at) + added + template.slice(at + r.below(9));
  }
  return template;
}

/** What is wrong with a template's text or refusal. @param {string} template @returns {string | undefined} */
function finding(template) {
  const outcome = () => {
    try {
      return renderTemplate(template, variables);
    } catch (error) {
      return error;
    }
  };
  const start = performance.now();
  const [first, second] = [outcome(), /random|strftime_now/.test(template) ? null : outcome()];
  const time = performance.now() - start;
  const isRefusal = first instanceof Error && Object.getPrototypeOf(first) === Error.prototype;
  if (typeof first !== 'string' && !isRefusal) return String(/** @type {any} */ (first)?.stack ?? first);
  if (typeof first === 'string' && second !== null && second !== first) return `${first} and then ${second}`;
  return time > 4 * MOST.time ? `takes ${Math.round(time)} ms` : undefined;
}

/**
 * @param {{seed: number, first?: number, cases: number, seconds?: number}} how
 * @returns {Promise<{cases: number, why?: string}>} why: a finding, in case number `cases`
 */
export async function fuzzTemplates({ seed, first = 0, cases, seconds = Infinity }) {
  const end = performance.now() + 1000 * seconds;
  let n = first;
  for (; n < first + cases && performance.now() < end; n++) {
    const template = changed(new Random(seed, n));
    const why = finding(template);
    if (why) return { cases: n, why: `${JSON.stringify(template)}: ${why}` };
  }
  return { cases: n };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runFromCommandLine('templates', fuzzTemplates);
