// compile.js - compiles C to objects and links binaries: which sources, with which flags, into which file.
//
//   node scripts/compile.js [--out FOLDER] TARGET     targets: the keys of `targets` below
//   node scripts/compile.js --have TARGET             exit status 0 when all its results exist
//
// An object is compiled again when its flags, its source or the content of an included header has changed. This script
// also runs inside the Debian folder that has the compiler, so it needs nothing but Node.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';

const CC = process.env.CC || 'gcc';

const warnings = ['-std=c11', '-Wall', '-Wextra', '-Wshadow', '-Werror'];
// Sums must be equal in every binary: no fused multiply-add except where the source calls for it.
const exact = ['-ffp-contract=off', '-fno-math-errno'];
const common = [...warnings, ...exact, '-Isrc'];

/**
 * Optimisation of the files that need most of the time; the others are optimised for size (-Oz). In kernels -O3 copies
 * loops: they are 4 KB larger then, gzipped, and within 1 % as fast.
 */
const levels = {
  '-O3': ['train/adam', 'train/dictionary', 'train/gemm'],
  '-O2': ['kernels/acts', 'kernels/largest', 'kernels/matmul', 'kernels/matmul_int8', 'kernels/train_rows'],
  '-Os': ['base/angle', 'base/half', 'kernels/attend', 'kernels/int8_kind', 'kernels/rows'],
};
const levelOf = new Map(
  Object.entries(levels).flatMap(([flag, names]) => names.map((name) => [`src/${name}.c`, flag])),
);
for (const file of levelOf.keys()) if (!existsSync(file)) throw new Error(`scripts/compile.js: there is no ${file}`);
const level = (source) => [levelOf.get(source) ?? '-Oz'];

/**
 * Each variant is a binary of its own: one instruction that a browser does not support makes a module invalid. All
 * browsers with SIMD have instructions for copies and for conversions to integers that do not trap.
 */
const simd = ['-msimd128', '-mbulk-memory', '-mnontrapping-fptoint'];
const wasmVariants = { simd, relaxed: [...simd, '-mrelaxed-simd'] };

/**
 * Flags of the binaries with threads (src/base/pool.h). Their memory is shared and is imported from JavaScript. They
 * link the C library without threads, which needs no locks: only the engine's own thread calls it, helpers compute
 * tiles.
 */
const threads = {
  compile: ['-matomics'],
  link: ['-matomics', '-sIMPORTED_MEMORY=1', '-Wl,--shared-memory,--no-check-features,--export=__stack_pointer'],
};
/** A binary with one thread and one with several. */
const bothBinaries = (name, flags) => [
  { name, compile: flags, link: flags },
  { name: `${name}-threads`, compile: [...flags, ...threads.compile], link: [...flags, ...threads.link] },
];
/** The four binaries that run models. */
const wasmBinaries = () => Object.entries(wasmVariants).flatMap(([variant, flags]) => bothBinaries(variant, flags));

const wasmLink = [
  '-sSTANDALONE_WASM=1',
  '--no-entry',
  '-sALLOW_MEMORY_GROWTH=1',
  '-sINITIAL_MEMORY=1MB',
  '-sMAXIMUM_MEMORY=4GB',
  '-sMALLOC=none', // src/wasm/heap.c
  '-sFILESYSTEM=0',
  '-sSTACK_SIZE=256KB',
];
/** Passes of the linker are repeated while they make a binary smaller. */
const repeated = '-sBINARYEN_EXTRA_PASSES=--converge';

/** Link options of programs that run under Node: with Emscripten's own glue and access to files. */
const underNode = [
  '--js-library',
  'tests/native/host.js',
  '-sENVIRONMENT=node',
  '-sNODERAWFS=1',
  '-sSINGLE_FILE=1',
  '-sEXIT_RUNTIME=1',
  '-sALLOW_MEMORY_GROWTH=1',
  '-sMAXIMUM_MEMORY=4GB',
  '-sSTACK_SIZE=1MB',
];

