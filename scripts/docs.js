// docs.js - generates docs/api.md from the JSDoc with TypeDoc and its markdown plugin
//
//   node scripts/docs.js [--check]     --check: write nothing, exit with status 1 when docs/api.md differs
//
// TypeDoc needs the JavaScript API of TypeScript, which version 7 does not have. Therefore TypeDoc and an older
// TypeScript are installed into build/typedoc, with the versions below, and are not development dependencies. TypeDoc
// reads build/types/lib, which `./build.sh package` writes.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('..', import.meta.url)),
  folder = join(top, 'build/typedoc');
const VERSIONS = { typedoc: '0.28.20', 'typedoc-plugin-markdown': '4.14.1', typescript: '5.9.3' };
const page = join(top, 'docs/api.md');

/** Other entries of the package: their modules, and a sentence about each. @type {Record<string, [file: string, does: string]>} */
const ENTRIES = {
  elements: [
    'apps/elements/elements',
    'Custom elements that draw a model, or plain data: [elements](../guide.md#elements).',
  ],
  openai: [
    'apps/clients/openai',
    "OpenAI's interface on a loaded model: [other libraries](../guide.md#other-libraries).",
  ],
  'ai-sdk': ['apps/clients/ai_sdk', 'Models for the AI SDK: [other libraries](../guide.md#other-libraries).'],
  react: ['apps/clients/react', 'Hooks of React: [recipe](../recipes/react.md).'],
  vue: ['apps/clients/vue', 'Functions for components of Vue: [recipe](../recipes/vue.md).'],
  labs: ['apps/labs/labs', 'Replications of published findings: [labs](../labs.md).'],
};

/**
 * Types that appear in signatures of public calls and that index.js does not export, by module.
 * @type {Record<string, string>}
 */
const FURTHER = {
  'api/call_types':
    'Message MessageCall Tool ToolCall WritingOptions ChatOnly ChatExtras Completion ReadOptions PairOptions ' +
    'EmbedExtras ClassifyExtras Classified DistributionOptions DistributionExtras LensExtras LossExtras ' +
    'AttributionExtras ExplainExtras SessionOptions',
  'api/estimate': 'EstimateOptions',
  'run/inspect/attribution': 'Part',
  'run/inspect/classify': 'Labelled',
  'run/inspect/edits': 'EditValues',
  'train/dictionaries/active_features': 'FeatureContext',
  'train/dictionaries/dictionary_report': 'Reconstruction',
  'train/lora_options': 'LoraOptions',
  'run/explain/explain': 'Term',
  'run/weight_table': 'Placement LoadedRow',
  'text/text_stream': 'TextStream',
  'files/opened_files': 'OpenOptions',
  'engine/config/sampler_fields': 'SamplingOptions',
  'engine/config/weight_roster': 'Component',
  'files/huggingface/weight_names': 'NameInFile Rename',
  'engine/config/config_input':
    'OwnConfig OwnConfigCamel HfConfig HfFields HfNumber HfFlag HfWord ModelType Fields TrainConfig',
};

const INTRODUCTION = `# API reference

\`./build.sh docs\` generates this file from the comments in \`web/lib\`. Every example runs in \`tests/node/examples.test.js\`.

The examples import the calls that they use from \`'glassformer'\`. Where an example uses \`model\` without creating it, it
begins with \`const model = await load('stories-1m.gguf')\`; the file is \`weights/stories-1m.gguf\` of the package. A
\`Tensor\` is \`{ data: Float32Array, shape: number[] }\`, row-major, and is the caller's own copy; \`JSON.stringify\` writes
its data as a list, in which infinities are null. An unknown option is refused with the code \`bad-option\`, and the
message names the option.

`;

/**
 * Copies build/types/lib and writes entry.ts, the module that TypeDoc reads. In the copy, a type that only renames a type of
 * another module is a re-export: TypeDoc would list it as an empty alias. Typed arrays have their short names.
 */
