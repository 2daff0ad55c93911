"""`fedbary federation`: set up a real federation, look after it, and run valuations in it."""

from __future__ import annotations

import typer

from fedbary.cli.commands.federation_doctor import doctor
from fedbary.cli.commands.federation_init import init
from fedbary.cli.commands.federation_nodes import add_node, rotate_keys
from fedbary.cli.commands.federation_run import run
from fedbary.cli.commands.federation_status import status
from fedbary.cli.ui.command_kinds import Command, Group, example_of
from fedbary.cli.ui.terminal_text import paragraphs

federation = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Set up a real federation with TLS and a key for every node, look after it, and run valuations in it.",
    epilog=example_of("fedbary federation init my-federation --nodes north,south --host fed.example.org"),
)
for _name, _command, _example in (
    ("init", init, "fedbary federation init my-federation --nodes north,south --host fed.example.org --port 8443"),
    (
        "run",
        run,
        "fedbary federation run my-federation --reference validation.parquet --label diagnosis -o out",
    ),
    ("status", status, "fedbary federation status my-federation"),
    ("doctor", doctor, "fedbary federation doctor my-federation"),
    ("add-node", add_node, "fedbary federation add-node my-federation east"),
    ("rotate-keys", rotate_keys, "fedbary federation rotate-keys my-federation north"),
):
    federation.command(_name, cls=Command, help=paragraphs(_command.__doc__), epilog=example_of(_example))(_command)
