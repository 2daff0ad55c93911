"""What every classifier of the baselines needs: a schema with all features, and a fit that takes rows of one class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import SettingsError
from fedbary.space.encode import features
from fedbary.space.fit import fit_schema
from fedbary.space.labels import class_names
from fedbary.space.options import Space
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def class_schema(table: Table, space: Space | None) -> Schema:
    """Fit a schema on a table; refuses labels that are a quantity.

    Unlike a protocol, a baseline sees all features by default: a projection could only weaken it.
    """
    chosen = replace(space or Space(projection="none"), labels="onehot", label_weight=1.0)
    if chosen.task == "regression" or not table.has_classes:
        raise SettingsError("research.method-needs-classes", label=str(table.label_name))
    return fit_schema(table, chosen)


def scaled_pair(table: Table, reference: Table, space: Space | None) -> tuple[Floats, Codes, Floats, Codes]:
    """Features and class codes of both tables, scaled by the reference and numbered alike."""
    schema = class_schema(reference, space)
    names = np.concatenate([class_names(table.labels), class_names(reference.labels)])
    own, truth = np.split(np.unique(names, return_inverse=True)[1], [len(table)])
    return features(table, schema), own, features(reference, schema), truth


def fitted(model: Any, X: NDArray[Any], labels: NDArray[Any]) -> Any:
    """The model fitted to these rows; where they have one class, which no regression takes, the constant classifier.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> fitted(LogisticRegression(), np.zeros((2, 1)), np.array([3, 3])).predict(np.ones((1, 1)))
    array([3])
    """
    from sklearn.dummy import DummyClassifier

    return (DummyClassifier() if (labels == labels[0]).all() else model).fit(X, labels)
