# toolchain.sh - finds or installs Emscripten, a C compiler, Chromium, Firefox and WebKit.
#
# Emscripten is the first of: emcc on PATH; an activated emsdk ($EMSDK); a Debian "trixie" system in a folder of the
# cache, entered with chroot. The last one needs root and Debian's packages. It needs no mounts: sources are copied into
# the folder and results are copied out.
# shellcheck shell=bash

cache_dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/glassformer
trixie=$cache_dir/trixie
min_emcc=3.1.50
# Packages of Debian 13 "trixie" whose versions determine the bytes of the wasm files: with them a build gives the sums
# in scripts/wasm.sha256. Node, which Emscripten also needs, has no influence: two versions gave the same sums.
pinned='emscripten=3.1.69+dfsg-3 binaryen=120-4 clang-19=1:19.1.7-3+b1 lld-19=1:19.1.7-3+b1
  llvm-19=1:19.1.7-3+b1'
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
min_node=20.19.0

# at_least WANTED FOUND: whether the version number FOUND is WANTED or later.
at_least() {
  node -e 'const [w, f] = process.argv.slice(1).map((v) => v.split(".").map(Number));
    for (let i = 0; i < 3; i++) if (f[i] !== w[i]) process.exit(f[i] > w[i] ? 0 : 1);' "$1" "$2"
}

is_root() { [ "$(id -u)" = 0 ]; }

need_tools() {
  [ -z "${tools_checked:-}" ] || return 0
  command -v git >/dev/null 2>&1 || fail 'git is missing: install it, then run the command again.'
  command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 ||
    fail "Node and npm are missing: install Node $min_node or newer, then run the command again."
  at_least $min_node "$(node -p process.versions.node)" ||
    fail "Node $(node -p process.versions.node) is too old: install Node $min_node or newer."
  tools_checked=1
}

# apt_install WHAT PACKAGE...: install packages; returns 1 without root or without apt.
apt_install() {
  local what=$1
  shift
  is_root && command -v apt-get >/dev/null 2>&1 || return 1
  local hint="Check the network and apt's sources, or install by hand: apt-get install $*."
  [ -n "${apt_updated:-}" ] || run_step "lists of Debian's packages" "$hint" apt-get update
  apt_updated=1
  run_step "$what: apt-get install $*" "$hint" \
    env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@"
}

# --- Emscripten ---------------------------------------------------------------------------------

# emcc_works COMMAND...: whether it is new enough and compiles relaxed SIMD.
emcc_works() {
  local version
  version=$("$@" --version 2>/dev/null | sed -n '1s/.*[^0-9]\([0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*\).*/\1/p')
  [ -n "$version" ] && at_least $min_emcc "$version" || return 1
  emcc_version=$version
  printf '%s\n' '#include <wasm_simd128.h>' \
    'v128_t f(v128_t a, v128_t b, v128_t c) { return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, c); }' |
    "$@" -O1 -msimd128 -mrelaxed-simd -x c -c -o /dev/null - >/dev/null 2>&1
}

in_debian() { local root=$1; shift; chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }
in_trixie() { in_debian "$trixie" "$@"; }

# are_pinned [COMMAND...]: whether every pinned package has its version in the system where COMMAND runs.
are_pinned() {
  local found
  # shellcheck disable=SC2016,SC2046,SC2086
  found=$("$@" dpkg-query -W -f '${Package}=${Version}\n' $(printf '%s\n' $pinned | sed 's/=.*//') 2>/dev/null) || return 1
  # shellcheck disable=SC2086
  [ "$(printf '%s\n' $found | LC_ALL=C sort)" = "$(printf '%s\n' $pinned | LC_ALL=C sort)" ]
}

