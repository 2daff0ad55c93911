"""Labels: which kind they are, their canonical names, and their coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedbary.data.categories import category_name, category_names
from fedbary.data.columns import holds_classes
from fedbary.errors import DataError, SchemaError
from fedbary.space.options import Task
from fedbary.space.schema import LabelSpec

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Features of points, their weights, and the class of each as its place among names.
LabelledPart: TypeAlias = tuple[Floats, Floats, Integers]

_NUMBERS = "iuf"
# So many different whole numbers, in more than this share of the rows, could be either kind.
_MANY_CLASSES, _MANY_SHARE = 50, 0.2


def label_kind(labels: NDArray[np.generic], task: Task = "auto", *, name: str = "label") -> str:
    """``"classes"`` or ``"number"``.

    Text, booleans and whole numbers are classes; floats are numbers, unless they are whole and few. Whole
    numbers with very many different values are refused until the user says what they are.
    """
    if task != "auto":
        if task == "regression" and labels.dtype.kind not in _NUMBERS:
            raise DataError("schema.text-to-regress", label=name, example=str(labels[0]))
        return "number" if task == "regression" else "classes"
    if labels.dtype.kind not in "iu":
        return "classes" if holds_classes(labels) else "number"
    distinct = np.unique(labels)
    if len(distinct) > max(_MANY_CLASSES, _MANY_SHARE * len(labels)):
        raise DataError("schema.classes-or-quantity", label=name, different=len(distinct), rows=len(labels))
    return "classes"


def class_names(labels: NDArray[np.generic]) -> NDArray[np.str_]:
    """What labels are called, see `fedbary.data.categories.category_name`."""
    return category_names(labels).astype(np.str_)


def named_classes(labels: NDArray[np.generic]) -> tuple[Integers, NDArray[np.str_]]:
    """The different classes by name, sorted, and for each row which of them it has.

    Examples
    --------
    >>> named_classes(np.array([3.0, 1.0, 3.0]))
    (array([1, 0, 1]), array(['1', '3'], dtype='<U1'))
    """
    import pandas as pd

    codes, different = pd.factorize(labels)  # rows are many, classes few
    names, place = np.unique(class_names(np.asarray(different)), return_inverse=True)
    return place[codes], names


def class_positions(
    names: NDArray[np.str_] | NDArray[np.object_], classes: tuple[str, ...], *, unknown: int = -1
) -> Integers:
    """The place of each name among the classes, and ``unknown`` for names that are none of them.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.space.labels import class_positions
    >>> class_positions(np.array(["b", "c"]), ("a", "b"))
    array([ 1, -1])
    """
    position = {category_name(name): index for index, name in enumerate(classes)}
    return np.array([position.get(str(name), unknown) for name in names], dtype=np.int64)


def label_positions(labels: NDArray[np.generic], classes: tuple[str, ...]) -> Integers:
    """The place of each label's class among the classes, −1 for others: `class_positions` for many rows."""
    codes, names = named_classes(labels)
    return class_positions(names, classes)[codes]


def label_numbers(labels: NDArray[np.generic], spec: LabelSpec) -> Floats:
    """A number for each label, the same where the labels are."""
    return np.asarray(labels if spec.kind == "number" else named_classes(labels)[0], dtype=np.float64)


def check_kind(labels: NDArray[np.generic], spec: LabelSpec, *, where: str = "") -> None:
    """Refuse labels of the wrong kind: text where a number is predicted, quantities where classes are."""
    if spec.kind == "number" and labels.dtype.kind not in _NUMBERS:
        raise SchemaError("schema.label-holds-text", where=where, label=spec.name, example=str(labels[0]))
    if spec.kind == "classes" and labels.dtype.kind == "f":
        values = np.asarray(labels, dtype=float)
        fraction = values[values != np.round(values)]
        known = {name for name in spec.classes if not _is_whole(name)}
        if len(fraction) and not known.intersection(class_names(fraction)):
            raise SchemaError(
                "schema.label-holds-fractions",
                where=where,
                label=spec.name,
                example=f"{fraction[0]:g}",
                classes=tuple(spec.classes),
            )


def label_coordinates(labels: NDArray[np.generic], features: Floats, weights: Floats, spec: LabelSpec) -> Floats:
    """Coordinates of the labels of points with features and weights, to stand beside the features (DESIGN 2.1)."""
    if spec.kind == "number":
        return coordinates_of_classes(labels, lambda: iter(()), spec)
    codes, names = named_classes(labels)
    return coordinates_of_classes(names, lambda: iter([(features, weights, codes)]), spec)[codes]


def coordinates_of_classes(
    names: NDArray[np.generic], parts: Callable[[], Iterator[LabelledPart]], spec: LabelSpec
) -> Floats:
    """Coordinates of classes by name, or of labels that are numbers.

    ``gaussian`` uses the class statistics of *this* party's points (ddof = 0), so a class that others lack, or
    that has one row (spread 0), is an ordinary case. ``parts`` goes through the points, and is asked three times.
    """
    if spec.coordinates == "numeric":
        standard = (np.asarray(names, dtype=float) - spec.mean) / spec.scale
        return np.asarray(np.sqrt(spec.weight) * standard[:, None])
    if spec.coordinates == "onehot":
        # One column per known class and a last one for all classes that the schema does not know.
        columns = class_positions(np.asarray(names, dtype=np.str_), spec.classes, unknown=len(spec.classes))
        corners = np.zeros((len(names), len(spec.classes) + 1))
        corners[np.arange(len(names)), columns] = 1.0
        return np.asarray(np.sqrt(spec.weight / 2.0) * corners)
    return _gaussian(len(names), parts, full=spec.coordinates == "gaussian-full")


def _gaussian(classes: int, parts: Callable[[], Iterator[LabelledPart]], *, full: bool) -> Floats:
    masses = np.zeros(classes)
    for _, weights, codes in parts():
        masses += np.bincount(codes, weights, minlength=classes)
    means: Floats = sum((_class_means(part, masses) for part in parts()), np.zeros(()))
    seconds: Floats = sum((_class_seconds(part, masses, means, full=full) for part in parts()), np.zeros(()))
    spreads = np.array([_matrix_root(one).ravel() for one in seconds]) if full else np.sqrt(seconds)
    return np.hstack([means, spreads])


def _class_means(part: LabelledPart, masses: Floats) -> Floats:
    """What a part adds to the mean of every class."""
    features, weights, codes = part
    share = weights / masses[codes]
    return np.array([share[codes == code] @ features[codes == code] for code in range(len(masses))])


def _class_seconds(part: LabelledPart, masses: Floats, means: Floats, *, full: bool) -> Floats:
    """What a part adds to the covariance of every class, or to its diagonal."""
    features, weights, codes = part
    found = []
    for code, mean in enumerate(means):
        rows = codes == code
        share, centred = weights[rows] / masses[code], features[rows] - mean
        found.append((centred * share[:, None]).T @ centred if full else share @ centred**2)
    return np.array(found)


def _matrix_root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdigit()
