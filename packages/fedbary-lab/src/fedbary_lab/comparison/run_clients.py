"""`compare_clients`: the same clients by several methods, those that train and those that do not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary import __version__
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError, SettingsError
from fedbary.notes import Note
from fedbary.satellites import BROKEN_PLUG_IN
from fedbary.valuation.clients import ClientScores
from fedbary_lab.comparison.client_comparison import Comparison
from fedbary_lab.comparison.inputs import check_methods, tables_of
from fedbary_lab.comparison.protocols import PROTOCOL_METHODS, protocol_scores
from fedbary_lab.result_cache import ResultCache, fingerprints

if TYPE_CHECKING:
    from fedbary.api import Data
    from fedbary_lab.baselines.clients import Method, Prepared
    from fedbary_lab.training.fedavg_settings import FedAvg
    from fedbary_lab.training.federation import Federation
    from fedbary_lab.training.models import Model
    from fedbary_lab.training.training_log import TrainingLog

# With more clients, methods that play all 2^N coalitions take too long to be a default.
_FEW_CLIENTS = 14
_TRAINING, _LOG, _SCORES = "training with all clients", "training-log.npz", "scores.json"


def compare_clients(
    clients: Mapping[str, Data | FedbaryError],
    reference: Data,
    *,
    methods: Sequence[str] | None = None,
    truth: str | None = None,
    model: Model | None = None,
    training: FedAvg | None = None,
    log: TrainingLog | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Value the same clients by several methods: other people's and fedbary's protocols.

    All rows must be in one place: this is for research and for trying things out, not for a federation. A client that
    cannot train (missing values, no class of the reference, …) has no value in the methods that train; a method that
    cannot be computed is in ``failed``; the others go on.

    Parameters
    ----------
    clients, reference
        As for `fedbary.value`. The reference is the server's test set: utilities are accuracies on it.
    methods : sequence of str, optional
        Names from `fedbary_lab.baselines.clients.METHODS` (``exactfed``, ``gtg``, ``mr``, …) and from
        `fedbary_lab.comparison.PROTOCOL_METHODS` (``sketch``, ``cards``, ``interpolation``, ``triangle``, whose
        value is 1/distance; ``published``, interpolation as the paper's code has it; ``worth``, also without a
        reference). Options stand behind a method's name: ``"tmr@decay=0.9"``.
        `fedbary_lab.register_client_method` adds one of your own. Default: sketch, worth, gtg, cgsv; mr and or
        for up to 14 clients, exactfed for up to ten.
    truth : str, optional
        The method that the others are measured by; it is computed, too. Default: exactfed, where it is compared.
    model : optional
        `fedbary.Logistic` (default), `fedbary.MLP`, `fedbary.CNN`, a torch module, or a function (width, classes) →
        torch module.
    training : FedAvg, optional
        Rounds, local epochs, batch size, learning rate.
    log : TrainingLog, optional
        A training run to use instead of making one; of the same model, data and settings.
    max_evaluations, max_seconds : optional
        A budget for each method, after which it returns its best estimate so far (``converged`` is False).
    seed : int
        Of the protocols, of what the methods sample and, unless ``training`` says otherwise, of the training.
    folder : path, optional
        Where each method's values are cached as soon as they are known: the same call goes on after an interruption.
        They are removed when all methods are done; ``save`` writes the result.
    progress : callable, optional
        Called with what is being done, in words.

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> parts = fb.partitions.by_size(digits.train, [60, 60, 60], seed=0)
    >>> result = fb.compare_clients(parts.clients, digits.test, methods=["mr", "worth"], truth="mr")
    >>> list(result.summary()["method"])
    ['mr', 'worth']
    """
    from fedbary_lab.baselines.clients import prepare

    tell = progress or (lambda _: None)
    chosen = chosen_methods(methods, truth, len(clients))
    training_methods, failed = _training_methods(chosen)
    tables, target = tables_of(clients, reference)
    cache = ResultCache(
        folder,
        lambda: {
            **{"version": __version__, "model": repr(model), "training": repr(training), "log": _digest(log)},
            **{"seed": seed, "max_evaluations": max_evaluations, "max_seconds": max_seconds},
            **{"clients": fingerprints(tables), "reference": fingerprints({"": target})},
        },
    )
    prepared: Prepared | None = None
    notes: list[Note] = []
    untrained: Note | None = None
    if training_methods:
        try:
            federation, notes = _federation(tables, target)
            prepared = prepare(
                federation,
                model=model,
                training=training,
                log=_cached_log(cache) if log is None else log,
                max_evaluations=max_evaluations,
                max_seconds=max_seconds,
                seed=seed,
                tell=tell,
            )
            cache.store(_TRAINING, lambda place: prepared.setting.log.save(place / _LOG))
        except FedbaryError as error:
            untrained = error.note
    scores: dict[str, ClientScores] = {}
    for name in chosen:
        if name in failed:
            continue
        method = training_methods.get(name)
        if method is not None and untrained is not None:
            failed[name] = untrained
            continue
        try:
            tell(name if method is None else method.title)
            scores[name] = cache.get(
                name,
                partial(_scores, name, method, prepared, tables, target=target, seed=seed),
                save=lambda found, place: found.save(place / _SCORES),
                load=lambda place: ClientScores.load(place / _SCORES),
            )
        except FedbaryError as error:
            failed[name] = error.note
    cache.clear()
    settings: dict[str, Any] = {"seed": seed, "reference_rows": len(target), "truth": truth}
    if prepared is None:
        return Comparison(scores, failed, settings, tuple(notes))
    run = prepared.setting
    settings |= {
        "model": repr(prepared.model),
        "training": asdict(prepared.training),
        "accuracy": float(run.evaluate(run.log.final[None])[0]),
    }
    return Comparison(scores, failed, settings, tuple(notes), run.log)


