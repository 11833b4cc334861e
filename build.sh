#!/usr/bin/env bash
# build.sh - everything that is built, tested, served or trained here starts with this script.
# Each command brings what it needs up to date first; what has not changed is not done again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. scripts/common.sh
. scripts/toolchain.sh

usage() {
  cat <<'HELP'
usage: ./build.sh COMMAND

  setup          fetch what is missing: npm packages, Emscripten, a C compiler, Chromium, Firefox, WebKit
  wasm           compile the engine to web/lib/wasm and print its SHA-256 sums; --record: write them to scripts/wasm.sha256
  package        build what npm publishes: dist/ and types/ (`npm pack` does this by itself)
  native         compile the trainer into build/native
  test [GROUP]   run all tests, or one group: layout native wasm node browser package
  test bundlers  the packed package in every bundler and host, from npm, some twenty minutes; [NAME...]: in some (tests/bundlers)
  demo           build the page, serve it on this machine and print its address
  page           build the page into site/, a static folder for any web server
  docs [--check] write docs/api.md from the JSDoc; --check: only say whether it differs. Fetches TypeDoc into build/typedoc
  fuzz [SECONDS] give the readers, the trainer and the engine wrong input, 60 seconds of it; what is found goes to build/fuzz
  bench          measure this engine beside wllama in Chromium (tests/bench/README.md); --kernels [FILTER]: the kernels alone, and the download's sizes
  train RECIPE   compile the trainer and run it; without arguments it prints what it takes
  clean          remove what was built (not what was downloaded or trained)
HELP
}

mend='The messages above name file and line: mend that line and run the command again.'

# --- steps --------------------------------------------------------------------------------------

npm_packages() {
  need_tools
  [ ! -L node_modules ] || return 0   # npm would empty the folder that a link leads to
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
  inputs=$(find src -name '*.[ch]' -o -name '*exports.txt' | LC_ALL=C sort; echo scripts/compile.js)
  # shellcheck disable=SC2086
  if changed wasm $inputs || ! node scripts/compile.js --have wasm || [ ! -f build/stamps/toolchain ]; then
    local key=$sum
    forget wasm
    find_emcc
    run_step 'engine, WebAssembly' "$mend" compile_with_emcc wasm
    remember_toolchain
    remember wasm "$key"
  fi
}

package() {
  wasm
  # shellcheck disable=SC2046
  if changed package scripts/package.js scripts/entries.js package-lock.json $(find web/lib -type f | LC_ALL=C sort) || ! node scripts/package.js --have; then
    local key=$sum
    forget package
    run_step 'package' "$mend" node scripts/package.js
    remember package "$key"
  fi
  # shellcheck disable=SC2046
  if changed types scripts/types.js tsconfig.json package-lock.json $(find web/lib -name '*.js' | LC_ALL=C sort) || [ ! -f types/index.d.ts ]; then
    local key=$sum
    forget types
    run_step 'type declarations' "$mend" node scripts/types.js
    remember types "$key"
  fi
}

native() {
  need_tools
  find_cc
  run_step "native engine ($CC)" "$mend" node scripts/compile.js native
}

page() {
  package
  # shellcheck disable=SC2046
  if changed page vite.config.js package-lock.json $(find web weights -type f | LC_ALL=C sort) || [ ! -f site/index.html ]; then
    local key=$sum
    forget page
    run_step 'page' 'The bundler names the file above: mend it and run the command again.' node_modules/.bin/vite build
    remember page "$key"
  fi
}

docs() {
  package
  run_step 'API reference' 'Check the network and the npm registry in your npm configuration; TypeDoc says above what it does not understand.' node scripts/docs.js "$@"
}

demo() {
  page
  unlock
  exec node scripts/serve.js site --open "$@"
}

# A folder with a vocabulary is a training run, and stays.
clean() {
  rm -rf dist site types web/lib/wasm
  local each kept=
  for each in build/*; do
    if [ -e "$each/tokenizer.json" ]; then kept="$kept $each"; else rm -rf "$each"; fi
  done
  rmdir build 2>/dev/null || true
  say "removed dist, site, types, web/lib/wasm and what was built in build${kept:+; training runs are kept:$kept}"
}

# --- tests --------------------------------------------------------------------------------------

test_groups='layout native wasm node browser package'

prepare_group() {
  case $1 in
  layout) wasm ;;
  native)
    find_cc
    run_step "native tests ($CC, sanitizers)" "$mend" node scripts/compile.js native-test
    ;;
  wasm)
    find_emcc
    run_step 'the same tests as WebAssembly' "$mend" compile_with_emcc wasm-test
    ;;
  node) wasm; native ;;   # native: the trainer that its tests drive. No &&: it would hide what fails inside
  browser) page; find_chromium; find_firefox; find_webkit ;;
  package) page; find_chromium ;;
  *) fail "There is no test group '$1'; the groups are: $test_groups." ;;
  esac
}

run_tests() {
  npm_packages
  if [ "${1:-}" = bundlers ]; then
    shift
    package
    find_chromium
    unlock
    exec node tests/bundlers/run.js "$@"
  fi
  local groups=${*:-$test_groups} group
  for group in $groups; do prepare_group "$group"; done
  unlock
  # shellcheck disable=SC2086
  exec node tests/run.js $groups
}

# --- larger tools -------------------------------------------------------------------------------

bench() {
  page
  find_cc
  run_step "benchmarks ($CC)" "$mend" node scripts/compile.js native-bench
  find_emcc
  run_step 'benchmarks, WebAssembly' "$mend" compile_with_emcc wasm-bench
  find_chromium
  unlock
  exec node tests/bench/run.js "$@"
}

# Half the time for C under sanitizers, half for JavaScript: its readers, then its calls. The seed is another each time; FUZZ_SEED repeats one.
fuzz() {
  local seconds=${1:-60} seed=${FUZZ_SEED:-$RANDOM} status=0
  case $seconds in '' | *[!0-9]* | ?????????*) fail "'$seconds' is no number of seconds." ;; esac
  npm_packages
  find_cc
  run_step "fuzzing ($CC, sanitizers)" "$mend" node scripts/compile.js fuzz
  unlock
  say "seed $seed"
  build/native-test/fuzz --seconds $(((seconds + 1) / 2)) --seed "$seed" || status=1
  node tests/fuzz/readers.js --seconds $(((seconds + 2) / 3)) --seed "$seed" || status=1
  node tests/fuzz/calls.js --seconds $(((seconds + 5) / 6)) --seed "$seed" || status=1
  exit $status
}

train() {
  native
  unlock
  # Debian's OpenBLAS does not know newer processors and falls back to SSE3 kernels: a tenth of the speed.
  if [ -z "${OPENBLAS_CORETYPE:-}" ] && [ -r /proc/cpuinfo ]; then
    if grep -qm1 avx512bw /proc/cpuinfo; then export OPENBLAS_CORETYPE=SkylakeX
    elif grep -qm1 avx2 /proc/cpuinfo; then export OPENBLAS_CORETYPE=Haswell
    fi
  fi
  exec build/native/glassformer-train "$@"
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
package | native | page | docs | demo | clean | bench | fuzz | train)
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