const sanitize = [
  '-fsanitize=address,undefined,float-cast-overflow',
  '-fno-sanitize-recover=all',
  '-fno-omit-frame-pointer',
];
const thisCpu = process.arch === 'x64' ? ['-march=native'] : [];

const engine = () =>
  ['base', 'kernels', 'model', 'model/layers', 'model/session', 'model/observe'].flatMap((folder) =>
    sources(`src/${folder}`),
  );
const trainer = () =>
  ['train', 'train/text', 'train/files'].flatMap((folder) => sources(`src/${folder}`)).filter((file) => !hasMain(file));
const boundary = () => sources('src/wasm');
const programs = () => sources('src/train').filter(hasMain);
/** Whether the linker can redirect malloc to tests/native/failing_allocator.c, for all native tests and the fuzzer. */
const wraps = process.platform === 'linux';
const wrapAllocator = wraps ? ['-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc'] : [];
const failsAllocations = (file) => file.endsWith('/memory_test.c');
const tests = () =>
  sources('tests/native').filter((file) => file.endsWith('_test.c') && (wraps || !failsAllocations(file)));
/** Whether a test has the sources of the model in itself, compiled with double instead of float. */
const isInDouble = (file) => readFileSync(file, 'utf8').includes('"in_double.h"');
/** Whether a test has the calls of the trainer's binary in itself. */
const hasAbi = (file) => readFileSync(file, 'utf8').includes('train_abi.c"');
const testHelpers = () => sources('tests/native').filter((file) => !file.endsWith('_test.c') && !hasMain(file));
/**
 * Many tests as one program (tests/native/every.c), since each link takes seconds. Each test's `main` has the name of
 * its file there.
 */
const everyTest = ({ files, sources, compile, ...rest }) => {
  const names = files.map((file) => basename(file, '.c'));
  const more = (source) => {
    if (source.endsWith('_test.c')) return [`-Dmain=${basename(source, '.c')}`];
    return source.endsWith('/every.c') ? [`-DTESTS=${names.map((name) => `TEST(${name})`).join('')}`] : [];
  };
  return {
    ...rest,
    sources: [...sources, ...testHelpers(), 'tests/native/every.c', ...files],
    compile: (source) => [...compile(source), ...more(source)],
  };
};
const benches = () => sources('tests/bench');
/**
 * The program that gives the engine and the trainer wrong bytes (tests/fuzz). The native tests run a few of its cases.
 */
const fuzzer = (out = 'build/native-test/fuzz') => ({
  out,
  sources: [...engine(), ...trainer(), ...testHelpers(), ...sources('tests/fuzz')],
  cc: CC,
  compile: nativeTest,
  link: ['-pthread', ...sanitize, '-lm', ...wrapAllocator],
});
const trains = (file) => /^#include ".*\btrain(?:\/|_abi)/m.test(readFileSync(file, 'utf8'));
const nativeTest = (source) => [
  '-O1', // with sanitizers -O2 compiles three times as long for tests that run a quarter faster
  '-g',
  '-pthread',
  ...sanitize,
  ...common,
  '-Itests/native',
  ...(wraps && source.endsWith('/failing_allocator.c') ? ['-DGF_WRAP_ALLOCATOR'] : []),
];
const wasmCompile =
  (flags, defines = []) =>
  (source) => [
    ...level(source),
    '-DNDEBUG',
    ...defines,
    ...common,
    ...flags,
    ...(source.startsWith('tests/') ? ['-Itests/native'] : []),
  ];
