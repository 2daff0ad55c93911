"""What a doctor has found: one line each, with the remedy to type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

_STYLES = {"ok": "green", "missing": "yellow", "problem": "red"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; ``needed`` where nothing works without it."""

    what: str
    state: Literal["ok", "missing", "problem"]
    words: str
    remedy: str = ""
    needed: bool = False


def report_findings(found: Sequence[Finding], *, json: bool) -> bool:
    """Print them; returns whether nothing that is needed is broken."""
    healthy = not any(finding.state == "problem" and finding.needed for finding in found)
    if json:
        from fedbary.cli.ui.json import write_json

        write_json({"healthy": healthy, "findings": [asdict(finding) for finding in found]})
    else:
        _show(found)
    return healthy


def _show(found: Sequence[Finding]) -> None:
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