def chosen_methods(methods: Sequence[str] | None, truth: str | None, clients: int) -> list[str]:
    """The methods that were named, or the default ones for so many clients, each once."""
    from fedbary_lab.baselines.clients import METHODS

    if methods is None:
        exact = ["mr", "or"] if clients <= _FEW_CLIENTS else []
        methods = ["sketch", "worth", "gtg", *exact, "cgsv"] + (["exactfed"] if clients <= 10 else [])
    return check_methods(methods, truth, [*METHODS.offered(), *PROTOCOL_METHODS], options=True)


def _training_methods(names: Sequence[str]) -> tuple[dict[str, Method], dict[str, Note]]:
    """Those that train among the methods, and why a plug-in cannot be used: the others go on."""
    found: dict[str, Method] = {}
    failed: dict[str, Note] = {}
    for name in names:
        try:
            if (method := _training_method(name)) is not None:
                found[name] = method
        except SettingsError as error:
            if error.code not in BROKEN_PLUG_IN:
                raise
            failed[name] = error.note
    return found, failed


def _training_method(name: str) -> Method | None:
    """The method that trains, with the options behind its name; None for one of our protocols, which has none here."""
    from fedbary_lab.baselines.clients import METHODS, with_options

    bare, _, option = name.partition("@")
    if bare in METHODS:
        return with_options(name)
    if option:
        raise SettingsError("research.no-options", method=bare, given=option)
    return None


def _scores(
    name: str,
    method: Method | None,
    prepared: Prepared | None,
    tables: Mapping[str, Table | FedbaryError],
    *,
    target: Table,
    seed: int,
) -> ClientScores:
    """One method's scores, of those that train or of our protocols."""
    if method is None:
        return protocol_scores(name, tables, target, seed=seed)
    assert prepared is not None
    return replace(method.compute(prepared.setting), method=name).among(tuple(tables))


def _cached_log(cache: ResultCache) -> TrainingLog | None:
    from fedbary_lab.training.training_log import TrainingLog

    place = cache.find(_TRAINING)
    return None if place is None else TrainingLog.load(place / _LOG)


def _digest(log: TrainingLog | None) -> str | None:
    """Which training run was given, by its models."""
    if log is None:
        return None
    return hashlib.sha256(log.final.tobytes() + log.initial.tobytes()).hexdigest()


def _federation(tables: Mapping[str, Table | FedbaryError], target: Table) -> tuple[Federation, list[Note]]:
    """The clients that can train, and notes on the others."""
    from fedbary_lab.training.federation import Federation, trainable

    able, unable = trainable(tables, target)
    if not able:
        raise DataError("research.no-client-to-train", why=next(iter(unable.values())))
    federation = Federation.from_tables(able, target)
    notes = [Note("research.takes-no-part", {"client": name, "why": why}) for name, why in unable.items()]
    return federation, [*federation.notes, *notes]
