"""The protocols' settings as options of a command, and a protocol from what was typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.checks import did_you_mean
from fedbary.cli.ui.completion import one_of
from fedbary.cli.ui.settings_options import SettingsOfOneOf
from fedbary.errors import SettingsError
from fedbary.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from fedbary.protocols.messages import Settings

PROTOCOL_OPTIONS = SettingsOfOneOf(PROTOCOLS, panel="The protocol")
ProtocolName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="sketch (default with a reference), cards (default without), interpolation (the paper's) or triangle.",
        rich_help_panel=PROTOCOL_OPTIONS.panel,
        autocompletion=one_of(*PROTOCOLS),
    ),
]


def chosen_protocol(name: str, **typed: object) -> Settings:
    """A protocol's settings from the options that were typed; one that it does not have is refused.

    Examples
    --------
    >>> chosen_protocol("triangle", support=50).support
    50
    >>> chosen_protocol("triangle", rounds=3)
    Traceback (most recent call last):
    fedbary.errors.SettingsError: --rounds is not an option of the triangle protocol: ... interpolation.
    """
    if name not in PROTOCOLS:
        guess = did_you_mean(name, PROTOCOLS)
        raise SettingsError("settings.no-protocol", name=name, guess=guess, known=", ".join(PROTOCOLS))
    for option in typed:
        owners = PROTOCOL_OPTIONS.owners(option)
        if name not in owners:
            raise SettingsError(
                "cli.option-of-another-protocol",
                typed=f"--{option.replace('_', '-')}",
                protocol=name,
                owners=" or ".join(owners),
            )
    return PROTOCOLS[name](**typed)
