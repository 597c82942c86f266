"""Look the locked packages up in the vulnerability databases of PyPI and npm.

A known vulnerability is a failure, unless it stands in :data:`ACCEPTED` and its day has not come. A database that
cannot be reached is a warning: whoever works without a network can still run the other checks.
"""

import json
import subprocess
import sys
import tempfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent

# Both tools answer within seconds or wait for a network that is not there.
TIMEOUT_SECONDS = 90


class Acceptance(NamedTuple):
    """Why a vulnerability is lived with, and the day from which on it is a failure again."""

    reason: str
    until: date


ACCEPTED: dict[str, Acceptance] = {}
"""By the id that the database has for it, such as ``PYSEC-2026-1``; for npm by the package's name."""


def main() -> int:
    """Audit both kinds of packages; return the exit code."""
    found = [*_python_vulnerabilities(), *_npm_vulnerabilities()]
    accepted = {name for name, it in ACCEPTED.items() if it.until > datetime.now(UTC).date()}
    for name in accepted:
        print(f"accepted until {ACCEPTED[name].until}: {name}, {ACCEPTED[name].reason}")
    found = [vulnerability for vulnerability in found if vulnerability[0] not in accepted]
    for _, line in found:
        print(line)
    if found:
        print(f"{len(found)} known vulnerabilities: update the packages with ./scripts/lock.sh or npm update")
    return 1 if found else 0


def _python_vulnerabilities() -> list[tuple[str, str]]:
    requirements = ROOT / "requirements" / "runtime.txt"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(requirements), "--require-hashes"]
        command += ["--disable-pip", "--progress-spinner", "off", "--format", "json", "--output", str(report)]
        said = _run(command)
        found = _json(report.read_text()) if report.is_file() else None
    if found is None:
        return _unreachable("PyPI", said)
    packages: list[dict[str, Any]] = found["dependencies"]
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if len(skipped) == len(packages):
        # An index without the vulnerability interface knows no package at all; pip-audit calls that success.
        return _unreachable("PyPI", packages[0]["skip_reason"] if packages else "no packages")
    if skipped:
        print(f"WARNING: not looked up: {', '.join(skipped)}")
    print(f"PyPI: {len(packages) - len(skipped)} packages looked up")
    return [
        (
            item["id"],
            f"{package['name']} {package['version']}: {item['id']}, "
            f"fixed in {', '.join(item['fix_versions']) or 'none'}",
        )
        for package in packages
        for item in package.get("vulns", [])
    ]


def _npm_vulnerabilities() -> list[tuple[str, str]]:
    said = _run(["npm", "audit", "--omit=dev", "--json", "--fetch-retries=0"], cwd=ROOT / "frontend")
    report = _json(said)
    if report is None or "vulnerabilities" not in report:
        return _unreachable("npm", str(report.get("message", "no answer")) if report else said)
    print(f"npm: {report['metadata']['dependencies']['prod']} packages looked up")
    return [(name, f"{name}: {item['severity']}") for name, item in report["vulnerabilities"].items()]


def _unreachable(database: str, said: str) -> list[tuple[str, str]]:
    reason = said.strip().splitlines()[-1] if said.strip() else "no answer"
    print(f"WARNING: the vulnerability database of {database} was not reached, nothing was checked: {reason[:200]}")
    return []


def _run(command: list[str], cwd: Path = ROOT) -> str:
    """Return what a command printed; its exit status says too little to be of use."""
    try:
        finished = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return finished.stdout or finished.stderr


def _json(text: str) -> dict[str, Any] | None:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


if __name__ == "__main__":
    raise SystemExit(main())
