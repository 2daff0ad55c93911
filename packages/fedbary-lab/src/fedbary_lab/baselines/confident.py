"""Confident learning (Northcutt et al. 2021) on a client's own rows, through cleanlab."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import DataError, SettingsError
from fedbary.space.encode import features
from fedbary.space.labels import class_names
from fedbary.space.options import Space
from fedbary.valuation.rows import row_frame
from fedbary_lab.baselines.classifiers import class_schema
from fedbary_lab.baselines.logistic import cross_validate, label_scores

if TYPE_CHECKING:
    import pandas as pd


def cleanlab_values(table: Table, *, space: Space | None = None, seed: int = 0) -> pd.DataFrame:
    """Value each row by cleanlab's self-confidence, from the client's own rows alone.

    Probabilities come from a logistic regression on the other four folds, with C chosen as in
    `logistic_values`; no validation set is used.

    Parameters
    ----------
    table : Table
        The rows to value.
    space : Space, optional
        How features are scaled; all of them are kept unless it says otherwise.
    seed : int
        Which rows form a fold.

    Returns
    -------
    DataFrame
        ``value`` in [0, 1], ``label_score`` = 1 − value, and ``suggested_label``, the most probable other class.
        A table of one class has nothing to confuse it with: its values are all 1.
    """
    try:
        rank = import_module("cleanlab.rank")
    except ImportError as error:
        raise SettingsError("research.cleanlab-missing") from error
    known, codes = np.unique(class_names(table.labels), return_inverse=True)
    if len(known) < 2:
        return row_frame(table.row_names, np.ones(len(table)), label_score=np.zeros(len(table)))
    if len(table) < 2 * len(known):
        raise DataError("research.too-few-to-cross-validate", rows=len(table), classes=len(known))
    X = features(table, class_schema(table, space))
    log_p = cross_validate(X, codes, seed=seed).log_probabilities
    quality = rank.get_label_quality_scores(codes, np.exp(log_p), method="self_confidence")
    suggested = label_scores(known[codes], known, log_p)[1]
    return row_frame(table.row_names, quality, label_score=1.0 - quality, suggested_label=suggested)
