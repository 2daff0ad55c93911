"""Labels: which kind they are, their canonical names, their coordinates, and what others may call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedbary.columns.arrays import holds_classes
from fedbary.columns.category import category_name, category_names
from fedbary.errors import DataError, SchemaError
from fedbary.space.columns import (
    SMALLEST,
    Cells,
    Floats,
    Integers,
    are_names,
    category_places,
    cell_numbers,
    corners,
    standardised,
    within_bounds,
)
from fedbary.space.options import Task

# Features of points, their weights, and the class of each as its place among names.
LabelledPart: TypeAlias = tuple[Floats, Floats, Integers]

# A class name beyond this is free text, and every party would have to carry it in its schema.
LONGEST_CLASS = 200
_NUMBERS = "iuf"
# More different whole numbers than this could be either kind, however many rows have each.
_MANY_CLASSES = 50
_COORDINATES = {"classes": ("onehot", "gaussian", "gaussian-full"), "number": ("numeric",)}
# Words for the two answers to a question, as files write them.
_ANSWERS = (
    ("0", "no", "n", "false", "f", "negative", "neg", "-", "off"),
    ("1", "yes", "y", "true", "t", "positive", "pos", "+", "on"),
)


@dataclass(frozen=True)
class LabelSpec:
    """The label: its kind (``classes`` or ``number``), its coordinates and their weight."""

    name: str
    kind: str
    coordinates: str
    classes: tuple[str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0
    weight: float = 1.0

    @property
    def gaussian(self) -> bool:
        """Whether coordinates are of a party's own classes, so that they depend on all of its rows."""
        return self.coordinates.startswith("gaussian")

    def standardised(self, labels: Cells, farthest: float | None = None) -> Floats:
        """Labels that are numbers, in the schema's units."""
        return standardised(cell_numbers(labels), self.mean, self.scale, farthest)

    def encode(self, labels: Cells, farthest: float | None = None) -> Floats:
        """Coordinates that are not gaussian, each by its own label: a class that is none of them has the last."""
        if self.coordinates == "numeric":
            return np.asarray(np.sqrt(self.weight) * self.standardised(labels, farthest)[:, None])
        return np.asarray(
            np.sqrt(self.weight / 2.0) * corners(category_places(labels, self.classes), len(self.classes) + 1)
        )

    def numbers(self, labels: Cells) -> Floats:
        """A number for each label, the same where the labels are."""
        return np.asarray(labels if self.kind == "number" else named_classes(labels)[0], dtype=np.float64)

    def require(self, labels: Cells, *, where: str = "") -> None:
        """Refuse labels of the wrong kind: text where a number is predicted, quantities where classes are."""
        if self.kind == "number" and labels.dtype.kind not in _NUMBERS:
            raise SchemaError("schema.label-holds-text", where=where, label=self.name, example=str(labels[0]))
        if self.kind == "classes" and labels.dtype.kind == "f":
            values = np.asarray(labels, dtype=float)
            fraction = values[values != np.round(values)]
            known = {name for name in self.classes if not name.lstrip("-").isdigit()}
            if len(fraction) and not known.intersection(class_names(fraction)):
                raise SchemaError(
                    "schema.label-holds-fractions",
                    where=where,
                    label=self.name,
                    example=f"{fraction[0]:g}",
                    classes=tuple(self.classes),
                )

    def is_possible(self) -> bool:
        """Whether its parts fit together."""
        short = all(len(name) <= LONGEST_CLASS for name in self.classes if isinstance(name, str))
        names = are_names(self.classes) and short and (self.kind == "classes" or not self.classes)
        return self.coordinates in _COORDINATES.get(self.kind, ()) and names

    def is_bounded(self) -> bool:
        """Whether the arithmetic of a label stays within the finite numbers."""
        return within_bounds(self.mean) and within_bounds(self.scale, SMALLEST) and within_bounds(self.weight, 0.0)


