#!/usr/bin/env bash
# Fail on a secret that .secrets.baseline does not know: ./scripts/check-secrets.sh [FILE ...]
# Without files, everything that is or could be committed. If what it found is none, record it with
#   .venv/bin/detect-secrets scan --no-verify --baseline .secrets.baseline
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A copy: the tool writes line numbers that have moved into its baseline, and calls that a failure of its own (3).
baseline="$(mktemp)"
trap 'rm -f "$baseline"' EXIT
cp .secrets.baseline "$baseline"

files() {
  if (($# > 0)); then
    printf '%s\0' "$@"
  elif git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard
  else
    find . -type f -not -path '*/node_modules/*' -not -path './.venv/*' -not -path './.cache/*' \
      -not -path './data/*' -not -path './src/claude_sdk_pattern/web/*' -printf '%P\0'
  fi
}

wanted=()
while IFS= read -r -d '' file; do
  # Lock files are nothing but hashes.
  if [[ -f "$file" && "$file" != @(.secrets.baseline|requirements/*.txt|frontend/package-lock.json) ]]; then
    wanted+=("$file")
  fi
done < <(files "$@")
((${#wanted[@]} > 0)) || exit 0

status=0
# --no-verify: what looks like a secret is sent to nobody to find out.
.venv/bin/detect-secrets-hook --no-verify --baseline "$baseline" "${wanted[@]}" || status=$?
((status == 3)) || exit "$status"