/** Flags of the engine's code without what only training calls (src/model/layers/pass.h). */
const runs = (flags) => wasmCompile(flags, ['-DGF_INFERENCE']);
/** Flags of the four binaries that run models: without the sentences that JavaScript has (src/model/config.c). */
const shipped = (flags) => (source) => [
  ...runs(flags)(source),
  ...(source === 'src/model/config.c' ? ['-DGF_RULES_IN_JS'] : []),
];
/** How processors read the second operand of the relaxed dot product; src/kernels/simd.h emulates each natively. */
const relaxedKinds = ['signed', 'unsigned', 'saturating'];
/** Whether a source has code that depends on this product. */
const multipliesRelaxed = (source) =>
  [...withIncludes(source, ['src', 'tests/native'])].some(
    (file) => file !== 'src/kernels/simd.h' && /GF_RELAXED|_rdot\(/.test(readFileSync(file, 'utf8')),
  );
const eachVariant = (make) => Object.entries(wasmVariants).flatMap(([variant, flags]) => make(variant, flags));

/** What only tests call: reference.test.js and config.test.js. */
const onlyTests = ['test_reference_logits', 'gf_config_complete', 'gf_config_count', 'gf_config_get'];

/** Each target is a list of binaries: {out, sources, cc, compile(source), link}. */
const targets = {
  wasm: () => [
    ...wasmBinaries().map(({ name, compile, link }) => ({
      out: `web/lib/api/wasm/glassformer-${name}.wasm`,
      sources: [...engine(), ...boundary().filter((file) => !trains(file))],
      cc: 'emcc',
      compile: shipped(compile),
      link: ['-O3', repeated, ...link, ...wasmLink, exporting('exports.txt')],
    })),
    ...bothBinaries('train', wasmVariants.simd).map(({ name, compile, link }) => ({
      out: `web/lib/api/wasm/glassformer-${name}.wasm`,
      sources: [...engine(), ...trainer(), ...boundary()],
      cc: 'emcc',
      compile: wasmCompile(compile, ['-DGF_TRAINING']),
      link: ['-Oz', repeated, ...link, ...wasmLink, exporting('train_exports.txt')], // with the small functions of libc
    })),
    {
      out: 'build/scalar/glassformer-scalar.wasm', // without vector instructions: the page measures what they gain
      sources: [...engine(), ...boundary().filter((file) => !trains(file))],
      cc: 'emcc',
      compile: shipped([]),
      link: ['-O3', ...wasmLink, exporting('exports.txt')],
    },
  ],

  // src/reference with the engine.
  reference: () => [
    {
      out: 'build/reference/glassformer-reference.wasm',
      sources: [...engine(), ...boundary().filter((file) => !trains(file)), 'tests/native/reference/call.c'],
      cc: 'emcc',
      compile: runs(wasmVariants.simd),
      link: ['-O1', ...wasmVariants.simd, ...wasmLink, exporting('exports.txt', ...onlyTests)],
    },
  ],

  native: () =>
    programs().map((file) => ({
      out: `build/native/glassformer-${basename(file, '.c')}`,
      sources: [...engine(), ...trainer(), file],
      cc: CC,
      compile: () => ['-O3', '-pthread', ...thisCpu, ...common, ...(hasOpenblas() ? ['-DGF_OPENBLAS'] : [])],
      link: ['-pthread', '-lm', ...(hasOpenblas() ? ['-lopenblas'] : [])],
    })),

  'native-test': () => [
    everyTest({
      out: 'build/native-test/every',
      files: tests().filter((file) => !isInDouble(file) && !hasAbi(file)),
      sources: [...engine(), ...trainer()],
      cc: CC,
      compile: nativeTest,
      link: ['-pthread', ...sanitize, '-lm', ...wrapAllocator],
    }),
    ...tests()
      .filter((file) => isInDouble(file) || hasAbi(file))
      .map((file) => ({
        out: `build/native-test/${basename(file, '.c')}`,
        sources: isInDouble(file)
          ? [
              ...['base', 'kernels', 'model/observe'].flatMap((folder) => sources(`src/${folder}`)),
              'src/model/layers/kv.c',
              file,
            ]
          : [...engine(), ...trainer(), ...testHelpers(), file],
        cc: CC,
        compile: nativeTest,
        link: ['-pthread', ...sanitize, '-lm', ...(isInDouble(file) ? [] : wrapAllocator)],
      })),
    ...relaxedKinds.map((kind, i) => ({
      out: `build/native-test/products_test-${kind}`,
      sources: [...sources('src/base'), ...sources('src/kernels'), 'tests/native/products_test.c'],
      cc: CC,
      compile: (source) => [
        ...nativeTest(source),
        ...(multipliesRelaxed(source) ? [`-DGF_EMULATE_RELAXED_DOT=${i}`] : []), // the others share their objects
      ],
      link: ['-pthread', ...sanitize, '-lm'],
    })),
    fuzzer(),
  ],

  fuzz: () => [fuzzer()],

  // The same under libFuzzer, which is part of clang.
  'fuzz-coverage': () => {
    const { sources: plain, link, ...rest } = fuzzer('build/native-fuzz/coverage');
    const compile = (source) => [...nativeTest(source), '-Itests/fuzz', '-fsanitize=fuzzer-no-link'];
    const entry = [...plain.filter((file) => !hasMain(file)), 'tests/fuzz/coverage/libfuzzer.c'];
    return [{ ...rest, sources: entry, cc: 'clang', compile, link: [...link, '-fsanitize=fuzzer'] }];
  },

  // The objects are those of `wasm`, except config.c, so that the shipped code is tested. The trainer's tests have
  // objects of their own, because they also run the models that they trained. Tests of gradients in double run natively only.
  'wasm-test': () => [
    ...eachVariant((variant, flags) => [
      everyTest({
        out: `build/wasm-test/${variant}.cjs`,
        files: tests().filter((file) => !trains(file) && !isInDouble(file) && !failsAllocations(file)),
        sources: engine(),
        cc: 'emcc',
        compile: runs(flags),
        link: ['-O1', ...flags, ...underNode],
      }),
    ]),
    everyTest({
      out: 'build/wasm-test/train.cjs',
      files: ['tests/native/train_test.c', 'tests/native/dictionary_test.c'],
      sources: [...engine(), ...trainer()],
      cc: 'emcc',
      compile: wasmCompile(wasmVariants.simd),
      link: ['-O1', ...wasmVariants.simd, ...underNode],
    }),
  ],

  'native-bench': () =>
    benches().map((file) => ({
      out: `build/bench/native/${basename(file, '.c')}`,
      sources: [...engine(), file],
      cc: CC,
      compile: () => ['-O3', '-pthread', ...thisCpu, ...common],
      link: ['-pthread', '-lm'],
    })),

  'wasm-bench': () =>
    eachVariant((variant, flags) =>
      benches().map((file) => ({
        out: `build/bench/${variant}/${basename(file, '.c')}.cjs`,
        sources: [...engine(), file],
        cc: 'emcc',
        compile: (source) =>
          source.startsWith('tests/') ? ['-O3', '-DNDEBUG', ...common, ...flags] : runs(flags)(source),
        link: ['-O3', ...flags, ...underNode],
      })),
    ),
};

/** The C files of one folder, sorted so that link order never depends on the file system. */
function sources(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.c'))
    .sort()
    .map((name) => join(folder, name));
}

function hasMain(file) {
  return /^int main\(/m.test(readFileSync(file, 'utf8'));
}

/** Whether OpenBLAS is installed; the native trainer uses it for matrix products. */
function hasOpenblas() {
  hasOpenblas.found ??=
    spawnSync(CC, ['-xc', '-', '-lopenblas', '-o', '/dev/null'], {
      input: '#include <cblas.h>\nint main(void) { return cblas_sgemm == 0; }\n',
      stdio: ['pipe', 'ignore', 'ignore'],
    }).status === 0;
  return hasOpenblas.found;
}

/** The linker's option that exports the functions of one of the lists in src/wasm, and others. */
function exporting(list, ...others) {
  const names = readFileSync(`src/wasm/${list}`, 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter(Boolean);
  return `-sEXPORTED_FUNCTIONS=${[...names, ...others].map((name) => `_${name}`).join(',')}`;
}

/** A file and everything it includes by a quoted name, found beside it or on the -I path. */
function withIncludes(file, path, seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)) {
    const found = [dirname(file), ...path].map((folder) => join(folder, name)).find(existsSync);
    if (found) withIncludes(found, path, seen);
  }
  return seen;
}

function hash(words, files = []) {
  const sum = createHash('sha256').update(JSON.stringify(words));
  for (const file of files) sum.update(readFileSync(file));
  return sum.digest('hex').slice(0, 20);
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', (error) => reject(new Error(`${command}: ${error.message}`)));
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`${command} ${args.join(' ')}`))));
  });
}

