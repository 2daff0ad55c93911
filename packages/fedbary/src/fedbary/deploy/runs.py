"""Runs of a federation: what is typed as the values of a run config, and a run until it is known how it ended."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.checks import did_you_mean
from fedbary.engines.coordinator import OWN_KEYS, RunOutcome, read_outcome
from fedbary.errors import SettingsError
from fedbary.protocols.messages import Scalar
from fedbary.protocols.registry import PROTOCOLS
from fedbary.space.options import Space

if TYPE_CHECKING:
    from fedbary.deploy.network import Network, Standing

_OF_PROTOCOLS = [field.name for settings in PROTOCOLS.values() for field in fields(settings)]  # type: ignore[arg-type]
_OF_SPACE = [f"space-{field.name}" for field in fields(Space)]
# Empty: the protocol's own default.
RUN_KEYS: Mapping[str, Scalar] = {
    **OWN_KEYS,
    **dict.fromkeys((name.replace("_", "-") for name in [*_OF_PROTOCOLS, *_OF_SPACE]), ""),
}


def typed_settings(typed: Iterable[str], known: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Settings that were typed as ``key=value``, each of its default's type; unknown keys are refused."""
    found: dict[str, Scalar] = {}
    for one in typed:
        key, equals, value = one.partition("=")
        key = key.strip()
        if not equals:
            raise SettingsError("deploy.not-a-setting", typed=one)
        if key not in known:
            raise SettingsError("deploy.unknown-setting", key=key, guess=did_you_mean(key, known))
        found[key] = _value(key, value.strip(), known[key])
    return found


def _value(key: str, text: str, default: Scalar) -> Scalar:
    if isinstance(default, str) and default:
        return text
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int | float):
            return type(default)(text)
    except (KeyError, ValueError):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}[type(default)]
        raise SettingsError("deploy.setting-value", key=key, value=text, kind=kind) from None
    return _guessed(text)


def _guessed(text: str) -> Scalar:
    """The protocol knows what it wants: a number where the text is one."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else text
    return text


_ASK_EVERY = 5.0  # seconds: the network is asked by a program of its own, which takes a second or two
_MOST_UNKNOWN = 6


class SubmittedRun:
    """A run in a federation.

    Its outcome is what the server has written into the run's folder. The network is asked as well, for a run that dies
    before it can write anything.

    Parameters
    ----------
    network, folder, number
        The network, the federation's folder, and the network's id of the run.
    output : Path
        The folder that the run writes to.
    ours : bool
        Whether it is a run of fedbary's, which leaves an outcome there.
    trains : bool
        Whether it goes on after its outcome is known, with training.
    """

    def __init__(
        self, network: Network, folder: Path, number: str, output: Path, *, ours: bool = True, trains: bool = False
    ) -> None:
        self.number, self.output, self.ours, self._trains = number, output, ours, trains
        self._network, self._folder = network, folder
        self._asking: Future[Standing] | None = None
        self._asker = ThreadPoolExecutor(1)
        self._asked, self._unknown = time.monotonic(), 0
        self.why = ""

    @property
    def outcome(self) -> RunOutcome | None:
        """How it ended, as the server has written; None while it has not, and where an earlier run wrote it."""
        found = read_outcome(self.output)
        return found if found is not None and found.run == self.number and found.exit_code is not None else None

    def is_over(self) -> bool:
        """Whether nothing more is to come."""
        known = self.outcome
        if known is not None and not (self._trains and known.report):
            return True
        return self._is_over_for_the_network()

    def stop(self) -> bool:
        """End it; returns whether the network did."""
        return self._network.stop(self._folder, self.number)

    def _is_over_for_the_network(self) -> bool:
        if self._asking is None:
            if time.monotonic() - self._asked >= _ASK_EVERY:
                self._asking = self._asker.submit(self._network.standing, self._folder, self.number)
            return False
        if not self._asking.done():
            return False
        found, self._asking, self._asked = self._asking.result(), None, time.monotonic()
        self._unknown = self._unknown + 1 if found.state == "unknown" else 0
        self.why = found.why or ("the server has stopped answering" if self._unknown else "")
        return found.state == "over" or self._unknown >= _MOST_UNKNOWN
