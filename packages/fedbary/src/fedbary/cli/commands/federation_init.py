"""`fedbary federation init`: the folder of a new federation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.options import comma_separated
from fedbary.deploy.plan import ENGINES


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.", show_default=False)],
    *,
    nodes: Annotated[
        str, typer.Option(metavar="NAMES", help="The data owners' nodes, separated by commas.", show_default=False)
    ],
    host: Annotated[str, typer.Option(help="Name or address at which the nodes find the server.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The server's port.")] = 8443,
    node_port: Annotated[int, typer.Option(help="The first node's port on its own machine; the others follow.")] = 9500,
    days: Annotated[int, typer.Option(help="How long the certificates are valid.")] = 365,
    san: Annotated[
        str | None, typer.Option(metavar="LIST", help="More names of the server: DNS:fed.example.org,IP:192.0.2.7")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What carries the messages: flower, or nvflare (NVIDIA FLARE).",
            autocompletion=one_of(*ENGINES),
        ),
    ] = "flower",
) -> None:
    """Make the certificates, the keys and the scripts of a new federation.

    DIR/README.md says who gets which file, and how to start. Each data owner gets one folder, DIR/nodes/NAME, with a
    key that is theirs. Nothing is started, and nothing is sent: the last lines say what to type next.
    """
    from fedbary.cli.ui.next_steps import run_step, show_steps
    from fedbary.cli.ui.tables import screen
    from fedbary.deploy.network import network
    from fedbary.deploy.plan import Plan
    from fedbary.wording import counted

    plan = Plan(
        comma_separated(nodes),
        host=host,
        port=port,
        node_port=node_port,
        days=days,
        san=comma_separated(san or ""),
        engine=engine,
    )
    net = network(plan.engine)
    made = net.create(folder, plan)
    first, *later = net.steps(made, plan)
    console = screen()
    console.print(
        f"A federation of {counted(len(plan.nodes), 'node')} with its server at {plan.address}, in {made}\n"
        "README.md there says who gets which file.\n",
        soft_wrap=True,
    )
    show_steps(console, "Next, type", [first])
    console.print("")
    show_steps(console, "Then", [*later, run_step(made)])
