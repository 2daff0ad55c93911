"""`compare()`: several methods on the same clients, or on their rows, in one frame and one picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from fedbary.errors import FedbaryError, SettingsError
from fedbary.research.comparison.client_comparison import Comparison, compare_clients
from fedbary.research.comparison.measures import agreement
from fedbary.research.comparison.protocols import PROTOCOL_METHODS, protocol_scores
from fedbary.research.comparison.row_comparison import RowComparison, compare_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedbary.api import Data
    from fedbary.research.training import FedAvg, TrainingLog

__all__ = ["PROTOCOL_METHODS", "Comparison", "RowComparison", "agreement", "compare", "protocol_scores"]

Clients = Mapping[str, "Data | FedbaryError"]


@overload
def compare(
    clients: Clients,
    reference: Data,
    *,
    methods: Sequence[str] | None = None,
    truth: str | None = None,
    level: Literal["clients"] = "clients",
    model: Any = None,
    training: FedAvg | None = None,
    log: TrainingLog | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison: ...


@overload
def compare(
    clients: Clients,
    reference: Data,
    *,
    methods: Sequence[str] | None = None,
    truth: str | None = None,
    level: Literal["rows"],
    wrong: Mapping[str, ArrayLike] | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> RowComparison: ...


def compare(
    clients: Clients,
    reference: Data,
    *,
    methods: Sequence[str] | None = None,
    truth: str | None = None,
    level: Literal["clients", "rows"] = "clients",
    wrong: Mapping[str, ArrayLike] | None = None,
    model: Any = None,
    training: FedAvg | None = None,
    log: TrainingLog | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison | RowComparison:
    """Value the same clients, or their rows, by several methods: other people's and the protocols of this package.

    All rows must be in one place: this is for research and for trying things out, not for a federation. A client that
    cannot train (missing values, no class of the reference, …) has no value in the methods that train; a method that
    cannot be computed is in ``failed``; the others go on.

    Parameters
    ----------
    clients, reference
        As for `fedbary.value`. The reference is the server's test set: utilities are accuracies on it.
    methods : sequence of str, optional
        Clients: names from `fedbary.research.baselines.clients.METHODS` (``exactfed``, ``gtg``, ``mr``, …) and from
        `fedbary.research.comparison.PROTOCOL_METHODS` (``sketch``, ``consensus``, ``interpolation``, ``triangle``,
        whose value is 1/distance; ``coalition`` and its variants). Default: sketch, coalition, gtg, cgsv; mr and or
        for up to 14 clients, exactfed for up to ten. Rows: names from
        `fedbary.research.baselines.row_methods.ROW_METHODS` (``knn-shapley``, ``lava``, …) and of protocols. Default:
        sketch, logistic, knn-shapley and lava-exact.
    truth : str, optional
        The method that the others are measured by; it is computed, too. Default: exactfed, where it is compared.
    level : {"clients", "rows"}
        What is valued.
    wrong : mapping, optional
        Rows: client name → boolean mask of rows that are known to be wrong; the summary says how well each method
        finds them.
    model : optional
        Clients: `fedbary.research.training.Logistic()` (default), ``MLP()``, ``CNN()``, or a function
        (width, classes) → torch module.
    training : FedAvg, optional
        Clients: rounds, local epochs, batch size, learning rate.
    log : TrainingLog, optional
        Clients: a training run to use instead of making one; of the same model, data and settings.
    max_evaluations, max_seconds : optional
        Clients: a budget for each method, after which it returns its best estimate so far (``converged`` is False).
    folder : path, optional
        Where each method's values are kept as soon as they are known: the same call goes on after an interruption.
        They are removed when all methods are done; ``save`` writes the result.
    progress : callable, optional
        Told what is being done, in words.

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> parts = fb.partitions.by_size(digits.train, [60, 60, 60], seed=0)
    >>> result = fb.compare(parts.clients, digits.test, methods=["mr", "coalition"], truth="mr")
    >>> list(result.summary()["method"])
    ['mr', 'coalition']
    >>> rows = fb.compare(parts.clients, digits.test, methods=["knn-shapley"], level="rows")
    >>> list(rows.to_frame().columns), len(rows.to_frame())
    (['method', 'client', 'row', 'value'], 180)
    """
    if level == "rows":
        given = {"model": model, "training": training, "log": log}
        given |= {"max_evaluations": max_evaluations, "max_seconds": max_seconds}
        if unused := [name for name, value in given.items() if value is not None]:
            raise SettingsError(f"The '{unused[0]}' parameter of compare is for level='clients': leave it out.")
        return compare_rows(
            clients, reference, methods=methods, truth=truth, wrong=wrong, seed=seed, folder=folder, progress=progress
        )
    if level != "clients":
        raise SettingsError(f"The 'level' parameter of compare must be 'clients' or 'rows'. Got {level!r} instead.")
    if wrong is not None:
        raise SettingsError("The 'wrong' parameter of compare names rows: use level='rows'.")
    return compare_clients(
        clients,
        reference,
        methods=methods,
        truth=truth,
        model=model,
        training=training,
        log=log,
        max_evaluations=max_evaluations,
        max_seconds=max_seconds,
        seed=seed,
        folder=folder,
        progress=progress,
    )
