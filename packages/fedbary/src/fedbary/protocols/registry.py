"""All protocols by name: those of this package, and those that another one offers for one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fedbary.checks import did_you_mean
from fedbary.errors import SettingsError
from fedbary.protocols.cards import Cards
from fedbary.protocols.interpolation import Interpolation
from fedbary.protocols.sketch import Sketch
from fedbary.satellites import Registry

if TYPE_CHECKING:
    from fedbary.protocols.forms import Exchange, Learned
    from fedbary.protocols.messages import Settings

# They may travel: a policy, the forms of their messages and the attacks of the audit know them.
# What a run is that names no protocol.
DEFAULT = Cards.name
PROTOCOLS: dict[str, Callable[..., Settings]] = {"sketch": Sketch, "cards": Cards, "interpolation": Interpolation}
_OFFERED: Registry[Callable[..., Settings]] = Registry("fedbary.protocols", PROTOCOLS, lambda _, settings: settings)


def protocol_named(name: str, *, in_one_process: bool = False) -> Callable[..., Settings]:
    """The settings of a protocol; ``in_one_process`` also of one that an installed package offers by an entry point."""
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if name in _OFFERED:
        if in_one_process:
            return _OFFERED[name]
        raise only_in_one_process(name)
    known = _OFFERED.offered() if in_one_process else list(PROTOCOLS)
    raise SettingsError("settings.no-protocol", name=name, guess=did_you_mean(name, known), known=", ".join(known))


def only_in_one_process(name: str) -> SettingsError:
    """That a protocol of another package, or a variant of one, is not for parties that are apart."""
    return SettingsError("settings.protocol-in-one-process", name=name, known=", ".join(PROTOCOLS))


def exchanges_of(protocol: str) -> Mapping[str, Exchange]:
    """The forms of a protocol's messages and replies, by the kind of the message."""
    found: Mapping[str, Exchange] = _forms(protocol).EXCHANGES
    return found


def claims_of(protocol: str) -> tuple[str, ...]:
    """What a client of a protocol says of itself, and nobody else can check."""
    from fedbary.protocols.forms import claims

    return claims(exchanges_of(protocol))


def learned(settings: Mapping[str, Any]) -> Learned | None:
    """What each party learned from a run, by its settings and the records of its protocol; None for other protocols."""
    from fedbary.protocols.forms import Learned, exposed, sentences

    protocol = settings.get("protocol")
    if protocol not in PROTOCOLS:
        return None
    nobody = "Rows, row values and flags: they stayed where the rows are."
    if protocol == Interpolation.name:
        nobody = "The raw rows of another party: none was sent. Row values were computed where the rows are."
    if exposed(settings):
        nobody = "No row was sent as such, but see the warning."
    server, clients = sentences(exchanges_of(protocol), settings)
    return Learned(tuple(server), tuple(clients), (nobody,), _forms(protocol).warnings(settings))


def _forms(protocol: str) -> Any:
    return import_module(f"fedbary.protocols.{protocol}.forms")
