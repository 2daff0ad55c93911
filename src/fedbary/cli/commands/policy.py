"""`fedbary policy`: an owner's policy file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbary.cli.ui.command_kinds import Command, Group, example_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import Json
from fedbary.errors import SettingsError

policy = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Your policy file: what may leave this machine, whatever a server asks for.",
    epilog=example_of("fedbary policy init policy.toml"),
)


@policy.command(cls=Command, epilog=example_of("fedbary policy init policy.toml"))
def init(
    file: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("policy.toml"),
) -> None:
    """Write a policy file that explains its keys; only you can read it, and none is overwritten."""
    import os

    from fedbary.cli.ui.tables import screen
    from fedbary.guard.policy import OwnerPolicy

    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise SettingsError("cli.policy-exists", file=str(file)) from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(OwnerPolicy().to_toml())
    screen().print(f"written  {file}", soft_wrap=True)


@policy.command(cls=Command, epilog=example_of("fedbary policy check policy.toml"))
def check(
    file: Annotated[Path, typer.Argument(help="Your policy file.")] = Path("policy.toml"), json: Json = False
) -> None:
    """Read a policy file and say what it allows; a wrong key or value ends with exit code 2."""
    from dataclasses import asdict

    from fedbary.cli.ui.tables import screen, table
    from fedbary.guard.policy import OwnerPolicy

    values = asdict(OwnerPolicy.load(file))
    if json:
        write_json(values)
        return
    rows = [(key, ", ".join(value) if isinstance(value, tuple) else _in_words(value)) for key, value in values.items()]
    screen().print(table(("key", "value"), rows))


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "no limit" if value is None else str(value)
