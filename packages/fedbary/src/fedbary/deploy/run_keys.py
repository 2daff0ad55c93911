"""The keys of a run config with their defaults, and what is typed as their values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields

from fedbary.checks import did_you_mean
from fedbary.errors import SettingsError
from fedbary.protocols.registry import PROTOCOLS
from fedbary.space.options import Space

Scalar = str | int | float | bool

_OWN: dict[str, Scalar] = {
    "protocol": "",
    "reference": "",
    "label": "label",
    "id": "",
    "output": "fedbary-out",
    "resume": False,
    "seed": 0,
    "nodes": "",
    "num-nodes": 0,
    "min-nodes": 0,
    "join-deadline": 120.0,
    "settle": 3.0,
    "timeout": 600.0,
    "retries": 1,
    "poll": 0.2,
    "fdr": 0.1,
    "rule": "bh",
    "require-card": False,
    "train-rounds": 0,
}
_OF_PROTOCOLS = [field.name for settings in PROTOCOLS.values() for field in fields(settings)]  # type: ignore[arg-type]
_OF_SPACE = [f"space-{field.name}" for field in fields(Space)]
# Empty: the protocol's own default.
RUN_KEYS: Mapping[str, Scalar] = {
    **_OWN,
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
