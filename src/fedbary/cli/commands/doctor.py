"""`fedbary doctor`: what is installed, what is missing, and what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from fedbary.cli.ui.options import Json

if TYPE_CHECKING:
    from fedbary.cli.commands.doctor_findings import Finding

_BROKEN = 2
_STYLES = {"ok": "green", "missing": "yellow", "problem": "red"}


def doctor(json: Json = False) -> None:
    """Look at this installation: versions, extras, data folder, browser, Flower, GPU and threads.

    Every line is ok, missing (an extra that you may not need) or a problem, with the remedy. Nothing is changed, and
    the network is not used. Exit code 2: something that fedbary cannot do without is broken.
    """
    from fedbary.cli.commands.doctor_findings import findings

    found = findings()
    broken = any(finding.state == "problem" and finding.needed for finding in found)
    if json:
        from dataclasses import asdict

        from fedbary.cli.ui.json import write_json

        write_json({"healthy": not broken, "findings": [asdict(finding) for finding in found]})
    else:
        _show(found)
    if broken:
        raise typer.Exit(_BROKEN)


def _show(found: list[Finding]) -> None:
    from rich.text import Text

    from fedbary.cli.ui.tables import screen, table
    from fedbary.wording import counted

    console = screen()
    rows: list[tuple[object, ...]] = []
    for finding in found:
        rows.append((finding.what, Text(finding.state, style=_STYLES[finding.state]), finding.words))
        if finding.remedy:
            rows.append(("", "", f"→ {finding.remedy}"))
    console.print(table(("what", "state", "found"), rows))
    problems = sum(finding.state == "problem" for finding in found)
    console.print(f"\n{counted(problems, 'problem')}." if problems else "\nNo problem was found.")