/**
 * A compiler's command, for objects. For emcc that is the compiler that it runs, with its flags: emcc itself is a program
 * in Python, whose start takes longer than most objects.
 * @param {string} cc
 * @returns {string[]}
 */
function compilerOf(cc) {
  if (cc !== 'emcc') return [cc];
  const [shown, flags] = [['-###', '-xc', '-c', '/dev/null'], ['--cflags']].map((words) =>
    spawnSync(cc, words, { encoding: 'utf8' }),
  );
  const [, quoted, plain] = /^ *(?:"([^"]+)"|(\S*clang\S*)) -target /m.exec(shown.stdout + shown.stderr) ?? [];
  const program = quoted ?? plain;
  return program && flags.status === 0 ? [program, ...flags.stdout.trim().split(/\s+/)] : [cc];
}

/** Run the jobs with as many at once as there are cores; the first failure stops the rest. */
async function inParallel(jobs) {
  let next = 0;
  const worker = async () => {
    while (next < jobs.length) await jobs[next++]();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

async function build(binaries, out) {
  const objects = new Map(); // object file -> source and flags; binaries share objects
  for (const binary of binaries) {
    binary.objects = binary.sources.map((source) => {
      const flags = binary.compile(source);
      const path = flags.filter((flag) => flag.startsWith('-I')).map((flag) => flag.slice(2));
      const key = hash([binary.cc, flags, source], withIncludes(source, path));
      const object = `build/objects/${source.replace(/[/.]/g, '_')}-${key}.o`;
      objects.set(object, { source, cc: binary.cc, flags });
      return object;
    });
  }
  mkdirSync('build/objects', { recursive: true });
  let count = 0;
  const missing = [...objects].filter(([object]) => !existsSync(object));
  const compilers = new Map([...new Set(missing.map(([, { cc }]) => cc))].map((cc) => [cc, compilerOf(cc)]));
  await inParallel(
    missing.map(([object, { source, cc, flags }]) => async () => {
      console.log(`${++count}/${missing.length} ${source}`);
      const part = `${object}.${process.pid}.part`; // renamed when it is complete
      const [program, ...own] = compilers.get(cc);
      await run(program, [...own, ...flags, '-c', source, '-o', part]);
      renameSync(part, object);
    }),
  );
  await inParallel(
    binaries.map((binary) => async () => {
      const made = join(out, binary.out);
      const linked = `build/objects/${binary.out.replace(/[/.]/g, '_')}.link`;
      const key = hash([binary.cc, binary.objects, binary.link]);
      if (existsSync(made) && existsSync(linked) && readFileSync(linked, 'utf8') === key) return;
      console.log(`linking ${binary.out}`);
      mkdirSync(dirname(made), { recursive: true });
      // emcc chooses its output by the file name's extension, so the extension stays.
      const part = join(dirname(made), `part-${process.pid}-${basename(made)}`);
      await run(binary.cc, [...binary.objects, ...binary.link, '-o', part]);
      renameSync(part, made);
      writeFileSync(linked, key);
    }),
  );
}

const args = process.argv.slice(2);
let out = '.';
if (args[0] === '--out') [, out] = args.splice(0, 2);
if (args[0] === '--have') {
  process.exit(targets[args[1]]().every((binary) => existsSync(binary.out)) ? 0 : 1);
}
for (const target of args) {
  if (!targets[target]) throw new Error(`no target ${target}: ${Object.keys(targets).join(', ')}`);
  try {
    await build(targets[target](), out);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
    break;
  }
}
