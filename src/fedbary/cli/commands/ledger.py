"""`fedbary ledger`: what left an owner's machine, and what it cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json
from fedbary.errors import DataError

if TYPE_CHECKING:
    from fedbary.guard.ledger import Account, Entry


def ledger(
    file: Annotated[Path, typer.Argument(help="The ledger of your node, such as ledger.jsonl.", show_default=False)],
    *,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your policy file, for the ε budget that is left.")
    ] = None,
    reset: Annotated[
        str | None,
        typer.Option(metavar="REASON", help="Begin a new account; what left before stays in the file."),
    ] = None,
    most: Annotated[int, typer.Option("-n", "--most", min=1, help="Lines to show, the last ones.")] = 50,
    json: Json = False,
) -> None:
    """Show what left this machine: when, for which run, which numbers, how many bytes, and how much ε it cost.

    FILE is the ledger that your node writes, one line for every answer, before it leaves. It holds names, shapes and
    digests, never a row.
    """
    from fedbary.guard.ledger import Ledger
    from fedbary.guard.policy import OwnerPolicy

    if not file.is_file():
        raise DataError("cli.no-ledger", file=str(file))
    budget = None if policy is None else OwnerPolicy.load(policy).epsilon_budget
    if reset is not None:
        Ledger(file).reset(reset)
    account = Ledger(file).read()
    totals = _totals(account, budget)
    if json:
        from dataclasses import asdict

        write_json({"totals": totals, "entries": [asdict(entry) for entry in account.entries]})
    else:
        _show(account, totals, most)


def _totals(account: Account, budget: float | None) -> dict[str, Any]:
    from decimal import Decimal

    from fedbary.guard.ledger import RESET

    spent = account.spent()
    tables = sorted({entry.data for entry in account.current if entry.data})
    return {
        "answers": sum(entry.what == "reply" for entry in account.entries),
        "refusals": sum(entry.what not in ("reply", RESET) for entry in account.entries),
        "runs": len({entry.session for entry in account.entries if entry.what == "reply"}),
        "bytes": sum(entry.bytes for entry in account.entries),
        "epsilon": spent,
        "budget": budget,
        "left": None if budget is None else float(max(Decimal(repr(budget)) - Decimal(repr(spent)), Decimal(0))),
        "epsilon_of": {data: account.spent(data) for data in tables},
        "resets": sum(entry.what == RESET for entry in account.entries),
        "torn_lines": list(account.torn),
    }


def _show(account: Account, totals: dict[str, Any], most: int) -> None:
    from fedbary.cli.ui.tables import bulleted, screen, table
    from fedbary.wording import counted

    console = screen()
    latest = account.entries[-most:]
    if len(latest) < len(account.entries):
        console.print(f"… {counted(len(account.entries) - len(latest), 'earlier line')}\n")
    rows = [
        (_when(entry), entry.run[:12], entry.kind, entry.round, _what(entry), f"{entry.bytes:,}", _number(entry))
        for entry in latest
    ]
    columns = ("time (UTC)", "run", "asked", "round", "what left", "bytes", "ε")
    console.print(table(columns, rows, numeric=("round", "bytes", "ε")))
    console.print("")
    console.print(bulleted(_sentences(totals)))


def _sentences(totals: dict[str, Any]) -> list[str]:
    from fedbary.wording import counted

    answers, refusals = counted(totals["answers"], "answer"), counted(totals["refusals"], "refusal")
    lines = [f"{answers} in {counted(totals['runs'], 'run')} and {refusals}: {totals['bytes']:,} bytes in all."]
    since = " since the last reset" if totals["resets"] else ""
    spent = f"ε spent{since}: {totals['epsilon']:g}"
    lines.append(
        spent + (f" of {totals['budget']:g}; {totals['left']:g} left." if totals["budget"] is not None else ".")
    )
    if len(totals["epsilon_of"]) > 1:
        each = ", ".join(f"{data[:8]} {epsilon:g}" for data, epsilon in totals["epsilon_of"].items())
        lines.append(f"For more than one table, by its digest: {each}. All of it counts.")
    for line in totals["torn_lines"]:
        lines.append(f"Line {line} was cut off by a crash: what it stood for was not sent.")
    return lines


def _when(entry: Entry) -> str:
    return entry.time[:16].replace("T", " ")


def _what(entry: Entry) -> str:
    if entry.what == "reset":
        return f"(reset: {entry.note})"
    if entry.what != "reply":
        return f"(refused) {entry.note}"
    arrays = [f"{name} {'×'.join(map(str, shape)) or '1'}" for name, shape in entry.arrays.items()]
    return ", ".join([*entry.scalars, *arrays]) or "nothing"


def _number(entry: Entry) -> str:
    return f"{entry.epsilon:g}" if entry.epsilon else "–"
