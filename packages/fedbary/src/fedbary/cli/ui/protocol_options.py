"""The protocols' settings as options of a command, and a protocol from what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.settings_options import SettingsOfOneOf
from fedbary.errors import SettingsError
from fedbary.protocols.registry import PROTOCOLS, protocol_named

if TYPE_CHECKING:
    from fedbary.protocols.messages import Settings

PROTOCOL_OPTIONS = SettingsOfOneOf(PROTOCOLS, panel="The protocol")
ProtocolName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="cards (default), sketch (only scalars leave a client), or interpolation (the paper's).",
        rich_help_panel=PROTOCOL_OPTIONS.panel,
        autocompletion=one_of(*PROTOCOLS),
    ),
]


def chosen_protocol(name: str, typed: Mapping[str, object], *, in_one_process: bool = False) -> Settings:
    """A protocol's settings from the options that were typed; one that it does not have is refused.

    Examples
    --------
    >>> chosen_protocol("sketch", {"support": 50}).support
    50
    >>> chosen_protocol("sketch", {"rounds": 3})
    Traceback (most recent call last):
    fedbary.errors.SettingsError: --rounds is not an option of the sketch protocol: ... interpolation.
    """
    settings = PROTOCOLS.get(name) or protocol_named(name, in_one_process=in_one_process)
    has = {field.name for field in fields(settings)}  # type: ignore[arg-type]
    for option in typed:
        if option not in has:
            raise SettingsError(
                "cli.option-of-another-protocol",
                typed=f"--{option.replace('_', '-')}",
                protocol=name,
                owners=" or ".join(PROTOCOL_OPTIONS.owners(option)),
            )
    return settings(**typed)
