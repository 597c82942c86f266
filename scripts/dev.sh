#!/usr/bin/env bash
# Run the server from this checkout: ./scripts/dev.sh [--live]
#   (nothing)  demo mode: the real Claude Code with a scripted model, no API key, demo users
#   --live     the real API; needs ANTHROPIC_API_KEY, in the environment or in .env
# Installs what is missing first. Ctrl-C stops everything.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

live=false
case "${1:-}" in
  "") ;;
  --live) live=true ;;
  *) die "usage: ./scripts/dev.sh [--live]" ;;
esac

# Whether a setting has a value, in the environment or in .env.
is_set() {
  [[ -n "${!1:-}" ]] || grep --quiet --extended-regexp "^ *(export +)?$1 *=.*[^ =]" .env 2>/dev/null
}

# Make the key that signs access tokens once, so that a restart signs nobody out. Demo mode keeps its own in the same
# place.
keep_a_secret_key() {
  local file="${CLAUDE_SDK_PATTERN_DATA_DIR:-data}/run/secret-key"
  is_set CLAUDE_SDK_PATTERN_SECRET_KEY && return
  if [[ ! -s "$file" ]]; then
    (umask 077 && mkdir -p "$(dirname "$file")" &&
      "$PYTHON" -c 'import secrets; print(secrets.token_hex(32), end="")' >"$file")
  fi
  CLAUDE_SDK_PATTERN_SECRET_KEY="$(cat "$file")"
  export CLAUDE_SDK_PATTERN_SECRET_KEY
}

cd "$ROOT"
if $live && ! is_set ANTHROPIC_API_KEY; then
  die "ANTHROPIC_API_KEY is not set; without --live the server runs on a scripted model and needs none"
fi
"$ROOT/scripts/setup.sh" run
# `exec`, so that Ctrl-C and signals reach the server itself.
if ! $live; then
  exec "$VENV/bin/claude-sdk-pattern" demo
fi
keep_a_secret_key
"$VENV/bin/claude-sdk-pattern" migrate
if [[ -z "$("$VENV/bin/claude-sdk-pattern" user list)" ]]; then
  say "There is no user yet. In another terminal: .venv/bin/claude-sdk-pattern user add NAME --role admin"
fi
exec "$VENV/bin/claude-sdk-pattern" serve
