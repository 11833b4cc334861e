# common.sh - functions of build.sh: say, fail, run_step, changed, forget, remember, lock, unlock.
# shellcheck shell=bash

say() { if [ -t 1 ]; then printf '\033[1m==>\033[0m %s\n' "$*"; else printf '==> %s\n' "$*"; fi; }

# fail SENTENCE: print the sentence, which says what to do, and exit with status 1.
fail() {
  printf 'build.sh: %s\n' "$*" >&2
  exit 1
}

# run_step WHAT HINT COMMAND...: run a command with its output in build/log. While it runs, print its time and its
# newest line; on failure, print its last lines and HINT, a sentence that says what to do.
run_step() {
  local what=$1 hint=$2 began=$SECONDS log pid status=0 next=5 line
  shift 2
  log=build/log/$(printf '%s' "$what" | tr -cs 'A-Za-z0-9' '-').txt
  mkdir -p build/log
  say "$what"
  set -m   # a process group of its own, so that an interrupt ends its children too
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  trap 'kill -- "-$pid" 2>/dev/null || true; printf "\n"; fail "interrupted; finished steps are kept, and the same command continues from there"' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    [ $((SECONDS - began)) -ge $next ] || continue
    line=$(tail -c 2000 "$log" | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 | cut -c 1-90 || true)
    if [ -t 1 ]; then
      printf '\r\033[K    %d s  %s' $((SECONDS - began)) "$line"
      next=$((next + 1))
    else
      printf '    %d s  %s\n' $((SECONDS - began)) "$line"
      next=$((next + 20))
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [ ! -t 1 ] || printf '\r\033[K'
  if [ $status -ne 0 ]; then
    tail -n 40 "$log" >&2
    printf '\nbuild.sh: "%s" failed (all of its output: %s). %s\n' "$what" "$log" "$hint" >&2
    exit 1
  fi
  [ $((SECONDS - began)) -lt 5 ] || printf '    done in %d s\n' $((SECONDS - began))
}

# changed NAME FILE...: whether the files differ from those at `remember NAME`. Compares contents, not times, because a
# fresh clone has no useful times. Sets $sum to the new checksum.
changed() {
  local name=$1
  shift
  sum=$(for f in "$@"; do
    [ -f "$f" ] && printf '%s\n' "$f" && cat -- "$f"
  done | git hash-object --stdin)
  [ "$(cat "build/stamps/$name" 2>/dev/null || true)" != "$sum" ]
}

# forget NAME: call before a step, so that the step runs again when it does not reach `remember`.
forget() { rm -f "build/stamps/$1"; }

# remember NAME SUM: call after a step has succeeded.
remember() {
  mkdir -p build/stamps
  printf '%s\n' "$2" >"build/stamps/$1"
}

# Allow one build of this tree at a time; a second one waits.
lock() {
  mkdir -p build/stamps 2>/dev/null && { : >>build/lock; } 2>/dev/null ||
    fail "$PWD/build cannot be written: it may belong to another user, or the disk is full."
  command -v flock >/dev/null 2>&1 || return 0
  exec 9>build/lock
  flock -n 9 && return 0
  say 'waiting for another build of this folder'
  flock 9
}

unlock() { { exec 9>&-; } 2>/dev/null || true; }
