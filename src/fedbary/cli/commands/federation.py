"""`fedbary federation`: set up a real federation on Flower, and see how it is doing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.ui.command_kinds import Command, Group, example_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json
from fedbary.cli.ui.terminal_text import paragraphs

if TYPE_CHECKING:
    from rich.console import Console

_KEYS = {"pair": "key pair", "public": "public key", "none": "none"}
_SOON = 30

federation = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Set up a real federation on Flower, with TLS and a key for every node, and see how it is doing.",
    epilog=example_of("fedbary federation init my-federation --nodes north,south --host fed.example.org"),
)


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
) -> None:
    """Make the certificates, the keys and the scripts of a new federation.

    DIR/README.md says who gets which file, and how to start. Each data owner gets one folder, DIR/nodes/NAME, with a
    key that is theirs. Nothing is started, and nothing is sent.
    """
    from fedbary.cli.ui.tables import screen
    from fedbary.deploy.plan import Plan
    from fedbary.deploy.setup import create

    plan = Plan(
        [name.strip() for name in nodes.split(",") if name.strip()],
        host=host,
        port=port,
        node_port=node_port,
        days=days,
        san=[entry.strip() for entry in (san or "").split(",") if entry.strip()],
    )
    made = create(folder, plan)
    console = screen()
    console.print(f"A federation of {len(plan.nodes)} with its server at {plan.address}, in {made}\n", soft_wrap=True)
    console.print("Read README.md there: it says who gets which file. Then")
    console.print("  ./server.sh                    on the server, left running")
    console.print("  ./register.sh                  once, while it runs")
    console.print("  ./node-NAME.sh DATA-FILE       on each owner's machine, in its folder")
    console.print("  ./run.sh APP-FOLDER            to run a Flower app")


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A federation's folder.", show_default=False)],
    *,
    json: Json = False,
) -> None:
    """Say when the certificates end, whether the server answers, and which nodes are registered and online."""
    from fedbary.cli.ui.tables import screen
    from fedbary.deploy.status import status as look

    found = look(folder)
    if json:
        write_json(found)
    else:
        _show(screen(), found)


def _show(console: Console, found: dict[str, Any]) -> None:
    from fedbary.cli.ui.tables import table
    from fedbary.wording import counted

    server = found["server"]
    console.print(
        f"The server at {found['address']} answers."
        if server["answers"] and not server["problem"]
        else f"The server at {found['address']}: {server['problem']}.",
        soft_wrap=True,
    )
    for name, certificate in found["certificates"].items():
        title = {"ca": "The authority's certificate", "server": "The server's certificate"}[name]
        days = certificate["days_left"]
        if days is None:
            console.print(f"{title} cannot be read.")
        elif days < 0:
            console.print(f"{title} has expired on {certificate['expires'][:10]}: make a new federation.", style="red")
        else:
            style = "yellow" if days < _SOON else None
            console.print(
                f"{title} is valid for {counted(days, 'day')}, to {certificate['expires'][:10]}.", style=style
            )
    rows = [(node["name"], _KEYS[node["key"]], node["status"], node["node_id"] or "–") for node in found["nodes"]]
    rows += [("(of nobody here)", "–", node["status"], node["node_id"]) for node in found["other_nodes"]]
    console.print("")
    console.print(table(("node", "key here", "status", "Flower's id"), rows))


for _command, _example in (
    (init, "fedbary federation init my-federation --nodes north,south --host fed.example.org --port 8443"),
    (status, "fedbary federation status my-federation"),
):
    federation.command(cls=Command, help=paragraphs(_command.__doc__), epilog=example_of(_example))(_command)
