"""`compare()`: what different methods say the same clients are worth."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.api import PROTOCOLS, value
from fedbary.data.export import write
from fedbary.data.table import Table, as_table
from fedbary.errors import DataError, FedbaryError, SettingsError
from fedbary.valuation.scores import ClientScores

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.api import Data
    from fedbary.baselines.clients import Prepared
    from fedbary.training import FedAvg, TrainingLog

_FILE, _LOG = "comparison.json", "training-log.npz"
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
        """One row per method: agreement with ``truth`` (default exactFed, if it was computed), cost, convergence.

        ``share_error`` is the mean absolute difference of shares.
        """
        import pandas as pd

        truth = truth or ("exactfed" if "exactfed" in self.scores else None)
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

    def save(self, folder: str | Path) -> Path:
        """Write ``comparison.json``, ``scores.csv``, ``summary.csv``, the training log and a JSON file per method."""
        home = Path(folder)
        if (home / "scores").exists() and not (home / _FILE).is_file():
            raise DataError(f"'{home}' holds a folder 'scores' that is not from a comparison: choose another folder.")
        (home / "scores").mkdir(parents=True, exist_ok=True)
        for old in (home / "scores").glob("*.json"):
            old.unlink()
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
        file = Path(folder) / _FILE
        if not file.is_file():
            raise DataError(f"'{folder}' holds no comparison (there is no {_FILE}): check the folder.")
        try:
            index = json.loads(file.read_text(encoding="utf-8"))
            if index["version"] != VERSION:
                raise DataError(f"'{file}' has version {index['version']!r}, this fedbary reads version {VERSION}.")
            names = [str(name) for name in index["methods"]]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"'{file}' is not a comparison ({error}): compare again.") from error
        if any(name != Path(name).name for name in names):
            raise DataError(f"'{file}' names files outside its own folder: do not trust it.")
        scores = {name: ClientScores.load(Path(folder) / "scores" / f"{name}.json") for name in names}
        log = None
        if (Path(folder) / _LOG).is_file():
            from fedbary.training import TrainingLog

            log = TrainingLog.load(Path(folder) / _LOG)
        return cls(scores, index["failed"], index["settings"], tuple(index["notes"]), log)


def compare(
    clients: Mapping[str, Data],
    reference: Data,
    *,
    methods: Sequence[str] | None = None,
    model: Any = None,
    training: FedAvg | None = None,
    log: TrainingLog | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Value the same clients by several methods: those that train, and the protocols of this package that do not.

    All rows must be in one place: this is for research and for trying things out, not for a federation.

    Parameters
    ----------
    clients, reference
        As for `fedbary.value`. The reference is the server's test set: utilities are accuracies on it.
    methods : sequence of str, optional
        Names from `fedbary.baselines.clients.METHODS` (``exactfed``, ``gtg``, ``mr``, …) and of protocols
        (``sketch``, ``consensus``, ``interpolation``, ``triangle``; their value is 1/distance). Default: sketch, gtg,
        mr, or, cgsv, and exactfed for up to ten clients.
    model : optional
        `fedbary.training.Logistic()` (default), ``MLP()``, ``CNN()``, or a function (width, classes) → torch module.
    training : FedAvg, optional
        Rounds, local epochs, batch size, learning rate.
    log : TrainingLog, optional
        A training run to use instead of making one; it must be of the same model, data and settings.
    max_evaluations, max_seconds : optional
        A budget for each method, after which it returns its best estimate so far (``converged`` is False).
    progress : callable, optional
        Told what is being done, in words.

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> parts = fb.partitions.by_size(digits.train, [60, 60, 60], seed=0)
    >>> result = fb.compare(parts.clients, digits.test, methods=["mr", "sketch"])
    >>> list(result.summary()["method"])
    ['mr', 'sketch']
    """
    from fedbary.baselines.clients import METHODS

    tell = progress or (lambda _: None)
    chosen = _chosen(methods, len(clients), list(METHODS))
    target = as_table(reference)
    tables = {str(name): as_table(data, label=target.label_name) for name, data in clients.items()}
    prepared: Prepared | None = None
    settings: dict[str, Any] = {"seed": seed, "reference_rows": len(target)}
    if any(name in METHODS for name in chosen):
        from fedbary.baselines.clients import prepare
        from fedbary.training import Federation

        prepared = prepare(
            Federation.from_tables(tables, target),
            model=model,
            training=training,
            log=log,
            max_evaluations=max_evaluations,
            max_seconds=max_seconds,
            seed=seed,
            tell=tell,
        )
        settings |= {
            "model": repr(prepared.model),
            "training": asdict(prepared.training),
            "accuracy": float(prepared.setting.evaluate(prepared.setting.log.final[None])[0]),
        }
    scores: dict[str, ClientScores] = {}
    failed: dict[str, str] = {}
    for name in chosen:
        tell(METHODS[name].title if name in METHODS else name)
        try:
            if prepared is not None and name in METHODS:
                scores[name] = METHODS[name].compute(prepared.setting)
            else:
                scores[name] = protocol_scores(name, tables, target, seed=seed)
        except FedbaryError as error:
            failed[name] = str(error)
    if prepared is None:
        return Comparison(scores, failed, settings)
    return Comparison(scores, failed, settings, prepared.federation.notes, prepared.setting.log)


def _chosen(methods: Sequence[str] | None, clients: int, known: list[str]) -> list[str]:
    if methods is None:
        return ["sketch", "gtg", "mr", "or", "cgsv"] + (["exactfed"] if clients <= 10 else [])
    for name in methods:
        if name not in known and name not in PROTOCOLS:
            raise SettingsError(f"There is no method {name!r}; there is {', '.join([*known, *PROTOCOLS])}.")
    if not methods:
        raise SettingsError("No method was given: name at least one.")
    return list(dict.fromkeys(methods))


def protocol_scores(name: str, tables: Mapping[str, Table], target: Table, *, seed: int) -> ClientScores:
    """1/distance of each client, which the paper's shares are proportional to; NaN for a client that failed."""
    started = time.perf_counter()
    result = value(tables, None if name == "consensus" else target, protocol=name, seed=seed)
    elapsed = time.perf_counter() - started
    distance = result.clients.set_index("client")["distance"].reindex(list(tables)).to_numpy(dtype=float)
    floor = 1e-9 * np.nanmax(distance) if np.isfinite(distance).any() else 1.0
    notes = tuple(f"{client}: {why}" for client, why in result.failed.items())
    return ClientScores(
        name, tuple(tables), 1.0 / np.maximum(distance, floor), np.zeros(len(tables)), seconds=elapsed, notes=notes
    )


def agreement(scores: ClientScores, truth: ClientScores) -> dict[str, float]:
    """Rank correlations and the mean absolute difference of shares; NaN where one side has no order."""
    from scipy.stats import kendalltau, spearmanr

    known = np.isfinite(scores.values) & np.isfinite(truth.values)
    a, b = scores.values[known], truth.values[known]
    varied = len(a) > 1 and np.ptp(a) > 0 and np.ptp(b) > 0
    apart = np.abs(scores.shares - truth.shares)
    apart = apart[np.isfinite(apart)]
    return {
        "spearman": float(spearmanr(a, b).statistic) if varied else float("nan"),
        "kendall": float(kendalltau(a, b).statistic) if varied else float("nan"),
        "share_error": float(apart.mean()) if len(apart) else float("nan"),
    }
