"""`fedbary federation doctor`: everything that can be wrong with a federation, with what to type."""

from __future__ import annotations

import typer

from fedbary.cli.commands.doctor import BROKEN
from fedbary.cli.commands.federation_status import Folder
from fedbary.cli.ui.options import Json


def doctor(folder: Folder, *, json: Json = False) -> None:
    """Check everything about a federation, and say what to type where something is wrong.

    The programs, the folder and who can read it, keys and certificates, the server and what it shows, the nodes, the
    clock, and the disk. Every line is ok, missing (a node that is off, for one) or a problem, with the remedy. Nothing
    is changed. Exit code 2: there is a problem.
    """
    from fedbary.cli.commands.federation_findings import findings
    from fedbary.cli.ui.findings import report_findings
    from fedbary.cli.ui.next_steps import run_step, show_steps
    from fedbary.cli.ui.tables import screen
    from fedbary.deploy.network import opened

    place, plan, net = opened(folder)
    found = net.status(place)
    healthy = report_findings(findings(place, plan, net, found), json=json, commands=True)
    step = net.next_step(place, plan, found) or (run_step(place) if healthy else None)
    if not json and step is not None:
        console = screen()
        console.print("")
        show_steps(console, "Next, type", [step])
    if not healthy:
        raise typer.Exit(BROKEN)
