"""How what a doctor has found is shown: one line each, with the remedy to type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from fedbary.deploy.network import Finding

_STYLES = {"ok": "green", "missing": "yellow", "problem": "red"}


def report_findings(found: Sequence[Finding], *, json: bool, commands: bool = False) -> bool:
    """Print them; returns whether nothing that is needed is broken.

    Remedies are advice, wrapped like other words, or ``commands``, which stay on one line to be copied.
    """
    healthy = not any(finding.state == "problem" and finding.needed for finding in found)
    if json:
        from fedbary.cli.ui.json import write_json

        write_json({"healthy": healthy, "findings": [asdict(finding) for finding in found]})
    else:
        _show(found, commands=commands)
    return healthy


def _show(found: Sequence[Finding], *, commands: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from fedbary.cli.ui.tables import screen, table
    from fedbary.cli.ui.terminal_text import one_line
    from fedbary.wording import counted

    console = screen()
    rows = [(finding.what, Text(finding.state, style=_STYLES[finding.state]), finding.words) for finding in found]
    console.print(table(("what", "state", "found"), rows))
    remedies = [finding for finding in found if finding.remedy]
    if remedies:
        console.print("\nRemedies", style="bold")
    for finding in remedies:
        console.print(f"  # {finding.what}", style="dim")
        words = Text(one_line(finding.remedy))
        console.print(Text("  ") + words if commands else Padding(words, (0, 0, 0, 2)), soft_wrap=commands)
    problems = sum(finding.state == "problem" for finding in found)
    console.print(f"\n{counted(problems, 'problem')}." if problems else "\nNo problem was found.")
