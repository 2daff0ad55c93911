"""Leave-one-out: what the utility of a table loses without one of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, wrong_parameter
from fedbary.space.options import Space
from fedbary.valuation.rows import row_frame
from fedbary_lab.baselines.classifiers import fitted, scaled_pair
from fedbary_lab.baselines.logistic import cross_validate, log_probabilities

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Utility = Literal["accuracy", "log-loss"]

# One row moves the log-loss by little: fits that stop earlier differ by more than that.
_TOLERANCE = 1e-8


def row_loo(
    table: Table,
    reference: Table,
    *,
    utility: Utility = "accuracy",
    space: Space | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Value each row by the utility of a logistic regression on all rows minus its utility without the row.

    C is chosen once, on all rows, as in `logistic_values`; then one model is fitted per row, from the weights of
    the whole table's model. It needs both tables in one place.

    Parameters
    ----------
    table, reference : Table
        The rows to value, and the validation rows.
    utility : {"accuracy", "log-loss"}
        ``accuracy`` on the reference is the usual choice, and one row among many hardly ever changes it: most
        values are then 0 and all are multiples of 1/len(reference). ``log-loss`` (minus the mean log-loss on the
        reference) orders all rows.
    space : Space, optional
        How features are scaled; all of them are kept unless it says otherwise.
    seed : int
        Which rows form a fold when C is chosen.

    Returns
    -------
    DataFrame
        One row per row of ``table`` with its ``value``.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary_lab.baselines import row_loo
    >>> rows = fb.Table.from_arrays([[0.0], [1.0], [2.0], [3.0], [0.2]], ["a", "a", "b", "b", "b"])
    >>> test = fb.Table.from_arrays([[0.5], [2.5]], ["a", "b"])
    >>> int(row_loo(rows, test, utility="log-loss")["value"].idxmin())
    4
    """
    if utility not in ("accuracy", "log-loss"):
        raise wrong_parameter("utility", "row_loo", "'accuracy' or 'log-loss'", utility)
    if len(table) < 2:
        raise DataError("research.only-row")
    X, codes, R, truth = scaled_pair(table, reference, space)
    strength = cross_validate(X, codes, seed=seed).strength
    model = fitted(_model(strength), X, codes)
    without = np.empty(len(table))
    for row in range(len(table)):
        refitted = _refitted(model, np.delete(X, row, axis=0), np.delete(codes, row), strength)
        without[row] = _utility(refitted, R, truth, utility)
    return row_frame(table.row_names, _utility(model, R, truth, utility) - without)


def _refitted(model: Any, X: Floats, codes: Codes, strength: float) -> Any:
    """The model of fewer rows, started from that of all where both have the same classes."""
    present = np.unique(codes)
    fresh = _model(strength)
    if len(present) > 1 and np.array_equal(present, model.classes_):
        fresh.coef_, fresh.intercept_ = model.coef_.copy(), model.intercept_.copy()
    return fitted(fresh, X, codes)


def _model(strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    # Newton steps: close to the solution two or three reach the tolerance, where lbfgs takes forty.
    return LogisticRegression(C=strength, solver="newton-cg", tol=_TOLERANCE, warm_start=True)


def _utility(model: Any, R: Floats, truth: Codes, utility: Utility) -> float:
    log_p = log_probabilities(model, R, int(max(model.classes_.max(), truth.max())) + 1)
    if utility == "accuracy":
        return float((log_p.argmax(axis=1) == truth).mean())
    return float(log_p[np.arange(len(R)), truth].mean())
