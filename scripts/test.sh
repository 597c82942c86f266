#!/usr/bin/env bash
# Check everything: ./scripts/test.sh [--fast]
#   --fast  leave out the tests that drive a browser and those that kill processes at random
# Installs what is missing first. Stops at the first thing that is wrong; what is quick to check comes first.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fast=false
case "${1:-}" in
  "") ;;
  --fast) fast=true ;;
  *) die "usage: ./scripts/test.sh [--fast]" ;;
esac

# Most tests wait for processes they have started, so more than one worker pays even on a small machine.
WORKERS=2
# A tier in which more fails is broken, not unlucky.
MAX_UNSTEADY=3

cd "$ROOT"
passed=0
failed=0
unsteady=()
results="$(mktemp)"
said_beside="$(mktemp)"

# The last line of the output says how it went, however it went.
conclude() {
  rm -f "$results" "$said_beside"
  ((${#unsteady[@]} == 0)) || printf '\nunsteady, see above:\n%s\n' "${unsteady[@]}"
  printf '\n%d s in all\n%d passed, %d failed\n' "$SECONDS" "$passed" "$failed"
}
trap conclude EXIT

# Run a command under a heading, and say how long it took.
step() {
  local title="$1" begun=$SECONDS status=0
  shift
  printf '\n=== %s\n' "$title"
  "$@" || status=$?
  if ((status != 0)); then
    printf '\n*** %s: failed after %d s\n' "$title" "$((SECONDS - begun))"
    ((failed > 0)) || failed=1
    exit "$status"
  fi
  printf -- '--- %s: %d s\n' "$title" "$((SECONDS - begun))"
}

# Run two functions of steps at the same time, and show what the second says when the first has ended.
side_by_side() {
  local second status=0
  "$2" >"$said_beside" 2>&1 &
  second=$!
  # In a process of its own too: what is wrong in one does not cut the other short.
  ("$1") || status=$?
  wait "$second" || status=$?
  cat "$said_beside"
  if ((status != 0)); then
    failed=1
    exit "$status"
  fi
}

# Run the tests that a marker expression selects. A tier without a test is a failure: it means a marker got lost.
# What fails among others is tried once more by itself, because a machine that was busy elsewhere for a moment fails
# tests too. What passes then is named at the end as unsteady, with what went wrong above; it is still to be mended.
tests() {
  local status=0 failures
  "$VENV/bin/pytest" -m "$1" -n "$WORKERS" --dist worksteal --color=no | tee "$results" || status=$?
  passed=$((passed + $(counted passed)))
  failures=$(($(counted failed) + $(counted 'errors?')))
  if ((status == 1 && failures <= MAX_UNSTEADY)); then
    printf '\n--- once more, by themselves: the tests that failed\n'
    status=0
    unsteady+=("$(grep --extended-regexp '^(FAILED|ERROR) ' "$results" | cut -d ' ' -f 2)")
    "$VENV/bin/pytest" -m "$1" --last-failed --last-failed-no-failures none --color=no | tee "$results" || status=$?
    passed=$((passed + $(counted passed)))
    failures=$(($(counted failed) + $(counted 'errors?')))
  fi
  failed=$((failed + failures))
  return "$status"
}

# Print a number from pytest's closing line.
counted() {
  tail -1 "$results" | grep --only-matching --extended-regexp "[0-9]+ $1" | grep --only-matching '[0-9]*' || echo 0
}

check_python() {
  step "lock files" ./scripts/check-locks.sh
  step "Python format" "$VENV/bin/ruff" format --check
  step "Python lint" "$VENV/bin/ruff" check
  step "shell scripts" "$VENV/bin/shellcheck" --external-sources scripts/*.sh .ci/run
  step "layers" "$VENV/bin/lint-imports" --no-logo
  step "secrets" ./scripts/check-secrets.sh
  step "Python types" "$VENV/bin/pyright"
  step "known vulnerabilities" "$PYTHON" scripts/audit.py
}

check_web_app() {
  step "web app format" npm_run format:check
  step "web app lint" npm_run lint
  step "web app types" npm_run typecheck
  step "generated types" npm_run types -- --check
  step "web app tests" npm_run test
  step "web app build" build_web_app
  step "web app size" npm_run size
}

npm_run() { (cd frontend && npm run --silent "$@"); }

use_local_caches_without_a_home
trust_what_the_machine_trusts
step "installation" "$ROOT/scripts/setup.sh" test
# Everything is in place now; these two only tell this shell where.
find_node
setup_chromium

side_by_side check_python check_web_app
step "tests" tests "not cli and not browser and not chaos"
step "tests with the Claude Code CLI" tests "cli and not browser and not chaos"
if ! $fast; then
  step "tests in a browser" tests "browser and not chaos"
  step "tests with random kills" tests "chaos"
fi
