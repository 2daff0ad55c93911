"""`fedbary federation status`: the server, the certificates and the nodes at a glance."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json
from fedbary.cli.ui.session import program

if TYPE_CHECKING:
    from rich.console import Console

_KEYS = {"pair": "key pair", "public": "public key", "none": "none"}
_SOON = 30

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A federation's folder.", show_default=False)]


def status(folder: Folder, *, json: Json = False) -> None:
    """Say when the certificates end, whether the server answers, and which nodes are registered and online."""
    from fedbary.cli.ui.next_steps import run_step, show_steps
    from fedbary.cli.ui.tables import screen
    from fedbary.deploy.network import opened

    place, plan, net = opened(folder)
    found = net.status(place)
    if json:
        write_json(found)
        return
    console = screen()
    _show(console, found)
    console.print("")
    show_steps(console, "Next, type", [net.next_step(place, plan, found) or run_step(place)])


def _show(console: Console, found: dict[str, Any]) -> None:
    from fedbary.cli.ui.tables import table
    from fedbary.cli.ui.terminal_text import one_line
    from fedbary.wording import counted

    server = found["server"]
    renew = f"{program()} federation rotate-keys {quote(found['folder'])} --server"
    console.print(
        f"The server at {found['address']} answers."
        if server["answers"] and not server["problem"]
        else f"The server at {found['address']}: {one_line(server['problem'])}.",
        soft_wrap=True,
    )
    for name, certificate in found["certificates"].items():
        title = {"ca": "The authority's certificate", "server": "The server's certificate"}[name]
        days = certificate["days_left"]
        if days is None:
            console.print(f"{title} cannot be read.")
        elif days < 0:
            console.print(
                f"{title} has expired on {certificate['expires'][:10]}: type {renew}", style="red", soft_wrap=True
            )
        else:
            style = "yellow" if days < _SOON else None
            console.print(
                f"{title} is valid for {counted(days, 'day')}, to {certificate['expires'][:10]}.", style=style
            )
    rows = [(node["name"], _KEYS[node["key"]], node["status"], node["node_id"] or "–") for node in found["nodes"]]
    rows += [("(of nobody here)", "–", node["status"], node["node_id"]) for node in found["other_nodes"]]
    console.print("")
    console.print(table(("node", "key here", "status", "id at the server"), rows))
