"""Shapley-type values and Data-OOB of rows, through pyDVL."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import whole
from fedbary.data.table import Table
from fedbary.errors import DataError, SettingsError, wrong_parameter
from fedbary.space.encode import features
from fedbary.space.labels import class_names
from fedbary.space.options import Space
from fedbary.valuation.rows import row_frame
from fedbary_lab.baselines.classifiers import class_schema, fitted, scaled_pair
from fedbary_lab.baselines.logistic import cross_validate

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

# Probabilities with which a row enters a subset, each as likely (Lin et al. 2022, section 3).
AME_PROBABILITIES = (0.2, 0.4, 0.6, 0.8)
_OLDEST = (0, 10)
# With fewer rows a bag often holds all of them, and nothing is left to test its tree on.
_LEAST_ROWS = 6


def tmc_values(
    table: Table, reference: Table, *, permutations: int = 30, space: Space | None = None, seed: int = 0
) -> pd.DataFrame:
    """Shapley values by truncated permutations (Ghorbani & Zou 2019).

    The utility of a set of rows is the accuracy on the reference of a logistic regression fitted on it; no row has
    utility 0. C is chosen once, on all rows. A permutation is truncated once, after 40 % of its rows, the accuracy is
    within 1 % of that of all rows: pyDVL's default. What comes later in it then counts 0, which biases the values where
    rows are few.

    Parameters
    ----------
    table, reference : Table
        The rows to value, and the validation rows.
    permutations : int
        Each fits up to as many models as there are rows.
    space : Space, optional
        How features are scaled; all of them are kept unless it says otherwise.
    seed : int
        Which permutations are drawn.

    Returns
    -------
    DataFrame
        One row per row of ``table`` with its ``value``.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary_lab.baselines import tmc_values
    >>> rows = fb.Table.from_arrays([[-2.0], [-2.2], [-1.8], [2.0], [2.2], [1.8], [-2.1]], list("aaabbbb"))
    >>> test = fb.Table.from_arrays([[-2.0], [2.0]], ["a", "b"])
    >>> int(tmc_values(rows, test, permutations=20)["value"].idxmin())
    6
    """
    whole(permutations, "permutations", "tmc_values", least=1)
    pydvl, game = load_pydvl(), RowGame.of(table, reference, space, seed)
    stop = pydvl.MaxUpdates(permutations)
    return game.values(pydvl.TMCShapleyValuation(game.utility(pydvl), is_done=stop, seed=seed, show_warnings=False))


def beta_shapley_values(
    table: Table,
    reference: Table,
    *,
    alpha: float = 4.0,
    beta: float = 1.0,
    permutations: int = 30,
    space: Space | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Beta-Shapley values (Kwon & Zou 2022): Shapley values that weigh small sets of rows more.

    Utility, parameters and result as in `tmc_values`, without truncation; ``alpha = beta = 1`` is the Shapley value,
    and Beta(4, 1) and Beta(16, 1) are the paper's choices to find wrong labels.
    """
    whole(permutations, "permutations", "beta_shapley_values", least=1)
    if not (alpha > 0 and beta > 0):
        raise (
            wrong_parameter("beta", "beta_shapley_values", "a number above 0", beta)
            if alpha > 0
            else wrong_parameter("alpha", "beta_shapley_values", "a number above 0", alpha)
        )
    pydvl, game = load_pydvl(), RowGame.of(table, reference, space, seed)
    sampler, stop = pydvl.PermutationSampler(seed=seed), pydvl.MaxUpdates(permutations)
    valuation = pydvl.BetaShapleyValuation(
        game.utility(pydvl), sampler, stop, alpha=alpha, beta=beta, show_warnings=False
    )
    return game.values(valuation)


def banzhaf_values(
    table: Table, reference: Table, *, samples: int = 1500, space: Space | None = None, seed: int = 0
) -> pd.DataFrame:
    """Data Banzhaf values (Wang & Jia 2023), by maximum sample reuse.

    Each row's mean utility over the random halves of the table that have it minus that over those that do not;
    ``samples`` of them are drawn, one model each. Utility, other parameters and result as in `tmc_values`.
    """
    whole(samples, "samples", "banzhaf_values", least=2)
    pydvl, game = load_pydvl(), RowGame.of(table, reference, space, seed)
    valuation = pydvl.MSRBanzhafValuation(game.utility(pydvl), pydvl.NoStopping(), seed=seed, show_warnings=False)
    # The criterion counts the samples of the valuation's own sampler.
    valuation.is_done = pydvl.MaxSamples(valuation.sampler, samples)
    return game.values(valuation)


def ame_values(
    table: Table, reference: Table, *, updates: int = 16, space: Space | None = None, seed: int = 0
) -> pd.DataFrame:
    """Average marginal effects (Lin et al. 2022): a row's mean effect on random subsets of the others.

    A subset has every other row with probability p, where p is 0.2, 0.4, 0.6 or 0.8. pyDVL 0.10 has no method of this
    name: its Owen sampler draws the subsets, and ``updates`` marginals of each row (two models each) are averaged;
    Lin et al. get the same quantity from fewer models by a LASSO regression that assumes that few rows matter.
    Utility, other parameters and result as in `tmc_values`.
    """
    whole(updates, "updates", "ame_values", least=1)
    pydvl, game = load_pydvl(), RowGame.of(table, reference, space, seed)
    owen = import_module("pydvl.valuation.samplers.owen")
    semivalue = import_module("pydvl.valuation.methods.semivalue")

    class Probabilities(owen.OwenStrategy):  # type: ignore[misc, name-defined]
        """All of the paper's probabilities in turn."""

        def __call__(self, q_stop: float) -> Floats:  # noqa: ARG002
            return np.array(AME_PROBABILITIES)

    class AverageMarginalEffect(semivalue.SemivalueValuation):  # type: ignore[misc, name-defined]
        """The plain mean of the marginals: the sampler's distribution is the one that defines the value."""

        algorithm_name = "AME"
        log_coefficient = None

    sampler = pydvl.OwenSampler(
        Probabilities(len(AME_PROBABILITIES)),
        n_samples_inner=1,
        index_iteration=import_module("pydvl.valuation.samplers.powerset").SequentialIndexIteration,
        seed=seed,
    )
    stop = pydvl.MinUpdates(updates)
    return game.values(AverageMarginalEffect(game.utility(pydvl), sampler, stop, show_warnings=False))


