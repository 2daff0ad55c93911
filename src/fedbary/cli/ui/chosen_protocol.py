"""A protocol and its settings from what a user typed."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from fedbary.checks import did_you_mean
from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from fedbary.protocols.messages import Settings


def chosen_protocol(name: str, **given: object) -> Settings:
    """A protocol's settings from the options that were given; one that it does not have is refused."""
    from fedbary.protocols import registry

    known = registry.PROTOCOLS
    if name not in known:
        raise SettingsError(f"There is no protocol {name!r}{did_you_mean(name, known)}; there is {', '.join(known)}.")
    for option, value in given.items():
        if value is not None and option not in _options(known[name]):
            owners = [other for other, settings in known.items() if option in _options(settings)]
            raise SettingsError(
                f"--{option.replace('_', '-')} is not an option of the {name} protocol: leave it out, or choose "
                f"--protocol {' or '.join(owners)}."
            )
    return known[name](**{option: value for option, value in given.items() if value is not None})


def _options(settings: object) -> set[str]:
    return {field.name for field in fields(settings)}  # type: ignore[arg-type]
