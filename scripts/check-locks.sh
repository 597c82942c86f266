#!/usr/bin/env bash
# Fail if a lock file names a package host or a path of the machine it was made on, or lacks a hash.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

status=0
complain() {
  echo "$1" >&2
  status=1
}

if grep --line-number --extended-regexp '^[^#]*(://|file:)|^-|^[^#]*[ @](/|\./|\.\./)' requirements/*.txt; then
  complain "requirements/ must hold versions and hashes only; run ./scripts/lock.sh"
fi
for file in requirements/*.txt; do
  # Every entry goes on with a hash on the next line.
  if grep --extended-regexp '^[a-zA-Z0-9]' "$file" | grep --quiet --invert-match '\\$'; then
    complain "$file has an entry without a hash; run ./scripts/lock.sh"
  fi
done
if grep --line-number --extended-regexp '"resolved": "(https?|file|git)' frontend/package-lock.json; then
  complain "frontend/package-lock.json names a package host; run npm install with omit-lockfile-registry-resolved=true"
fi
exit "$status"
