"""The config of a networked run as settings: the protocol, its options, the space, flags, and how long to wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fedbary.checks import number, whole
from fedbary.engines.attendance import Attendance
from fedbary.engines.networked import Patience
from fedbary.errors import SettingsError, wrong_parameter
from fedbary.protocols.messages import Settings
from fedbary.protocols.registry import DEFAULT, protocol_named
from fedbary.space.options import Space
from fedbary.valuation.rows import RowRules

_SPACE, _SIMULATED = "space-", ("dataset", "partition", "clients", "rows")
_OWN = (
    "protocol", "reference", "label", "id", "output", "resume", "seed", "nodes", "num-nodes", "min-nodes",
    "join-deadline", "settle", "timeout", "retries", "poll", "fdr", "rule", "require-card", "train-rounds",
)  # fmt: skip
_OWNER = "the run config"


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
    require_card: bool = False
    train_rounds: int = 0

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> RunConfig:
        """Read a run config; an empty text stands for a setting's default."""
        given = {key: value for key, value in config.items() if value != ""}
        simulation = {key: given[key] for key in _SIMULATED if key in given}
        reference = given.get("reference")
        name = str(given.get("protocol", DEFAULT))
        settings = protocol_named(name)
        known = {field.name.replace("_", "-") for field in fields(settings)}  # type: ignore[arg-type]
        for key in given:
            if key not in (*_OWN, *_SIMULATED, *known) and not key.startswith(_SPACE):
                raise SettingsError("engines.unknown-run-config", key=key, owner=f"the {name} protocol")
        protocol = settings(**{key.replace("-", "_"): given[key] for key in given if key in known})
        seed = whole(given.get("seed", 0), "seed", _OWNER, least=0)
        if simulation:
            simulation |= {"seed": seed, "run_seed": seed}
        rules = RowRules(**{key: given[key] for key in ("fdr", "rule") if key in given})
        return cls(
            protocol=protocol,
            rules=rules,
            simulation=simulation,
            space=protocol.space(_space(given)),
            seed=seed,
            reference=None if reference is None else Path(str(reference)),
            label=str(given.get("label", "label")),
            id=None if "id" not in given else str(given["id"]),
            output=output_folder(config),
            resume=bool(given.get("resume", False)),
            attendance=_attendance(given),
            patience=Patience(
                number(given.get("timeout", 600.0), "timeout", _OWNER),
                number(given.get("poll", 0.2), "poll", _OWNER),
                whole(given.get("retries", 1), "retries", _OWNER, least=0),
            ),
            require_card=bool(given.get("require-card", False)),
            train_rounds=whole(given.get("train-rounds", 0), "train-rounds", _OWNER, least=0),
        )


def output_folder(config: Mapping[str, Any]) -> Path:
    """Where the server writes, also where all else in a run config is wrong."""
    return Path(str(config.get("output") or "fedbary-out"))


def _attendance(given: Mapping[str, Any]) -> Attendance:
    """Everybody, unless names or numbers say otherwise; a simulation has as many nodes as ``clients``.

    Its server begins while nodes are still registered, so that only a number tells when all are there.
    """
    counted = {key: whole(given.get(key, 0), key, _OWNER, least=0) for key in ("num-nodes", "min-nodes", "clients")}
    names = tuple(filter(None, (name.strip() for name in str(given.get("nodes", "")).split(","))))
    most = counted["num-nodes"] or len(names) or counted["clients"]
    for key in ("num-nodes", "min-nodes"):
        limit = len(names) if key == "num-nodes" else most
        if limit and counted[key] > limit:
            raise wrong_parameter(key, _OWNER, f"at most {limit}, as no more nodes are asked", counted[key])
    wanted = counted["num-nodes"] or (0 if names else counted["clients"])
    deadline, settle = (
        number(given.get(key, default), key, _OWNER, zero=True)
        for key, default in (("join-deadline", Attendance.deadline), ("settle", Attendance.settle))
    )
    return Attendance(wanted or None, counted["min-nodes"] or None, deadline, names, settle)


def _space(given: Mapping[str, Any]) -> Space:
    chosen = {key.removeprefix(_SPACE).replace("-", "_"): given[key] for key in given if key.startswith(_SPACE)}
    known = {field.name for field in fields(Space)}
    for key in chosen:
        if key not in known:
            raise SettingsError("engines.unknown-run-config", key=f"{_SPACE}{key}", owner="the space")
    return Space(**chosen)
