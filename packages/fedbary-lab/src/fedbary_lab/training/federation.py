"""What a federation trains on: each client's rows, the server's test rows, and the names of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError
from fedbary.notes import Fact, Note
from fedbary.space.encode import encode
from fedbary.space.fit import fit_schema
from fedbary.space.labels import class_names, label_kind
from fedbary.space.options import Space

Floats = NDArray[np.floating[Any]]
Names = NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Rows:
    """Features and class codes of one party, checked once.

    Parameters
    ----------
    features : array, shape (n, d)
        Finite numbers.
    codes : array of int, shape (n,)
        0, 1, … for the first, second, … class.

    Examples
    --------
    >>> len(Rows([[0.0, 1.0], [2.0, 3.0]], [0, 1]))
    2
    """

    features: Floats
    codes: NDArray[np.int64]

    def __post_init__(self) -> None:
        features, codes = np.asarray(self.features), np.asarray(self.codes)
        if features.ndim != 2 or features.dtype.kind not in "biuf" or 0 in features.shape:
            raise DataError("research.features-shape", shape=str(features.shape), dtype=str(features.dtype))
        if codes.dtype.kind not in "iu" or codes.shape != (len(features),):
            raise DataError("research.codes-shape", shape=str(codes.shape), dtype=str(codes.dtype), rows=len(features))
        if features.dtype not in (np.float32, np.float64):
            features = features.astype(np.float64)
        if not np.isfinite(features).all():
            raise DataError("research.features-not-finite")
        if codes.min() < 0:
            raise DataError("research.negative-code", code=int(codes.min()))
        object.__setattr__(self, "features", np.ascontiguousarray(features))
        object.__setattr__(self, "codes", np.ascontiguousarray(codes, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class Federation:
    """Clients with rows of one width, and the server's test rows.

    Parameters
    ----------
    names : tuple of str
        Names of the clients.
    clients : tuple of Rows
        Their rows, in the same order.
    test : Rows
        The server's rows, on which models are judged.
    classes : tuple of str
        Name of each class code.
    notes : tuple of str
        What was left out on the way here.

    Examples
    --------
    >>> rows = Rows([[0.0], [1.0]], [0, 1])
    >>> Federation(("ann", "bob"), (rows, rows), rows, ("no", "yes"))
    Federation(2 clients, 4 rows of 1 coordinate, 2 classes)
    """

    names: tuple[str, ...]
    clients: tuple[Rows, ...]
    test: Rows
    classes: tuple[str, ...]
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        for field in ("names", "clients", "classes", "notes"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if not self.clients or len(self.names) != len(self.clients):
            raise DataError("research.names-and-clients-differ", names=len(self.names), clients=len(self.clients))
        if len(set(self.names)) < len(self.names):
            raise DataError("research.same-name")
        if len(self.classes) < 2 or len(set(self.classes)) < len(self.classes):
            raise DataError("research.classes-not-different", classes=str(self.classes))
        for name, rows in (*zip(self.names, self.clients, strict=True), ("the test set", self.test)):
            if rows.features.shape[1] != self.width:
                raise DataError(
                    "research.other-width", where=str(name), width=int(rows.features.shape[1]), wanted=self.width
                )
            if rows.codes.max() >= len(self.classes):
                raise DataError(
                    "research.code-of-no-class", where=str(name), code=int(rows.codes.max()), classes=len(self.classes)
                )

    @classmethod
    def from_tables(cls, clients: Mapping[str, Table], reference: Table, *, space: Space | None = None) -> Federation:
        """Scale every client's table as the reference says, and number the reference's classes.

        Rows of classes that the reference lacks are left out, as no model for the reference's classes could learn
        from them; a note says how many. ``space`` may choose the scaling, the task and what to do about missing
        values; features are neither projected nor whitened.

        Examples
        --------
        >>> import fedbary as fb
        >>> digits = fb.datasets.load("digits")
        >>> parts = fb.partitions.by_size(digits.train, [100, 200]).clients
        >>> Federation.from_tables(parts, digits.test)
        Federation(2 clients, 300 rows of 64 coordinates, 10 classes)
        """
        chosen = replace(space or Space(), projection="none", metric="euclidean", labels=None, label_weight=None)
        if label_kind(reference.labels, chosen.task, name=reference.label_name) != "classes":
            raise DataError("research.training-needs-classes", label=str(reference.label_name))
        schema = fit_schema(reference, chosen)
        for name, table in clients.items():
            schema.label.require(table.labels, where=str(name))
        coded = {
            name: (encode(table.replace(origin=table.origin or name), schema), class_names(table.labels))
            for name, table in clients.items()
        }
        return _numbered(coded, (encode(reference, schema), class_names(reference.labels)), judge="the reference")

    @classmethod
    def from_arrays(
        cls, clients: Mapping[str, tuple[ArrayLike, ArrayLike]], test: tuple[ArrayLike, ArrayLike]
    ) -> Federation:
        """Take features as they are, and number the classes of the test set.

        Examples
        --------
        >>> X = [[0.0, 1.0], [2.0, 3.0]]
        >>> clients = {"ann": (X, ["cat", "dog"]), "bob": (X, ["cat", "emu"])}
        >>> Federation.from_arrays(clients, (X, ["cat", "dog"])).notes[0].code
        'research.rows-left-out'
        """
        named = {name: (np.asarray(X), class_names(np.asarray(y))) for name, (X, y) in clients.items()}
        return _numbered(named, (np.asarray(test[0]), class_names(np.asarray(test[1]))), judge="the test set")

    @property
    def width(self) -> int:
        """Coordinates of a row."""
        return int(self.test.features.shape[1])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each client."""
        return np.array([len(rows) for rows in self.clients], dtype=np.int64)

    def __repr__(self) -> str:
        return (
            f"Federation({len(self.clients)} client{'s' * (len(self.clients) != 1)}, {self.counts.sum()} rows of "
            f"{self.width} coordinate{'s' * (self.width != 1)}, {len(self.classes)} classes)"
        )