def label_kind(labels: Cells, task: Task = "auto", *, name: str = "label") -> str:
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
    if len(distinct) > _MANY_CLASSES:
        raise DataError("schema.classes-or-quantity", label=name, different=len(distinct), rows=len(labels))
    return "classes"


def class_names(labels: Cells) -> NDArray[np.str_]:
    """What labels are called, see `fedbary.data.categories.category_name`."""
    return category_names(labels).astype(np.str_)


def named_classes(labels: Cells) -> tuple[Integers, NDArray[np.str_]]:
    """For each row which class it has, and the different classes by name, sorted."""
    import pandas as pd

    codes, different = pd.factorize(labels)  # rows are many, classes few
    names, place = np.unique(class_names(np.asarray(different)), return_inverse=True)
    return place[codes], names


def class_positions(names: Iterable[str], classes: tuple[str, ...]) -> Integers:
    """The place of each name among the classes, and −1 for names that are none of them."""
    position = {category_name(name): index for index, name in enumerate(classes)}
    return np.array([position.get(str(name), -1) for name in names], dtype=np.int64)


def gaussian_coordinates(parts: Callable[[], Iterator[LabelledPart]], classes: int, *, full: bool) -> Floats:
    """Mean and spread of each class (DESIGN 2.1); ``parts`` goes through the points, and is asked three times.

    They are statistics of *this* party's points (ddof = 0), so a class that others lack, or that has one row
    (spread 0), is an ordinary case.
    """
    masses = np.zeros(classes)
    for _, weights, codes in parts():
        masses += np.bincount(codes, weights, minlength=classes)
    means, seconds = np.zeros(()), np.zeros(())
    for features, weights, codes in parts():
        share = weights / masses[codes]
        means = means + np.array([share[codes == code] @ features[codes == code] for code in range(classes)])
    for features, weights, codes in parts():
        added = []
        for code, mean in enumerate(means):
            share, centred = weights[codes == code] / masses[code], features[codes == code] - mean
            added.append((centred * share[:, None]).T @ centred if full else share @ centred**2)
        seconds = seconds + np.array(added)
    if not full:
        return np.hstack([means, np.sqrt(seconds)])
    roots = []
    for values, vectors in map(np.linalg.eigh, seconds):
        roots.append(((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T).ravel())
    return np.hstack([means, np.array(roots)])


def other_coding(labels: Iterable[str], classes: Iterable[str]) -> dict[str, str]:
    """Which class each unknown label probably means: GOOD for good, 1 for yes, 1.0 for 1.

    Tried are, one after the other, the same letters or number in other clothes, another word for yes or no, and the
    beginning of a single class. A label of which nothing is obvious is left out; all that are guessed mean different
    classes, or there is no guess.
    """
    known = sorted(set(classes))
    unknown = sorted(set(labels) - set(known))
    for same in (_plain, _answer):
        read: dict[str | None, list[str]] = {}
        for name in known:
            read.setdefault(same(name), []).append(name)
        read[None] = []
        meant = {name: read[same(name)][0] for name in unknown if len(read.get(same(name), ())) == 1}
        if meant:
            return meant
    meant = {}
    for name in unknown:  # abbreviations, if every unknown label is one and no two of the same class
        text = name.strip().casefold()
        longer = [one for one in known if one.casefold().startswith(text) or text.startswith(one.casefold())]
        if len(longer) != 1 or text.isdigit():
            return {}
        meant[name] = longer[0]
    return meant if len(set(meant.values())) == len(meant) else {}


def _plain(name: str) -> str | None:
    """Small letters and digits alone; a number as its value."""
    text = name.strip().casefold()
    try:
        return repr(float(text))
    except ValueError:
        return "".join(letter for letter in text if letter.isalnum()) or None


def _answer(name: str) -> str | None:
    text = name.strip().casefold()
    with suppress(ValueError):
        text = f"{float(text):g}"
    return next((words[0] for words in _ANSWERS if text in words), None)
