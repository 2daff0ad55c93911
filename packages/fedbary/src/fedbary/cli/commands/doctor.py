"""`fedbary doctor`: what is installed, what is missing, and what to type."""

from __future__ import annotations

import typer

from fedbary.cli.ui.options import Json

BROKEN = 2


def doctor(json: Json = False) -> None:
    """Look at this installation: versions, extras, data folder, browser, Flower, GPU and threads.

    Every line is ok, missing (an extra that you may not need) or a problem, with the remedy. Nothing is changed, and
    the network is not used. Exit code 2: something that fedbary cannot do without is broken.
    """
    from fedbary.cli.commands.doctor_findings import findings
    from fedbary.cli.ui.findings import report_findings

    if not report_findings(findings(), json=json):
        raise typer.Exit(BROKEN)