find_emcc() {
  [ -z "${emcc_kind:-}" ] || return 0
  need_tools
  emcc_pinned=
  if command -v emcc >/dev/null 2>&1 && emcc_works emcc; then
    emcc_kind=host emcc_name="emcc $emcc_version on PATH"
    [ "$(command -v emcc)" != /usr/bin/emcc ] || ! are_pinned env || emcc_pinned=1
  elif [ -n "${EMSDK:-}" ] && [ -x "$EMSDK/upstream/emscripten/emcc" ] && emcc_works "$EMSDK/upstream/emscripten/emcc"; then
    PATH=$EMSDK/upstream/emscripten:$PATH
    emcc_kind=host emcc_name="emcc $emcc_version of $EMSDK"
  elif is_root && [ "$(uname -s)" = Linux ] && command -v apt-get >/dev/null 2>&1; then
    make_trixie
    emcc_kind=trixie emcc_name="emcc $emcc_version in $trixie"
    ! are_pinned in_trixie || emcc_pinned=1
  else
    fail "Emscripten $min_emcc or newer is missing: without root, install it from emsdk (git clone https://github.com/emscripten-core/emsdk, then ./emsdk install latest, ./emsdk activate latest and . ./emsdk_env.sh), with brew install emscripten, or with your distribution's package, so that emcc is on PATH; as root on a Debian system this command fetches it by itself."
  fi
}

# Record which toolchain made the wasm files: scripts/sums.js compares their sums when it is the pinned one.
remember_toolchain() {
  mkdir -p build/stamps
  printf '%s\n' "${emcc_pinned:+pinned: }$emcc_name" >build/stamps/toolchain
}

make_trixie() {
  mkdir -p "$cache_dir" 2>/dev/null || fail "$cache_dir cannot be created: set XDG_CACHE_HOME to a folder for downloads."
  if command -v flock >/dev/null 2>&1; then
    exec 8>"$cache_dir/lock"
    flock -n 8 || { say 'waiting for another build that fetches Emscripten' && flock 8; }
  fi
  if [ -d "$trixie" ] && emcc_works in_trixie emcc; then
    exec 8>&-
    return 0
  fi
  command -v debootstrap >/dev/null 2>&1 || apt_install 'debootstrap' debootstrap
  { [ -f $keyring ] && command -v gpgv >/dev/null 2>&1; } || apt_install "keys of Debian's archive" debian-archive-keyring gpgv || true
  { [ -f $keyring ] && command -v gpgv >/dev/null 2>&1; } ||
    fail "Debian's packages cannot be verified: install debian-archive-keyring (it brings $keyring) and gpgv, then run the command again."

  # The folder is renamed last, so a folder with the final name is complete.
  local part=$trixie.part mirror
  local hint='Check the network and the disk (3 GB are needed), then run the command again; incomplete files are removed first.'
  say 'Emscripten is not installed: fetching it from Debian into the cache, once, about 500 MB and a few minutes'
  rm -rf --one-file-system "$part" "$trixie"
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE)' 2>/dev/null |
    awk '$1 == "Debian" && $3 !~ /security|updates|backports/ { print $2; exit }' || true)
  # Without a mirror debootstrap takes its own default.
  # shellcheck disable=SC2086
  run_step 'Debian base system' "$hint Where a signature could not be verified, update debian-archive-keyring first." \
    debootstrap --variant=minbase --force-check-gpg --keyring=$keyring trixie "$part" $mirror
  local name
  for name in /etc/resolv.conf /etc/hosts; do [ ! -f "$name" ] || cp -L "$name" "$part$name"; done
  apt-config dump 2>/dev/null | grep -E '^Acquire::(http|https|ftp)::.*[Pp]roxy' >"$part/etc/apt/apt.conf.d/90proxy" || true
  run_step "lists of trixie's packages" "$hint" in_debian "$part" apt-get update
  # A point release of Debian may have replaced a version; then the present version is installed.
  local wanted='' gone='' package
  for package in $pinned; do
    if in_debian "$part" apt-cache madison "${package%%=*}" | tr -s " " | grep -F "| ${package#*=} |" >/dev/null; then
      wanted="$wanted $package"
    else
      gone="$gone $package" wanted="$wanted ${package%%=*}"
    fi
  done
  [ -z "$gone" ] || say "Debian no longer has$gone: its present version is installed, so the wasm files may differ from those recorded in scripts/wasm.sha256"
  # shellcheck disable=SC2086
  run_step 'Emscripten' "$hint" in_debian "$part" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 $wanted
  in_debian "$part" apt-get clean
  mv "$part" "$trixie"
  emcc_works in_trixie emcc ||
    fail "Emscripten was installed in $trixie but does not compile: remove that folder and run the command again."
  exec 8>&-
}

