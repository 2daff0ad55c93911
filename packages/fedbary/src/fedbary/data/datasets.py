"""Real data sets by name, each already divided into a train and a test part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.checks import did_you_mean
from fedbary.data.table import Table, concat
from fedbary.errors import FedbaryError, SettingsError
from fedbary.satellites import Registry, first_line

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Dataset:
    """A named data set.

    Parameters
    ----------
    name, description
        What it is.
    train, test
        Its two parts; labels of classes are integers.
    class_names
        The name of class 0, 1, …; empty for a regression.

    Examples
    --------
    >>> len(load("digits").all())
    1797
    """

    name: str
    train: Table
    test: Table
    description: str
    class_names: tuple[str, ...] = ()

    def all(self) -> Table:
        """Put the train and the test part together."""
        return concat([self.train, self.test])


@dataclass(frozen=True)
class _Entry:
    """How a data set is loaded, and what it is; of those of this package also how large."""

    load: Callable[[], Any]
    description: str
    rows: int = 0
    features: int = 0
    classes: int = 0


def _bundled(loader: str, description: str, rows: int, features: int, classes: int) -> _Entry:
    """A data set that comes with scikit-learn."""

    def load() -> tuple[Table, tuple[str, ...]]:
        import sklearn.datasets

        bunch = getattr(sklearn.datasets, loader)()
        columns = None if loader == "load_digits" else [str(feature) for feature in bunch.feature_names]
        table = Table.from_arrays(bunch.data, bunch.target, columns=columns)
        return table, tuple(str(c) for c in bunch.target_names) if classes else ()

    return _Entry(load, description, rows, features, classes)


_BUNDLED = {
    "digits": _bundled("load_digits", "Handwritten digits of 8 × 8 pixels", 1797, 64, 10),
    "breast-cancer": _bundled("load_breast_cancer", "Breast tumours, 30 measurements", 569, 30, 2),
    "diabetes": _bundled("load_diabetes", "Progress of diabetes after a year (regression)", 442, 10, 0),
}


def _own(name: str, brought: Any) -> _Entry:
    if isinstance(brought, _Entry):
        return brought
    if not callable(brought):
        raise SettingsError("data.dataset-not-loaded", name=name, why=f"{type(brought).__name__} is no function")
    return _Entry(brought, first_line(brought, "a data set of your own"))


DATASETS: Registry[_Entry] = Registry("fedbary.datasets", _BUNDLED, _own)


def register(name: str, load: Callable[[], Any], *, description: str = "") -> None:
    """Let `load` know a data set of your own, and with it every experiment of ``fedbary reproduce``.

    An installed package offers one by an entry point of the group ``fedbary.datasets``: the name, and the function.

    Parameters
    ----------
    name : str
        What it is called; a name of yours can be used again, one of this package cannot.
    load : callable
        Called without arguments when the data set is needed. It returns ``(X, y)`` or a `Table`, which are divided
        into 70 % for training and 30 % for testing, classes alike, as the data sets of this package are; or
        ``(X_train, y_train, X_test, y_test)``; or a `Dataset`. Labels that are texts become numbers.
    description : str, optional
        What it is, in a line. Default: the first line of the function's description.

    Examples
    --------
    >>> register("line", lambda: ([[float(x)] for x in range(20)], ["low"] * 10 + ["high"] * 10))
    >>> line = load("line")
    >>> len(line.train), len(line.test), line.class_names
    (14, 6, ('high', 'low'))
    >>> DATASETS.forget("line")
    """
    own = _own(name, load)
    DATASETS.register(name, replace(own, description=description or own.description))


def names() -> list[str]:
    """List the names that `load` knows.

    Examples
    --------
    >>> names()[:3]
    ['digits', 'breast-cancer', 'diabetes']
    """
    return DATASETS.offered()


def load(name: str = "digits") -> Dataset:
    """Load a data set by name.

    ``digits``, ``breast-cancer`` and ``diabetes`` come with scikit-learn. Installed packages offer more: with
    fedbary-lab, those of the paper. `register` adds one of your own.

    Raises
    ------
    DatasetUnavailable
        Where the data set is nowhere to be had, saying what to do.

    Examples
    --------
    >>> data = load("breast-cancer")
    >>> len(data.train), len(data.test), data.class_names
    (398, 171, ('malignant', 'benign'))
    """
    if name not in DATASETS:
        guess = did_you_mean(name, names())
        raise SettingsError("data.no-dataset", name=name, guess=guess, known=", ".join(names()))
    entry = DATASETS[name]
    if name in _BUNDLED:
        table, class_names = entry.load()
        parts = _divided(table.replace(origin=name), classes=bool(class_names))
        return Dataset(name, *parts, entry.description, class_names)
    try:
        found = entry.load()
        return found if isinstance(found, Dataset) else _as_dataset(name, entry.description, found)
    except FedbaryError as error:
        if error.code == "data.dataset-not-loaded":  # which names it
            raise
        raise error.at(f"the data set {name!r}") from error
    except Exception as error:  # a stranger's code, which may fail in any way
        why = f"{type(error).__name__}: {error}"
        raise SettingsError("data.dataset-not-loaded", name=name, why=why) from error


def describe() -> pd.DataFrame:
    """Tell, for every data set of this package, how large it is and where it comes from.

    Examples
    --------
    >>> describe().query("name == 'digits'")[["rows", "classes", "available"]].values.tolist()
    [[1797, 10, True]]
    """
    import pandas as pd

    rows = [
        {
            "name": name,
            "rows": entry.rows,
            "features": entry.features,
            "classes": entry.classes,
            "task": "classification" if entry.classes else "regression",
            "available": True,
            "where": "scikit-learn",
        }
        for name, entry in _BUNDLED.items()
    ]
    return pd.DataFrame(rows)


def _divided(table: Table, *, classes: bool) -> tuple[Table, Table]:
    """70 % of the rows and the others, with the same shares of classes."""
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(table)), test_size=0.3, random_state=0, stratify=table.labels if classes else None
    )
    return table.take(train), table.take(test)


def _as_dataset(name: str, description: str, found: Any) -> Dataset:
    if isinstance(found, tuple) and len(found) == 4:
        train = Table.from_arrays(found[0], found[1], origin=name)
        table, class_names = _numbered(concat([train, Table.from_arrays(found[2], found[3], origin=name)]))
        first, rest = np.split(np.arange(len(table)), [len(train)])
        return Dataset(name, table.take(first), table.take(rest), description, class_names)
    if isinstance(found, tuple) and len(found) == 2:
        found = Table.from_arrays(*found, origin=name)
    if not isinstance(found, Table):
        got = f"it gave {type(found).__name__} instead of (X, y), (X_train, y_train, X_test, y_test), Table or Dataset"
        raise SettingsError("data.dataset-not-loaded", name=name, why=got)
    table, class_names = _numbered(found)
    return Dataset(name, *_divided(table, classes=table.has_classes), description, class_names)


def _numbered(table: Table) -> tuple[Table, tuple[str, ...]]:
    """Classes as 0, 1, … and their names; a regression stays as it is."""
    if not table.has_classes:
        return table, ()
    classes, codes = np.unique(table.labels, return_inverse=True)
    return table.replace(labels=codes.astype(np.int64)), tuple(str(name) for name in classes)
