"""The config of a networked run as settings: the protocol, its options, the space, flags, and how long to wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fedbary.checks import did_you_mean
from fedbary.engines.attendance import Attendance
from fedbary.engines.networked import Patience
from fedbary.errors import SettingsError
from fedbary.protocols.messages import Settings
from fedbary.protocols.registry import PROTOCOLS
from fedbary.space.options import Space
from fedbary.valuation.rules import RowRules

_SPACE, _SIMULATED = "space-", ("dataset", "partition", "clients", "rows")
_OWN = (
    "protocol", "reference", "label", "id", "output", "resume", "seed", "num-nodes", "min-nodes", "join-deadline",
    "timeout", "retries", "poll", "fdr", "rule", "calibration",
)  # fmt: skip


@dataclass(frozen=True)
class RunConfig:
    """Everything that ``flwr run --run-config``, or the config of a FLARE job, can say."""

    protocol: Settings
    rules: RowRules
    space: Space
    seed: int
    simulation: Mapping[str, Any]
    reference: Path | None
    label: str
    id: str | None
    output: Path
    resume: bool
    attendance: Attendance
    patience: Patience

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> RunConfig:
        """Read a run config; an empty text stands for a setting's default."""
        given = {key: value for key, value in config.items() if value != ""}
        simulation = {key: given[key] for key in _SIMULATED if key in given}
        reference = given.get("reference")
        name = str(given.get("protocol", "sketch" if reference or simulation else "cards"))
        if name not in PROTOCOLS:
            guess = did_you_mean(str(name), PROTOCOLS)
            raise SettingsError("settings.no-protocol", name=name, guess=guess, known=", ".join(PROTOCOLS))
        known = {field.name.replace("_", "-") for field in fields(PROTOCOLS[name])}  # type: ignore[arg-type]
        for key in given:
            if key not in (*_OWN, *_SIMULATED, *known) and not key.startswith(_SPACE):
                raise SettingsError("engines.unknown-run-config", key=key, owner=f"the {name} protocol")
        protocol = PROTOCOLS[name](**{key.replace("-", "_"): given[key] for key in given if key in known})
        seed = int(given.get("seed", 0))
        if simulation:
            simulation |= {"seed": seed, "run_seed": seed}
        rules = RowRules(**{key: given[key] for key in ("fdr", "rule", "calibration") if key in given})
        least = given.get("min-nodes")
        return cls(
            protocol=protocol,
            rules=rules,
            simulation=simulation,
            space=protocol.space(_space(given)),
            seed=seed,
            reference=None if reference is None else Path(str(reference)),
            label=str(given.get("label", "label")),
            id=None if "id" not in given else str(given["id"]),
            output=Path(str(given.get("output", "fedbary-out"))),
            resume=bool(given.get("resume", False)),
            attendance=Attendance(
                int(given.get("num-nodes", given.get("clients", 2))),
                int(least) if least else None,
                float(given.get("join-deadline", 120.0)),
            ),
            patience=Patience(
                float(given.get("timeout", 600.0)), float(given.get("poll", 0.2)), int(given.get("retries", 1))
            ),
        )


def _space(given: Mapping[str, Any]) -> Space:
    chosen = {key.removeprefix(_SPACE).replace("-", "_"): given[key] for key in given if key.startswith(_SPACE)}
    known = {field.name for field in fields(Space)}
    for key in chosen:
        if key not in known:
            raise SettingsError("engines.unknown-run-config", key=f"{_SPACE}{key}", owner="the space")
    return Space(**chosen)