# compile_with_emcc TARGET: scripts/compile.js where emcc is. In the cached Debian that is a copy of
# the sources, kept between runs beside its objects; the results come back to the same paths here.
compile_with_emcc() {
  if [ "$emcc_kind" = host ]; then
    node scripts/compile.js "$1"
    return
  fi
  local copy
  copy=/build/$(pwd | git hash-object --stdin | cut -c 1-12)
  mkdir -p "$trixie$copy"
  if command -v flock >/dev/null 2>&1; then
    exec 7>"$trixie$copy/lock"   # one compilation of a copy at a time
    flock 7
  fi
  rm -rf "${trixie:?}$copy/src" "${trixie:?}$copy/tests" "${trixie:?}$copy/scripts" "${trixie:?}$copy/out"
  local parts=(src scripts/compile.js)
  local folder
  for folder in tests/native tests/bench; do [ ! -d $folder ] || parts+=("$folder"); done
  tar -cf - "${parts[@]}" | tar -xf - --no-same-owner -C "$trixie$copy" || return
  in_trixie sh -c "cd $copy && printf '{\"type\":\"module\"}' >package.json && mkdir -p out && node scripts/compile.js --out out $1" || return
  tar -cf - -C "$trixie$copy/out" . | tar -xf - --no-same-owner || return
  { exec 7>&-; } 2>/dev/null
}

# --- a C compiler, and browsers -----------------------------------------------------------------

find_cc() {
  local name
  [ -z "${CC:-}" ] || command -v "$CC" >/dev/null 2>&1 || fail "CC is '$CC', which is not a command: set it to a compiler without options, or leave it unset."
  for name in "${CC:-gcc}" clang cc; do
    command -v "$name" >/dev/null 2>&1 || continue
    CC=$name
    export CC
    return 0
  done
  apt_install 'C compiler' gcc libc6-dev || fail 'A C compiler is missing: install gcc or clang, then run the command again.'
  export CC=gcc
}

find_chromium() {
  local path
  if ! path=$(node scripts/chromium.js); then
    [ -z "${CHROMIUM:-}" ] || fail "CHROMIUM is '$CHROMIUM', which is not a program: set it to the path of a Chrome or Chromium, or leave it unset."
    apt_install 'Chromium' chromium || fail 'Chromium is missing: install it, or set CHROMIUM to the path of a Chrome or Chromium, then run the command again.'
    path=$(node scripts/chromium.js) || fail 'Chromium was installed but is not on PATH: set CHROMIUM to its path.'
  fi
  export CHROMIUM=$path
}

# Most browser tests use Chromium's headless shell, and Chromium itself where it cannot be installed.
find_shell() {
  node scripts/chromium.js shell >/dev/null && return 0
  (apt_install "Chromium's headless shell" chromium-headless-shell) || say "the tests use Chromium without its headless shell"
}

# Only tests use Firefox and WebKit: where one cannot be installed, its tests are skipped with a message.
find_firefox() { find_test_browser firefox Firefox firefox-esr; }
find_webkit() { find_test_browser webkit WebKit webkit2gtk-driver xvfb; }

# find_test_browser ENGINE NAME PACKAGE...: install a browser that tests/browser/drivers/browsers.js does not find, with apt as root.
find_test_browser() {
  local engine=$1 name=$2
  shift 2
  node tests/browser/drivers/browsers.js "$engine" >/dev/null && return 0
  # a subshell: run_step would end this script
  (apt_install "$name" "$@") || true
  node tests/browser/drivers/browsers.js "$engine" || say "$name's tests are skipped"
}
