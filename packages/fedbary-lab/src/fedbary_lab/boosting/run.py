"""`boost()`: how good a federated model becomes once its clients act on their flags."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary import __version__
from fedbary.api import value
from fedbary.checks import did_you_mean
from fedbary.data.objects import as_table, check_types, client_tables
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError, SettingsError, wrong_parameter
from fedbary.notes import Note
from fedbary.space.row_identity import content_digest, row_keys
from fedbary.valuation.cleaning import clean
from fedbary.valuation.result import Valuation, why_without_rows
from fedbary_lab.boosting.result import Boost, Trained
from fedbary_lab.result_cache import ResultCache, fingerprints

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.api import Data
    from fedbary.protocols.messages import Settings
    from fedbary_lab.training.fedavg_settings import FedAvg
    from fedbary_lab.training.federation import Federation, Rows
    from fedbary_lab.training.models import Model

HOWS = ("none", "drop", "relabel")
_VALUATION, _ACCURACY = "valuation", "accuracy.txt"


def boost(
    clients: Mapping[str, Data | FedbaryError],
    reference: Data,
    test: Data,
    *,
    how: Sequence[str] = HOWS,
    protocol: Settings | str | None = None,
    fdr: float = 0.1,
    valuation: Valuation | None = None,
    model: Model | None = None,
    training: FedAvg | None = None,
    seed: int = 0,
    threads: int | None = None,
    folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Boost:
    """Value the clients, act on the flags in several ways, train FedAvg on what each leaves, and test the models.

    All rows must be in one place: this is for research and for trying out whether cleaning would help. In a
    federation the rows stay where they are, and each owner cleans its own table with `fedbary.clean`.

    A client that could not be valued is used as it is; one that cannot train (missing values, no class of the
    reference, …) is left out; the others go on, and a note says so.

    Parameters
    ----------
    clients, reference
        As for `fedbary.value`. The reference also says how features are scaled and which classes there are.
    test
        Rows that neither value nor train anything, in the same forms: accuracies are on them.
    how : sequence of {"none", "drop", "relabel"}
        Ways of acting on the flags; ``none`` trains on all rows, the others are as for `fedbary.clean`.
    protocol, fdr
        As for `fedbary.value`.
    valuation : Valuation, optional
        A result of `fedbary.value` with row values of these very clients, to use instead of valuing them again.
    model : optional
        `fedbary.Logistic` (default), `fedbary.MLP`, `fedbary.CNN`, a torch module, or a function (width, classes) →
        torch module.
    training : FedAvg, optional
        Rounds, local epochs, batch size, learning rate.
    seed : int
        Of the valuation and, unless ``training`` says otherwise, of the training.
    threads : int, optional
        Threads for training; by default as many as there are cores.
    folder : path, optional
        Where the valuation and each model's accuracy are cached as soon as they are known: the same call goes on after
        an interruption. They are removed when all is done; ``save`` writes the result.
    progress : callable, optional
        Called with what is being done, in words.

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> parts = fb.partitions.by_size(digits.test, [150, 150], seed=0).clients
    >>> clients = fb.partitions.by_size(digits.train, [200, 200], seed=0).clients
    >>> clients["client_2"], wrong = fb.corruptions.flip_labels(clients["client_2"], 0.5, seed=0)
    >>> result = fb.boost(clients, parts["client_1"], parts["client_2"], how=["none", "drop"])
    >>> result.to_frame().columns.tolist()
    ['how', 'rows', 'dropped', 'relabelled', 'accuracy', 'gain']
    """
    from fedbary_lab.training.backend import require_torch
    from fedbary_lab.training.fedavg_settings import FedAvg
    from fedbary_lab.training.federation import Federation, trainable
    from fedbary_lab.training.models import Logistic

    require_torch()
    ways = _ways(how)
    _check_data(clients, reference)
    tell, target = progress or (lambda _: None), _server_table(reference, "reference", None)
    asked = _server_table(test, "test rows", target.label_name)
    judge, notes = _test_rows(asked, target)
    model, training = model or Logistic(), training or FedAvg(seed=seed)
    tables = client_tables(clients, target)
    cache = ResultCache(
        folder if valuation is None else None,
        lambda: {
            **{"version": __version__, "protocol": repr(protocol), "fdr": fdr},
            **{"model": repr(model), "training": repr(training), "seed": seed},
            **{"clients": fingerprints(tables), "server": fingerprints({"reference": target, "test": asked})},
        },
    )
    if valuation is None:
        tell("valuing the clients")
        run = partial(value, tables, target, protocol=protocol, fdr=fdr, seed=seed)
        valuation = cache.get(_VALUATION, run, save=Valuation.save, load=Valuation.load)
    _check_flags(valuation, ways)
    able, unable = trainable(tables, target)
    if not able:
        raise DataError("research.no-client-to-train", why=next(iter(unable.values())))
    flags, unflagged = _flags(valuation, able) if set(ways) != {"none"} else ({}, {})
    notes += _seen(asked, {"the reference": target, **able})
    notes += [Note("research.takes-no-part", {"client": name, "why": why}) for name, why in unable.items()]
    notes += [Note("research.used-as-it-is", {"client": name, "why": why}) for name, why in unflagged.items()]
    outcomes: dict[str, Trained] = {}
    refusals: list[FedbaryError] = []
    for way in ways:
        tell(f"training, {way}")
        left, dropped, relabelled, gone = _left(able, flags, way, target)
        notes += gone
        rows, accuracy = 0, math.nan
        if left:
            federation = Federation.from_tables(left, target)
            notes += federation.notes
            rows = int(federation.counts.sum())
            try:
                train = partial(trained_accuracy, model, federation, judge, training, threads=threads)
                accuracy = cache.get(way, train, save=_save_accuracy, load=_load_accuracy)
            except FedbaryError as error:  # what diverges with wrong rows may do well without them
                refusals.append(error)
                notes.append(Note("research.no-model", {"how": way, "why": error.note}))
        outcomes[way] = Trained(rows, dropped, relabelled, accuracy)
    if refusals and all(math.isnan(done.accuracy) for done in outcomes.values()):
        raise refusals[0]
    settings = {
        "model": repr(model),
        "training": asdict(training),
        "seed": seed,
        "reference_rows": len(target),
        "test_rows": len(judge),
    }
    cache.clear()
    troubled = {*unable, *unflagged, *valuation.failed}
    failed = tuple(name for name in tables if name in troubled)
    return Boost(outcomes, valuation, failed, settings, tuple({note.to_text(): note for note in notes}.values()))


def trained_accuracy(
    model: Any,
    federation: Federation,
    test: Rows,
    training: FedAvg,
    *,
    weights: Sequence[int] | None = None,
    threads: int | None = None,
) -> float:
    """Accuracy on test rows of the model that FedAvg makes of a federation, by rows or by given weights of clients.

    Examples
    --------
    >>> from fedbary_lab.training.fedavg_settings import FedAvg
    >>> from fedbary_lab.training.federation import Federation
    >>> from fedbary_lab.training.models import Logistic
    >>> X, y = [[-1.0], [1.0]], [0, 1]
    >>> federation = Federation.from_arrays({"ann": (X, y)}, (X, y))
    >>> trained_accuracy(Logistic(), federation, federation.test, FedAvg(rounds=50))
    1.0
    """
    from fedbary_lab.training.evaluate import Evaluator
    from fedbary_lab.training.fedavg import run

    log = run(model, federation, training, weights=weights, threads=threads)
    evaluator = Evaluator(model, test, len(federation.classes), dtype=training.dtype, threads=threads)
    return float(evaluator.accuracy(log.final)[0])


def _save_accuracy(accuracy: float, place: Path) -> None:
    (place / _ACCURACY).write_text(repr(accuracy), encoding="utf-8")


def _load_accuracy(place: Path) -> float:
    return float((place / _ACCURACY).read_text(encoding="utf-8"))


def _ways(how: Sequence[str]) -> list[str]:
    if isinstance(how, str):
        raise wrong_parameter("how", "boost", "a list of names", how)
    for name in how:
        if name not in HOWS:
            guess = did_you_mean(name, HOWS)
            raise SettingsError("research.no-such-way", name=str(name), guess=guess, known=", ".join(HOWS))
    if not how:
        raise SettingsError("research.no-way-given", known=", ".join(HOWS))
    return list(dict.fromkeys(how))


def _check_data(clients: Mapping[str, Data | FedbaryError], reference: Data | None) -> None:
    if reference is None:
        raise SettingsError("research.flags-need-a-reference")
    check_types(clients)


def _server_table(data: Data, what: str, label: str | None) -> Table:
    try:
        return as_table(data, likely=label)
    except DataError as error:
        raise error.at(what) from error


def _test_rows(test: Table, reference: Table) -> tuple[Rows, list[Note]]:
    """The test rows, scaled like the clients' rows: by the reference."""
    from fedbary_lab.training.federation import Federation

    if content_digest(test) == content_digest(reference):
        raise DataError("research.test-is-the-reference")
    federation = Federation.from_tables({"test rows": test}, reference)
    return federation.clients[0], list(federation.notes)


