"""`fedbary federation add-node` and `rotate-keys`: who may take part changes while the federation is in use."""

from __future__ import annotations

from typing import Annotated

import typer

from fedbary.checks import did_you_mean
from fedbary.cli.commands.federation_status import Folder
from fedbary.errors import SettingsError


def add_node(
    folder: Folder,
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="The new nodes.", show_default=False)],
) -> None:
    """Add data owners to a federation, while it runs if it does.

    Each gets a folder, DIR/nodes/NAME, with a key of its own; nothing of the others changes. Where the server runs, it
    is told of them at once; the lines at the end say whom to send what, and what to type next.
    """
    from dataclasses import replace

    from fedbary.cli.ui.next_steps import run_step, show_steps
    from fedbary.cli.ui.tables import screen
    from fedbary.deploy.network import opened
    from fedbary.wording import counted

    place, plan, net = opened(folder)
    for name in names:
        if name in plan.nodes:
            raise SettingsError("deploy.node-there", name=name)
    grown = replace(plan, nodes=(*plan.nodes, *names))
    known = net.add_nodes(place, grown, names)
    console = screen()
    console.print(f"The federation has {counted(len(grown.nodes), 'node')} now.")
    for name in names:
        console.print(f"Send the folder {place / 'nodes' / name} to {name}, over a safe channel.", soft_wrap=True)
    if not known:
        console.print("The server does not run: it has not heard of them yet.")
    found = net.status(place)
    new = [node for node in found["nodes"] if node["name"] in names]
    step = net.next_step(place, grown, {**found, "nodes": new})
    console.print("")
    show_steps(console, "Next, type", [step or run_step(place)])


def rotate_keys(
    folder: Folder,
    nodes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NODE…]", help="Nodes that get a new key. Default: all.", show_default=False),
    ] = None,
    *,
    server: Annotated[
        bool, typer.Option("--server", help="A new certificate of the server; the nodes' keys stay, unless named.")
    ] = False,
) -> None:
    """Replace keys that are old, or that somebody else may have seen.

    A node's new key is told to the server, which refuses the old one from then on; so the server must run. The new
    certificate of the server is signed by the authority in DIR/ca, by which the nodes know it again; start the server
    anew afterwards. The lines at the end say what has to be sent to whom. What was interrupted can be done again.
    """
    from fedbary.cli.ui.next_steps import doctor_step, show_steps
    from fedbary.cli.ui.tables import screen
    from fedbary.deploy.network import opened

    place, plan, net = opened(folder)
    for name in nodes or ():
        if name not in plan.nodes:
            guess = did_you_mean(name, plan.nodes)
            raise SettingsError("deploy.no-node", name=name, guess=guess, known=", ".join(plan.nodes))
    chosen = list(nodes) if nodes else [] if server else list(plan.nodes)
    files = net.rotate(place, plan, chosen, server=server)
    console = screen()
    for file in files:
        owner = file.split("/")[1]
        console.print(f"Send {place / file} to {owner}, over a safe channel.", soft_wrap=True)
    if chosen:
        console.print("A node goes on as soon as it is started with its new key; the old one is refused.")
    console.print("")
    restart = [net.steps(place, plan)[0]] if server else []
    show_steps(console, "Next, end the server and type" if server else "Next, type", [*restart, doctor_step(place)])