function copyTypes() {
  const from = join(top, 'build/types/lib'),
    to = join(folder, 'types');
  rmSync(to, { recursive: true, force: true });
  for (const name of readdirSync(from, { recursive: true })
    .map(String)
    .filter((each) => each.endsWith('.d.ts'))) {
    const text = readFileSync(join(from, name), 'utf8')
      .replace(/ReturnType<(\w+Array)Constructor\['of'\]>/g, '$1')
      .replace(
        /^export type (\w+) = import\((['"])(\.[^'"]+)\2\)\.(\w+);$/gm,
        (_, own, __, path, theirs) => `import type { ${theirs} as ${own} } from '${path}';\nexport type { ${own} };`,
      );
    mkdirSync(dirname(join(to, name)), { recursive: true });
    writeFileSync(join(to, name), text);
  }
  const lines = Object.entries(FURTHER).map(
    ([file, names]) =>
      `export ${file === 'text/text_stream' ? '' : 'type '}{ ${names.split(' ').join(', ')} } from './types/${file}.js';`,
  );
  writeFileSync(join(folder, 'entry.ts'), `export * from './types/api/index.js';\n${lines.join('\n')}\n`);
}

function install() {
  const have = Object.entries(VERSIONS).every(([name, version]) => {
    const file = join(folder, 'node_modules', name, 'package.json');
    return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === version;
  });
  if (have) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'documents', private: true, dependencies: VERSIONS }, null, 1),
  );
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/**
 * Runs TypeDoc.
 * @param {string[]} entryPoints  files in its folder
 * @param {string} out  the folder that it writes
 * @param {boolean} complete  whether every type that a signature names has to be exported
 */
function runTypedoc(entryPoints, out, complete) {
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    lib: ['es2022', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  const options = {
    entryPoints,
    tsconfig: 'tsconfig.json',
    out,
    plugin: ['typedoc-plugin-markdown'],
    readme: 'none',
    name: 'glassformer',
    logLevel: 'Warn',
    outputFileStrategy: 'modules',
    entryFileName: 'api.md',
    hidePageHeader: true,
    hidePageTitle: true,
    hideBreadcrumbs: true,
    disableSources: true,
    githubPages: false,
    excludePrivate: true,
    excludeNotDocumented: true,
    excludeNotDocumentedKinds: ['Method', 'CallSignature'],
    excludeExternals: true,
    useCodeBlocks: true,
    sort: ['source-order'],
    groupOrder: ['Functions', 'Classes', 'Variables', 'Type Aliases'],
    kindSortOrder: ['Function', 'Class', 'Variable', 'TypeAlias'],
    parametersFormat: 'table',
    propertiesFormat: 'table',
    interfacePropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    tableColumnSettings: { hideSources: true },
    validation: {
      notExported: complete,
      invalidLink: complete,
      rewrittenLink: false,
      notDocumented: false,
      unusedMergeModuleWith: false,
    },
    intentionallyNotExported: ['Common'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: entryPoints }));
  writeFileSync(join(folder, 'typedoc.json'), JSON.stringify(options));
  rmSync(join(folder, out), { recursive: true, force: true });
  execFileSync(process.execPath, [join(folder, 'node_modules/typedoc/bin/typedoc')], { cwd: folder, stdio: 'inherit' });
}

/** @returns {Map<string, string>} the pages by their names in docs/ */
function generate() {
  copyTypes();
  const main = () => {
    runTypedoc(['entry.ts'], 'out', true);
    return finished(INTRODUCTION, readFileSync(join(folder, 'out/api.md'), 'utf8'));
  };
  const pages = new Map([['api.md', main()]]);
  const files = Object.entries(ENTRIES).map(([entry, [module]]) => {
    writeFileSync(join(folder, `${entry}.ts`), `export * from './types/${module}.js';\n`);
    return `${entry}.ts`;
  });
  runTypedoc(['entry.ts', ...files], 'entries', false);
  for (const [entry, [, does]] of Object.entries(ENTRIES)) {
    const introduction = `# glassformer/${entry}\n\n\`./build.sh docs\` generates this file from the comments in \`web/lib\`. ${does}\n\n`;
    pages.set(`api/${entry}.md`, finished(introduction, readFileSync(join(folder, 'entries', `${entry}.md`), 'utf8')));
  }
  return pages;
}

/**
 * A heading's address on GitHub, without the number that repeated headings get.
 * @param {string} heading
 */
const slug = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replace(/ /g, '-');

/**
 * Removes what says nothing: headings above a table or an example, type declarations of plain objects, rules between
 * sections, and returned types that the signature above has. Result and errors become a sentence each.
 * @param {string} markdown
 */
function compact(markdown) {
  return markdown
    .replace(/<a id="[\w-]+"><\/a> /g, '')
    .replace(/^#+ (?:Implements|Implementation of|Overrides|Extends)\n\n(?:[^#\n].*\n\n?)*/gm, '')
    .replace(/^#+ (?:Get Signature|Parameters|Properties|Examples?|Type Declaration)\n\n/gm, '')
    .replace(/^#+ Returns\n\n(.+)\n\n(?!#|\||\*\*\*$|```)(?=\S)/gm, 'Returns $1: ')
    .replace(/^#+ Returns\n\n(.*\]\(.*)$/gm, 'Returns $1.')
    .replace(/^#+ Returns\n\n.+\n\n/gm, '')
    .replace(/^#+ Throws\n\n/gm, 'Throws ')
    .replace(/^```ts\ntype \w+ = object;\n```\n\n/gm, '')
    .replace(/^\*\*\*\n\n/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trimEnd();
}

/** Headings of docs/api.md and their addresses, to which the pages of other entries link. @type {Map<string, string>} */
const MAIN = new Map();

/**
 * Adds a list of contents and corrects links to the addresses that GitHub gives
 * the headings: the plugin numbers repeated ones in another order.
 * @param {string} introduction @param {string} markdown
 */
function finished(introduction, markdown) {
  const body = compact(markdown);
  /** @type {Map<string, number>} */
  const seen = new Map();
  /** @type {Map<string, string>} */
  const addresses = new Map();
  /** @type {{title: string, links: string[]}[]} */
  const contents = [];
  let code = false;
  for (const line of (introduction + body).split('\n')) {
    if (line.startsWith('```')) code = !code;
    const [, marks, heading] = (!code && /^(#+) (.*)$/.exec(line)) || [];
    if (!marks) continue;
    const base = slug(heading),
      n = seen.get(base) ?? 0;
    seen.set(base, n + 1);
    if (marks.length === 2) contents.push({ title: heading, links: [] });
    if (marks.length !== 3) continue;
    addresses.set(heading, `#${base}${n ? `-${n}` : ''}`);
    contents[contents.length - 1].links.push(`[${heading}](${addresses.get(heading)})`);
  }
  const local = body.replace(
    /\[(`?)(\w+)\1\]\(entry\.md#[\w-]+\)/g,
    (_, tick, name) => `[${tick}${name}${tick}](../api.md${MAIN.get(name)})`,
  );
  if (!MAIN.size) for (const [name, address] of addresses) MAIN.set(name, address);
  const linked = local.replace(/\[(`?)(\w+)\1\]\(#[\w-]+\)/g, (_, tick, name) => {
    const address = addresses.get(name);
    if (!address) throw new Error(`docs/api.md: a link to ${name}, which has no heading`);
    return `[${tick}${name}${tick}](${address})`;
  });
  const list = contents.map(({ title, links }) => `- **${title}**: ${links.join(', ')}`).join('\n');
  return `${introduction}${list}\n\n${linked}\n`;
}

install();
const check = process.argv.includes('--check');
for (const [name, text] of generate()) {
  const file = join(dirname(page), name);
  if (!check) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    console.log(`docs/${name}: ${text.split('\n').length} lines`);
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`docs/${name} is not up to date with the JSDoc: run ./build.sh docs`);
    process.exitCode = 1;
  }
}
