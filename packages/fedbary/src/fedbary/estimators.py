"""Row values and flags in scikit-learn's manner, for one table and clean validation rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if

from fedbary.api import value
from fedbary.data.adapters import labels_of
from fedbary.data.frames import labels_as_series, labels_from_series
from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.protocols.sketch import Sketch
from fedbary.valuation.cleaning import clean

_NAME = "rows"


class RowValues(BaseEstimator):  # type: ignore[misc]
    """Values of rows against clean validation rows, by the sketch protocol in one process.

    Parameters
    ----------
    fdr : float
        False-discovery rate of the flags.
    seed : int
        Of the sketch, and of how validation rows take turns.

    Attributes
    ----------
    values_ : array
        One value per row; higher is better.
    flags_ : array of bool
        Rows that look wrong.
    rows_ : DataFrame
        Everything that `Valuation.rows` tells.

    Examples
    --------
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> X, y = digits.train.columns["x"][:200], digits.train.labels[:200].copy()
    >>> y[:20] = (y[:20] + 1) % 10
    >>> found = fb.RowValues().fit(X, y, digits.test.columns["x"], digits.test.labels)
    >>> found.flags_.shape, bool(found.values_[:20].mean() < found.values_[20:].mean())
    ((200,), True)
    """

    def __init__(self, *, fdr: float = 0.1, seed: int = 0) -> None:
        self.fdr = fdr
        self.seed = seed

    def fit(self, X: Any, y: Any, X_val: Any, y_val: Any) -> RowValues:
        """Value the rows of X (array, sparse matrix, frame, texts, …) and y; X_val and y_val are known to be clean."""
        sketch = Sketch(lower="triangle")
        result = value({_NAME: (X, y)}, (X_val, y_val), protocol=sketch, fdr=self.fdr, seed=self.seed)
        if result.failed:
            raise DataError(result.outcomes[_NAME].notes[0].code, **result.outcomes[_NAME].notes[0].facts)
        self.rows_ = result.rows(_NAME)
        self.values_ = self.rows_["value"].to_numpy(dtype=float)
        self.flags_ = self.rows_["flag"].fillna(False).to_numpy(dtype=bool)
        return self


def _has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.estimator, name))


class FlagFilter(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is fitted without the rows that look wrong, or with their suggested labels.

    A step of a `Pipeline` cannot leave rows out, so this stands around the classifier instead of before it.

    Parameters
    ----------
    estimator : classifier
        Fitted on what is left; a clone of it, as usual.
    how : {"drop", "relabel"}
        As for `fedbary.clean`.
    row_values : RowValues, optional
        How rows are valued.

    Examples
    --------
    >>> import fedbary as fb
    >>> from sklearn.linear_model import LogisticRegression
    >>> digits = fb.datasets.load("digits")
    >>> X, y = digits.train.columns["x"][:200], digits.train.labels[:200].copy()
    >>> y[:60] = (y[:60] + 1) % 10
    >>> model = fb.FlagFilter(LogisticRegression(max_iter=2000))
    >>> model.fit(X, y, digits.test.columns["x"][:300], digits.test.labels[:300]).kept_.sum() < 200
    np.True_
    """

    def __init__(
        self, estimator: Any, *, how: Literal["drop", "relabel"] = "drop", row_values: RowValues | None = None
    ) -> None:
        self.estimator = estimator
        self.how = how
        self.row_values = row_values

    def fit(self, X: Any, y: Any, X_val: Any, y_val: Any) -> FlagFilter:
        """Value the rows against the validation rows, act on the flags, and fit the classifier."""
        valued = clone(self.row_values) if self.row_values is not None else RowValues()
        self.row_values_ = valued.fit(X, y, X_val, y_val)
        labels = labels_from_series("label", labels_as_series("label", labels_of(y)))
        positions = Table({"position": np.arange(len(labels), dtype=float)}, labels)
        cleaned = clean(positions, self.row_values_.rows_, self.how)
        chosen = cleaned.columns["position"].astype(np.intp)
        self.kept_: NDArray[np.bool_] = np.isin(np.arange(len(labels)), chosen)
        self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, chosen), cleaned.labels)
        self.classes_ = getattr(self.estimator_, "classes_", np.unique(cleaned.labels))
        return self

    def predict(self, X: Any) -> Any:
        """Predict by the fitted classifier."""
        return self.estimator_.predict(X)

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities by the fitted classifier."""
        return self.estimator_.predict_proba(X)

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Scores by the fitted classifier."""
        return self.estimator_.decision_function(X)
