// workflows.test.js - the files in .github are valid for GitHub: workflows and the action by GitHub's own parser, issue
// forms by the documented rules of their elements. Commands of workflows exist.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { parse } from 'yaml';
import { temporaryFolder } from '../temporary.js';

const top = fileURLToPath(new URL('../..', import.meta.url)),
  folder = join(top, '.github');
const temporary = temporaryFolder('workflows');
const read = (file) => readFileSync(join(folder, file), 'utf8');
const workflows = readdirSync(join(folder, 'workflows')).map((name) => `workflows/${name}`);
const ACTION = 'actions/toolchain/action.yml';
/** @type {(file: string, content: string) => Promise<string[]>} what GitHub's parser says about a file */
let errorsOf;

before(async () => {
  // bundled, because the parser imports its schemas in a form that Node refuses
  const outfile = join(temporary, 'parser.mjs');
  await build({
    stdin: {
      contents: `
        export * from '@actions/workflow-parser';
        export { parseAction } from '@actions/workflow-parser/actions/action-parser';`,
      resolveDir: top,
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    outfile,
  });
  const parser = await import(pathToFileURL(outfile).href);
  errorsOf = async (name, content) => {
    const trace = new parser.NoOperationTraceWriter();
    if (name === ACTION) return parser.parseAction({ name, content }, trace).context.errors.getErrors().map(String);
    const { context, value } = parser.parseWorkflow({ name, content }, trace);
    if (value) await parser.convertWorkflowTemplate(context, value);
    return context.errors.getErrors().map(String);
  };
});
test('workflows and the action have no error', async () => {
  assert.ok(workflows.length >= 3);
  for (const file of [...workflows, ACTION]) assert.deepEqual(await errorsOf(file, read(file)), []);
});

test('a misspelt key and an unknown name in a workflow are found', async () => {
  const text = read('workflows/page.yml');
  for (const [right, wrong] of [
    ['permissions:', 'permisions:'],
    ['steps.deployment', 'step.deployment'],
    ['needs: build', 'needs: built'],
  ]) {
    assert.ok(text.includes(right));
    assert.notDeepEqual(await errorsOf('workflows/page.yml', text.replaceAll(right, wrong)), [], wrong);
  }
});

test('workflows call commands of build.sh and actions of this tree that exist', () => {
  const usage = execFileSync('./build.sh', ['help'], { cwd: top, encoding: 'utf8' });
  for (const file of workflows) {
    const { jobs } = parse(read(file));
    for (const { steps = [], uses } of Object.values(jobs)) {
      if (uses) assert.ok(existsSync(join(top, uses)), `${file} uses ${uses}`);
      for (const step of steps) {
        const [, command] = /^\.\/build\.sh (\w+)/.exec(step.run ?? '') ?? [];
        if (command) assert.match(usage, new RegExp(`^  ${command}\\b`, 'm'), `${file} calls build.sh ${command}`);
        if (step.uses?.startsWith('.')) assert.ok(existsSync(join(top, step.uses, 'action.yml')), step.uses);
      }
    }
  }
});

/** Keys of an issue form's elements: those that are needed, and further ones. */
const ELEMENTS = {
  markdown: [['value'], []],
  input: [['label'], ['description', 'placeholder', 'value']],
  textarea: [['label'], ['description', 'placeholder', 'value', 'render']],
  dropdown: [
    ['label', 'options'],
    ['description', 'multiple', 'default'],
  ],
  checkboxes: [['label', 'options'], ['description']],
};

test('issue forms have the keys that GitHub knows, and ids and labels once', () => {
  const forms = readdirSync(join(folder, 'ISSUE_TEMPLATE')).filter((name) => name !== 'config.yml');
  assert.ok(forms.length >= 2);
  for (const file of forms) {
    const { name, description, body, labels, ...others } = parse(read(`ISSUE_TEMPLATE/${file}`));
    assert.ok(typeof name === 'string' && typeof description === 'string' && Array.isArray(labels), file);
    assert.deepEqual(others, {}, file);
    for (const { type, id, attributes, validations = {}, ...rest } of body) {
      const [needed, optional] = ELEMENTS[type] ?? assert.fail(`${file}: there is no element ${type}`);
      for (const key of needed) assert.ok(attributes[key], `${file}, ${id}: ${key} is missing`);
      const unknown = Object.keys(attributes).filter((key) => ![...needed, ...optional].includes(key));
      assert.deepEqual({ ...rest, unknown }, { unknown: [] }, `${file}, ${id}`);
      assert.ok(type === 'markdown' || /^[\w-]+$/.test(id), `${file}: an element has no id`);
      assert.ok(Object.keys(validations).every((key) => key === 'required'));
    }
    for (const values of [body.map((e) => e.id), body.map((e) => e.attributes.label)]) {
      const given = values.filter(Boolean);
      assert.equal(new Set(given).size, given.length, `${file}: ${given}`);
    }
  }
  const { blank_issues_enabled, contact_links, ...others } = parse(read('ISSUE_TEMPLATE/config.yml'));
  assert.equal(typeof blank_issues_enabled, 'boolean');
  for (const link of contact_links) assert.deepEqual(Object.keys(link), ['name', 'url', 'about']);
  assert.deepEqual(others, {});
});