def oob_values(table: Table, *, estimators: int = 500, space: Space | None = None, seed: int = 0) -> pd.DataFrame:
    """Data-OOB values (Kwon & Zou 2023): how often bagged trees that have not seen a row get its label right.

    No reference is used.

    Parameters
    ----------
    table : Table
        The rows to value.
    estimators : int
        Number of decision trees, each fitted on a bootstrap sample of the rows.
    space : Space, optional
        How features are scaled; all of them are kept unless it says otherwise.
    seed : int
        Which samples are drawn.

    Returns
    -------
    DataFrame
        ``value`` in [0, 1]. A table of one class has nothing to confuse it with: its values are all 1.
    """
    from sklearn.ensemble import BaggingClassifier
    from sklearn.tree import DecisionTreeClassifier

    whole(estimators, "estimators", "oob_values", least=1)
    pydvl = load_pydvl()
    X = features(table, class_schema(table, space))
    codes = np.unique(class_names(table.labels), return_inverse=True)[1]
    if codes.max() == 0:
        return row_frame(table.row_names, np.ones(len(table)))
    if len(table) < _LEAST_ROWS:
        raise DataError("research.too-few-for-bags", rows=len(table))
    bag = BaggingClassifier(DecisionTreeClassifier(), n_estimators=estimators, random_state=seed).fit(X, codes)
    result = pydvl.DataOOBValuation(bag, score=_right).fit(pydvl.Dataset(X, codes)).result
    # pyDVL leaves out rows that were in every bag.
    if len(result.indices) < len(table) or (result.counts == 0).any():
        raise SettingsError("research.rows-in-every-bag", estimators=int(estimators))
    return row_frame(table.row_names, _by_row(result.indices, result.values))


def load_pydvl(module: str = "pydvl.valuation") -> Any:
    """A module of pyDVL 0.10 or newer, or a message that says how to get it."""
    found = "not installed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its decorators use old names of pyDeprecate
            version = str(import_module("pydvl").__version__)
            found = f"version {version}, with another interface"
            if tuple(int(part) for part in version.split(".")[:2]) >= _OLDEST:
                return import_module(module)
    except ImportError as error:
        found = f"{found} ({error})"
    raise SettingsError("research.pydvl-missing", found=found)


@dataclass(frozen=True, eq=False)
class RowGame:
    """The rows as players: what pyDVL needs to know of a table and its reference."""

    names: NDArray[np.generic]
    X: Floats
    codes: Codes
    R: Floats
    truth: Codes
    strength: float

    @classmethod
    def of(cls, table: Table, reference: Table, space: Space | None, seed: int) -> RowGame:
        """Scale features as the reference says, and choose C once, on all rows."""
        if len(table) < 2:
            raise DataError("research.single-row")
        X, codes, R, truth = scaled_pair(table, reference, space)
        return cls(table.row_names, X, codes, R, truth, cross_validate(X, codes, seed=seed).strength)

    def utility(self, pydvl: Any) -> Any:
        """Accuracy on the reference of a logistic regression fitted on a set of rows."""
        scorer = pydvl.SupervisedScorer(_accuracy, pydvl.Dataset(self.R, self.truth), default=0.0, range=(0.0, 1.0))
        return pydvl.ModelUtility(_Classifier(self.strength), scorer, catch_errors=False, show_warnings=False)

    def values(self, valuation: Any) -> pd.DataFrame:
        """Run a valuation in this process, and put its values into our frame."""
        from joblib import parallel_config

        dataset = load_pydvl().Dataset(self.X, self.codes)
        with parallel_config(backend="threading", n_jobs=1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = valuation.fit(dataset).result
        values = _by_row(result.indices, result.values)
        if np.isnan(values).any():
            raise SettingsError("research.rows-never-drawn", rows=int(np.isnan(values).sum()))
        return row_frame(self.names, values)


class _Classifier:
    """A logistic regression that also accepts rows of one class."""

    def __init__(self, strength: float):
        self.strength = strength
        self.model: Any = None

    def fit(self, X: Floats, codes: Codes) -> None:
        from sklearn.linear_model import LogisticRegression

        self.model = fitted(LogisticRegression(C=self.strength), X, codes)


def _accuracy(classifier: _Classifier, X: Floats, codes: Codes) -> float:
    return float((classifier.model.predict(X) == codes).mean())


def _right(y_true: Codes, y_pred: Codes) -> Floats:
    return np.asarray(y_true == y_pred, dtype=np.float64)


def _by_row(indices: NDArray[np.intp], values: NDArray[Any]) -> Floats:
    ordered = np.zeros(len(indices))
    ordered[indices] = values
    return ordered
