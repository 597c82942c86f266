#!/usr/bin/env bash
# Install what is missing, and nothing else: ./scripts/setup.sh [run | test]
#   run   what the server needs: Python packages, the built web app, bubblewrap and socat
#   test  all that and what the tests need besides: checkers, Chromium, PostgreSQL's programs
# Safe to run any number of times; takes a fraction of a second when there is nothing to do.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

use_local_caches_without_a_home
trust_what_the_machine_trusts
case "${1:-test}" in
  run)
    setup_python runtime
    setup_bubblewrap
    setup_node_modules
    build_web_app
    ;;
  test)
    setup_python dev
    setup_bubblewrap
    setup_node_modules
    setup_chromium
    setup_postgresql
    ;;
  *) die "usage: ./scripts/setup.sh [run | test]" ;;
esac