def trainable(tables: Mapping[str, Table | FedbaryError], reference: Table) -> tuple[dict[str, Table], dict[str, Note]]:
    """The clients whose tables can be trained on, and why the others' cannot.

    Examples
    --------
    >>> reference = Table.from_arrays([[0.0], [1.0]], ["cat", "dog"])
    >>> able, unable = trainable({"ann": reference, "bob": DataError("data.no-rows", where="bob.csv")}, reference)
    >>> list(able), str(unable["bob"])
    (['ann'], 'bob.csv: the table has no rows; expected at least one')
    """
    able: dict[str, Table] = {}
    unable: dict[str, Note] = {}
    for name, table in tables.items():
        try:
            if isinstance(table, FedbaryError):
                raise table
            Federation.from_tables({name: table}, reference)
            able[name] = table
        except FedbaryError as error:
            unable[name] = error.note
    return able, unable


def _numbered(clients: Mapping[str, tuple[Floats, Names]], test: tuple[Floats, Names], *, judge: str) -> Federation:
    """Code the classes as the test rows have them, which messages call ``judge``."""
    classes = np.unique(test[1])
    if len(classes) < 2:
        raise DataError("research.fewer-than-two-classes", judge=judge.capitalize())
    coded, notes = [], []
    for name, (features, labels) in clients.items():
        if features.ndim != 2 or labels.shape != (len(features),):
            raise DataError(
                "research.features-and-labels-differ",
                where=str(name),
                features=str(features.shape),
                labels=str(labels.shape),
            )
        known = np.isin(labels, classes)
        if not known.all():
            unknown = np.unique(labels[~known])
            classes_of_rows = tuple(map(str, unknown))
            if not known.any():
                raise DataError("research.no-common-class", where=str(name), judge=judge, classes=classes_of_rows)
            count = int((~known).sum())
            facts: dict[str, Fact] = {
                "where": str(name),
                "count": count,
                "rows": len(known),
                "judge": judge,
                "classes": classes_of_rows,
            }
            notes.append(Note("research.rows-left-out", facts))
        coded.append(Rows(features[known], np.searchsorted(classes, labels[known])))
    return Federation(
        tuple(clients),
        tuple(coded),
        Rows(test[0], np.searchsorted(classes, test[1])),
        tuple(str(name) for name in classes),
        tuple(notes),
    )
