"""What different methods say the same clients are worth."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary import __version__
from fedbary.checks import did_you_mean
from fedbary.data.export import write
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError, SettingsError
from fedbary.research.comparison.compared_tables import tables_of
from fedbary.research.comparison.measures import agreement
from fedbary.research.comparison.protocols import PROTOCOL_METHODS, protocol_scores
from fedbary.research.unfinished import Unfinished, fingerprints
from fedbary.valuation.scores import ClientScores

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fedbary.api import Data
    from fedbary.research.baselines.clients import Prepared
    from fedbary.research.training import FedAvg, Federation, TrainingLog
    from fedbary.views.plots import Display

# With more clients, methods that play all 2^N coalitions take too long to be a default.
_FEW_CLIENTS = 14
_FILE, _LOG = "comparison.json", "training-log.npz"
_TRAINING, _SCORES = "training with all clients", "scores.json"  # pieces of a comparison that goes on
_TABLES = ("scores.csv", "summary.csv", "plot.html")
VERSION = 1


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of the same clients by several methods.

    Parameters
    ----------
    scores : mapping
        Method → `ClientScores`.
    failed : mapping
        Method → why it could not be computed; the others are not affected.
    settings : mapping
        What is needed to repeat it: model, training, seed; and the accuracy of the trained model.
    log : TrainingLog, optional
        The training run that the methods worked on.
    """

    scores: Mapping[str, ClientScores]
    failed: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    log: TrainingLog | None = None

    def to_frame(self) -> pd.DataFrame:
        """One row per method and client: method, client, value, standard_error, share."""
        import pandas as pd

        frames = [scores.to_frame().assign(method=name) for name, scores in self.scores.items()]
        columns = ["method", "client", "value", "standard_error", "share"]
        return pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)

    def summary(self, truth: str | None = None) -> pd.DataFrame:
        """One row per method: agreement with ``truth`` (default: the one that was named, or exactFed), and cost.

        ``share_error`` is the mean absolute difference of shares.
        """
        import pandas as pd

        truth = truth or self._truth()
        if truth is not None and truth not in self.scores:
            raise SettingsError(f"'{truth}' is not among the methods compared ({', '.join(self.scores)}).")
        records = []
        for name, scores in self.scores.items():
            agreed = agreement(scores, self.scores[truth]) if truth is not None else {}
            records.append(
                {
                    "method": name,
                    **agreed,
                    "evaluations": scores.evaluations,
                    "seconds": scores.seconds,
                    "converged": scores.converged,
                }
            )
        columns = ["method", "spearman", "kendall", "share_error", "evaluations", "seconds", "converged"]
        return pd.DataFrame(records).reindex(columns=columns)

    def display(self, truth: str | None = None) -> Display:
        """Every client's share by every method; the truth comes first."""
        from fedbary.views.plots import method_shares

        return method_shares(self.to_frame(), truth or self._truth())

    def plot(self, truth: str | None = None) -> Figure:
        """`display` as a Plotly figure."""
        return self.display(truth).plot()

    def _truth(self) -> str | None:
        named = self.settings.get("truth") or "exactfed"
        return named if named in self.scores else None

    def save(self, folder: str | Path) -> Path:
        """Write ``comparison.json``, ``scores.csv``, ``summary.csv``, the training log and a JSON file per method."""
        home = Path(folder)
        for file in check_folder(home):
            file.unlink(missing_ok=True)
        (home / "scores").mkdir(parents=True, exist_ok=True)
        for name, scores in self.scores.items():
            scores.save(home / "scores" / f"{name}.json")
        if self.log is not None:
            self.log.save(home / _LOG)
        write(self.to_frame(), home / "scores.csv")
        write(self.summary(), home / "summary.csv")
        index = {
            "fedbary": "comparison",
            "version": VERSION,
            "methods": list(self.scores),
            "failed": dict(self.failed),
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }
        (home / _FILE).write_text(json.dumps(index, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return home

    @classmethod
    def load(cls, folder: str | Path) -> Comparison:
        """Read what `save` wrote."""
        home = Path(folder)
        index = _index(home)
        scores = {name: ClientScores.load(home / "scores" / f"{name}.json") for name in index["methods"]}
        log = None
        if (home / _LOG).is_file():
            from fedbary.research.training import TrainingLog

            log = TrainingLog.load(home / _LOG)
        return cls(scores, index["failed"], index["settings"], tuple(index["notes"]), log)


def _index(home: Path) -> dict[str, Any]:
    """The folder's index, checked."""
    file = home / _FILE
    if not file.is_file():
        raise DataError(f"'{home}' holds no comparison (there is no {_FILE}): check the folder.")
    try:
        index: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if index["fedbary"] != "comparison" or index["version"] != VERSION:
            raise DataError(f"'{file}' is not a comparison of version {VERSION}: compare again.")
        index["methods"] = [str(name) for name in index["methods"]]
        index["notes"] = [str(note) for note in index["notes"]]
        index["failed"], index["settings"] = dict(index["failed"]), dict(index["settings"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"'{file}' is not a comparison ({error}): compare again.") from error
    if any(name != Path(name).name for name in index["methods"]):
        raise DataError(f"'{file}' names files outside its own folder: do not trust it.")
    return index


def check_folder(folder: str | Path) -> set[Path]:
    """Refuse a folder in which saving would overwrite files that no comparison wrote; returns those that one wrote."""
    home = Path(folder)
    own: set[Path] = set()
    if (home / _FILE).is_file():
        own = {home / name for name in (_FILE, _LOG, *_TABLES)}
        own |= {home / "scores" / f"{name}.json" for name in _index(home)["methods"]}
    planned = {home / name for name in (_FILE, _LOG, *_TABLES)} | set((home / "scores").glob("*"))
    foreign = sorted(file for file in planned - own if file.exists())
    if foreign:
        raise DataError(
            f"'{home}' holds {foreign[0].relative_to(home)}, which is not from an earlier comparison and would be "
            "overwritten: choose another folder."
        )
    return own


def compare_clients(
    clients: Mapping[str, Data | FedbaryError],
    reference: Data,
    *,
    methods: Sequence[str] | None = None,
    truth: str | None = None,
    model: Any = None,
    training: FedAvg | None = None,
    log: TrainingLog | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """`fedbary.compare` with ``level="clients"``."""
    from fedbary.research.baselines.clients import METHODS

    tell = progress or (lambda _: None)
    chosen = chosen_methods(methods, truth, len(clients))
    tables, target = tables_of(clients, reference)
    unfinished = Unfinished(
        folder,
        lambda: {
            **{"version": __version__, "model": repr(model), "training": repr(training), "log": _digest(log)},
            **{"seed": seed, "max_evaluations": max_evaluations, "max_seconds": max_seconds},
            **{"clients": fingerprints(tables), "reference": fingerprints({"": target})},
        },
    )
    settings: dict[str, Any] = {"seed": seed, "reference_rows": len(target), "truth": truth}
    prepared: Prepared | None = None
    notes: list[str] = []
    why = ""
    if any(name in METHODS for name in chosen):
        from fedbary.research.baselines.clients import prepare

        try:
            federation, notes = _federation(tables, target)
            prepared = prepare(
                federation,
                model=model,
                training=training,
                log=_kept_log(unfinished) if log is None else log,
                max_evaluations=max_evaluations,
                max_seconds=max_seconds,
                seed=seed,
                tell=tell,
            )
            unfinished.keep(_TRAINING, lambda place: prepared.setting.log.save(place / _LOG))
        except FedbaryError as error:
            why = str(error)
    if prepared is not None:
        settings |= {
            "model": repr(prepared.model),
            "training": asdict(prepared.training),
            "accuracy": float(prepared.setting.evaluate(prepared.setting.log.final[None])[0]),
        }
    scores: dict[str, ClientScores] = {}
    failed: dict[str, str] = {}
    for name in chosen:
        tell(METHODS[name].title if name in METHODS else name)
        done = unfinished.find(name)
        try:
            if done is not None:
                scores[name] = ClientScores.load(done / _SCORES)
            elif name not in METHODS:
                scores[name] = protocol_scores(name, tables, target, seed=seed)
            elif prepared is None:
                failed[name] = why
            else:
                scores[name] = METHODS[name].compute(prepared.setting).among(tuple(tables))
        except FedbaryError as error:
            failed[name] = str(error)
        if name in scores:
            unfinished.keep(name, partial(_keep, scores[name]))
    unfinished.clear()
    return Comparison(scores, failed, settings, tuple(notes), None if prepared is None else prepared.setting.log)


def _keep(scores: ClientScores, place: Path) -> None:
    scores.save(place / _SCORES)


def _kept_log(unfinished: Unfinished) -> TrainingLog | None:
    from fedbary.research.training import TrainingLog

    place = unfinished.find(_TRAINING)
    return None if place is None else TrainingLog.load(place / _LOG)


def _digest(log: TrainingLog | None) -> str | None:
    """Which training run was given, by its models."""
    if log is None:
        return None
    return hashlib.sha256(log.final.tobytes() + log.initial.tobytes()).hexdigest()


def _federation(tables: Mapping[str, Table | FedbaryError], target: Table) -> tuple[Federation, list[str]]:
    """The clients that can train, and notes on the others."""
    from fedbary.research.training import Federation

    usable: dict[str, Table] = {}
    notes: list[str] = []
    for name, table in tables.items():
        try:
            if isinstance(table, FedbaryError):
                raise table
            Federation.from_tables({name: table}, target)
            usable[name] = table
        except FedbaryError as error:
            notes.append(f"{name} takes no part in the methods that train: {error}")
    if not usable:
        raise DataError(notes[0].partition(": ")[2])
    federation = Federation.from_tables(usable, target)
    return federation, [*federation.notes, *notes]


def chosen_methods(methods: Sequence[str] | None, truth: str | None, clients: int) -> list[str]:
    """The methods that were named, or the default ones for so many clients, each once."""
    from fedbary.research.baselines.clients import METHODS

    if methods is None:
        exact = ["mr", "or"] if clients <= _FEW_CLIENTS else []
        methods = ["sketch", "coalition", "gtg", *exact, "cgsv"] + (["exactfed"] if clients <= 10 else [])
    if isinstance(methods, str):
        raise SettingsError(f"The 'methods' parameter must be a list of names. Got the text {methods!r} instead.")
    if not methods:
        raise SettingsError("No method was given: name at least one.")
    methods = [*methods] if truth is None else [*methods, truth]
    for name in methods:
        if name not in METHODS and name not in PROTOCOL_METHODS:
            there = [*METHODS, *PROTOCOL_METHODS]
            raise SettingsError(f"There is no method {name!r}{did_you_mean(name, there)}; there is {', '.join(there)}.")
    return list(dict.fromkeys(methods))
