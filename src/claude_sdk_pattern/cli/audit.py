"""``claude-sdk-pattern audit ...``: look at the audit log without a server, also at an export without a database."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import orjson
import typer

from claude_sdk_pattern.accounts.audit import CLI_ACTOR, AuditAction, AuditLog
from claude_sdk_pattern.accounts.audit_chain import Anchor, AuditEntry, ChainCheck, ChainReport
from claude_sdk_pattern.cli.database import opened_database
from claude_sdk_pattern.cli.failing import explained_failures, fail

app = typer.Typer(help="Look at the audit log.", no_args_is_help=True)


@app.command("verify")
def verify(
    anchor: Annotated[
        list[str] | None,
        typer.Option("--anchor", metavar="SEQ:HASH", help="An anchor noted earlier, as from a log or an export."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Look at this export instead of the database.", exists=True, dir_okay=False),
    ] = None,
) -> None:
    """Find out whether an entry was removed, altered or moved. Ends with 1 if so."""
    with explained_failures():
        anchors = [Anchor.parse(text) for text in anchor or []]
        report = _report_of(file, anchors) if file else _with_audit(lambda audit: audit.verify(anchors))
    for fault in report.faults:
        typer.echo(fault, err=True)
    if not report.is_intact:
        fail("the audit log is not what it was")
    typer.echo(f"{report.head.seq} entries, all as they were written")
    typer.echo(f"anchor {report.head}")


@app.command("export")
def export() -> None:
    """Write the whole log to standard output, one JSON object a line; the last one is the anchor."""

    async def write(audit: AuditLog) -> None:
        await audit.record(AuditAction.AUDIT_EXPORTED, actor=CLI_ACTOR)
        head = await audit.head()
        async for entry in audit.entries(until=head.seq):
            typer.echo(entry.to_json())
        typer.echo(orjson.dumps({"anchor": str(head)}))

    with explained_failures():
        _with_audit(write)


def _with_audit[T](work: Callable[[AuditLog], Awaitable[T]]) -> T:
    async def run() -> T:
        async with opened_database() as database, AuditLog(database) as audit:
            return await work(audit)

    return asyncio.run(run())


def _report_of(file: Path, anchors: list[Anchor]) -> ChainReport:
    """Return what an export amounts to; its closing line is one more anchor."""
    entries: list[AuditEntry] = []
    closing: list[Anchor] = []
    with file.open("rb") as lines:
        for line in lines:
            if line.startswith(b'{"anchor"'):
                closing.append(Anchor.parse(orjson.loads(line)["anchor"]))
            else:
                entries.append(AuditEntry.from_json(line))
    if not closing:
        raise ValueError(f"{file} breaks off: its last line is no anchor")
    check = ChainCheck([*anchors, *closing])
    for entry in entries:
        check.see(entry)
    return check.report()
