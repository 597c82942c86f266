#!/usr/bin/env bash
# Write requirements/*.txt anew from pyproject.toml: ./scripts/lock.sh [--upgrade]
# Without --upgrade, versions that still fit stay as they are.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

use_local_caches_without_a_home
trust_what_the_machine_trusts
find_uv
cd "$ROOT"

compile() {
  local target="requirements/$1.txt"
  shift
  say "$target"
  # --no-emit-*: where this machine gets its packages is no business of the repository.
  "$UV" pip compile --quiet --universal --python-version "$PYTHON_VERSION" --generate-hashes \
    --no-emit-index-url --no-emit-find-links --no-annotate \
    --custom-compile-command "./scripts/lock.sh" --output-file "$target" "$@" >/dev/null
}

compile runtime pyproject.toml "$@"
compile dev pyproject.toml --group dev --constraint requirements/runtime.txt "$@"
compile build --group build --constraint requirements/dev.txt "$@"
compile postgresql --group postgresql "$@"
"$ROOT/scripts/check-locks.sh"