def _seen(test: Table, others: Mapping[str, Table]) -> list[Note]:
    """Notes on test rows that are among the rows that value or train: they flatter the accuracy."""
    keys = row_keys(test)
    found = {name: int(np.isin(keys, row_keys(table)).sum()) for name, table in others.items()}
    return [
        Note("research.test-rows-seen", {"count": count, "rows": len(test), "of": name})
        for name, count in found.items()
        if count
    ]


def _check_flags(valuation: Valuation, ways: Sequence[str]) -> None:
    """Acting needs a run that flags; a client of it may still have failed."""
    frames = [scored.frame for scored in (valuation.row_tables or {}).values()]
    if set(ways) != {"none"} and frames and all(frame["flag"].isna().any() for frame in frames):
        raise SettingsError("research.no-flags-to-act-on")
    if "relabel" in ways and any(frame["reason"].isna().any() for frame in frames):
        raise SettingsError("research.no-labels-suggested")


def _flags(valuation: Valuation, clients: Mapping[str, Table]) -> tuple[dict[str, pd.DataFrame], dict[str, Note]]:
    """Row values with flags by client, and why the others have none."""
    flags: dict[str, pd.DataFrame] = {}
    missing: dict[str, Note] = {}
    for name in clients:
        try:
            rows = valuation.rows(name)
        except FedbaryError as error:
            known = name in valuation.outcomes
            missing[name] = (known and why_without_rows(valuation, name)) or error.note
            continue
        if rows["flag"].isna().any():
            missing[name] = Note("research.flags-no-rows")
        else:
            flags[name] = rows
    return flags, missing


def _left(
    tables: Mapping[str, Table], flags: Mapping[str, pd.DataFrame], how: str, reference: Table
) -> tuple[dict[str, Table], int, int, list[Note]]:
    """What acting leaves to train on, how many rows it drops and relabels, and notes on clients that drop out."""
    from fedbary_lab.training.federation import trainable

    acted, relabelled = dict(tables), 0
    for name, rows in flags.items() if how != "none" else ():
        acted[name] = clean(tables[name], rows, how)  # type: ignore[arg-type]  # checked
        if how == "relabel":
            relabelled += int((rows["flag"].astype(bool) & (rows["reason"] == "label")).sum())
    left, unable = trainable({name: table for name, table in acted.items() if len(table)}, reference)
    emptied = [name for name, table in acted.items() if not len(table)]
    why = {name: Note("research.every-row-flagged", {"rows": len(tables[name])}) for name in emptied}
    dropped = sum(map(len, tables.values())) - sum(map(len, acted.values()))
    gone = (why | unable).items()
    notes = [Note("research.takes-no-part", {"client": name, "how": how, "why": reason}) for name, reason in gone]
    return left, dropped, relabelled, notes
