"""Questions that can be subtracted from each other: each counts the rows that have a mark, by its own rows.

A table has marks, columns of 0 and 1. A card has their sums. A sketch says them in one number: scales 2^(−j/2) make a
mark weigh 2^j in the mean cost. Averages of interpolation have the table's mean. A model of cards that expects nobody
to have the first mark counts those who do as odd.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.averages import read_averages
from fedbary.auditing.card_questions import card_sums
from fedbary.auditing.owner import Defence, Owner, Session
from fedbary.auditing.scene import Scene
from fedbary.auditing.sketch_questions import sketch
from fedbary.data.table import Table
from fedbary.judging.discriminant import Discriminant
from fedbary.judging.model import JudgingModel
from fedbary.protocols.cards.client import card_of
from fedbary.protocols.messages import Failure, Message

Floats = NDArray[np.float64]

CELLS = 8
MARKS = tuple(f"mark {place}" for place in range(CELLS))
DOSE, AGAIN, _OTHER = "dose", "dose again", "another label"
# The first mark outweighs all others of all rows together, so that it is told beside them.
_PLACES = np.append(16, np.arange(CELLS - 1))
_WEIGHTS = 2.0**_PLACES
# So many of the rows have a mark; more than any row weighs; the cell from which on rows are odd; rounding.
_SHARE, _CAP, _ODD_CELL, _WHOLE = 0.3, 2.0**17, 10, 0.01
# Owners of each kind in a game: with fewer nothing is refuted. And engines of the first and of the second question.
MOST_TRIALS = 60
_ENGINES = (("local", "local"), ("files", "files"), ("node", "node"), ("files", "node"), ("node", "files"))


def marked(table: Table, rng: np.random.Generator) -> Table:
    """As many rows with the same labels, of marks, a dose that is there twice, and another label, at random."""
    rows = len(table)
    marks = {name: (rng.random(rows) < _SHARE).astype(float) for name in MARKS}
    dose, other = np.round(60.0 * rng.random(rows), 3), rng.choice(["one", "two"], rows).astype(object)
    labels = np.array([f"class {label}" for label in table.labels]) if table.has_classes else table.labels
    return Table({**marks, DOSE: dose, AGAIN: dose.copy(), _OTHER: other}, labels, label_name="own label")


@dataclass(frozen=True)
class Asked:
    """One question: a card, what a model of cards says of the rows (evidence), a sketch or interpolation."""

    what: str
    engine: str = "local"
    label: str = ""

    @property
    def protocol(self) -> str:
        """The protocol whose question it is."""
        return "cards" if self.what in ("card", "evidence") else self.what

    def __str__(self) -> str:
        return f"{self.what} ({self.engine}{', another label' if self.label else ''})"


class Told(NamedTuple):
    """Rows with the first mark, weights of all marks of all rows, and how many rows these are; NaN where untold.

    Of a sketch ``mean`` is the weight of a row, and how many rows it is the mean of has to be found out.
    """

    first: float = np.nan
    packed: float = np.nan
    rows: float = np.nan
    mean: float = np.nan

    def less(self, other: Told) -> Floats:
        """The marks that two answers differ in by one row; NaN where they do not tell."""
        one, two = self._of_rows(other.rows), other._of_rows(self.rows)
        difference = one.packed - two.packed
        whole = round(difference) if abs(difference) < _CAP else 0
        marks = np.sign(whole) * ((abs(whole) >> _PLACES) & 1).astype(float)
        if abs(difference - whole) < _WHOLE and _WEIGHTS @ marks == whole:
            return np.asarray(marks)
        return np.append(one.first - two.first, np.full(CELLS - 1, np.nan))

    def _of_rows(self, others: float) -> Told:
        """Sums, of as many rows as is said or as the other answer has: the one by which they are whole numbers."""
        for rows in (self.rows, others):
            total = self.mean * rows
            if np.isfinite(total) and abs(total - round(total)) < _WHOLE:
                return Told(np.floor(total / _WEIGHTS[0] + _WHOLE), total, rows)
        return self


class Asker:
    """A server that knows rows like the owner's, with the same columns, and asks what the policy allows."""

    def __init__(self, scene: Scene) -> None:
        policy, asked, rng = scene.defence.policy, scene.defence.asked, scene.rng("pairs")
        tables = marked(scene.table, rng), marked(scene.reference, rng)
        self._thorough = scene.trials >= MOST_TRIALS
        self._scenes: dict[tuple[str, str], Scene] = {}
        for name, label in product((asked.name,) if policy is None else policy.protocols, ("", _OTHER)):
            settings = asked if policy is None or name == asked.name else policy.most_telling(name)
            own, theirs = (_relabelled(table, label) for table in tables)
            self._scenes[name, label] = Scene(own, theirs, Defence(settings, policy), scene.trials, scene.seed)

    def pairs(self) -> Iterator[tuple[Asked, Asked]]:
        """Every pair of questions, labels and engines; for a quick look, in one process alone."""
        known = {name for name, _ in self._scenes}
        kinds = [what for what in ("card", "sketch", "interpolation", "evidence") if Asked(what).protocol in known]
        engines = _ENGINES if self._thorough else _ENGINES[:1]
        for (one, other), label, first, second in product(engines, ("", _OTHER), kinds, kinds):
            yield Asked(first, one), Asked(second, other, label)

    def both(self, owner: Owner, versions: tuple[Table, Table], pair: tuple[Asked, Asked]) -> tuple[Told, Told]:
        """What two answers say; a card and what a model says of the same rows are one run."""
        first, second = pair
        session = self._session(owner, versions[0], first)
        told = self._told(owner, session, first)
        if {first.what, second.what} == {"card", "evidence"} and replace(first, what=second.what) == second:
            owner.table = versions[1]
        else:
            session = self._session(owner, versions[1], second)
        return told, self._told(owner, session, second)

    def alone(self, owner: Owner, table: Table, asked: Asked) -> Told:
        """What the answer to a single question says."""
        return self._told(owner, self._session(owner, table, asked), asked)

    def _session(self, owner: Owner, table: Table, asked: Asked) -> Session:
        owner.defence = self._scenes[asked.protocol, asked.label].defence
        owner.engine, owner.table = asked.engine, _relabelled(table, asked.label)
        return owner.session()

    def _told(self, owner: Owner, session: Session, asked: Asked) -> Told:
        scene = self._scenes[asked.protocol, asked.label]
        if asked.what == "interpolation":
            return _by_averages(owner, scene)
        for message in _messages(scene, asked.what):
            reply = session.ask(message)
        if isinstance(reply, Failure):
            return Told()
        if asked.what == "card":
            card = card_of(reply)
            sums = card_sums(card, MARKS)
            return Told(sums[0], float(_WEIGHTS @ sums), float(card.counts.sum()))
        if asked.what == "sketch":
            return Told(rows=float(reply.scalars["rows"]), mean=float(reply.scalars["cost"]))
        counts = reply.arrays.get("features", np.full(1, np.nan))
        return Told(counts[_ODD_CELL:].sum() + 0.0 * counts[0], rows=counts.sum())


def _relabelled(table: Table, label: str) -> Table:
    """The same rows for a server that asks for another label."""
    if not label:
        return table
    columns = {**table.columns, table.label_name: table.labels}
    return Table(columns, columns.pop(label), label_name=label)


def _messages(scene: Scene, what: str) -> list[Message]:
    if what == "card":
        return [scene.honest]
    label, by_name = scene.schema.label, {column.name: column for column in scene.schema.columns}
    silent = replace(label, weight=0.0) if label.kind == "classes" else replace(label, scale=1e12 * label.scale)
    columns = tuple(
        replace(by_name[name], mean=(0.0,), scale=(float(weight**-0.5),), absence=0.0)
        for name, weight in zip(MARKS if what == "sketch" else MARKS[:1], _WEIGHTS, strict=False)
    )
    schema = replace(scene.schema, columns=columns, label=silent, projection=None, whitening=None)
    if what == "sketch":
        return [sketch(scene, schema, np.zeros(schema.point_width), np.ones(1), cap=_CAP)]
    # Most rows lack the mark, so that those with it lie farther from the middle of all.
    one, zeros = np.ones(1), np.zeros((len(label.classes), 1))
    others = Discriminant(0.0 * one, one, zeros[:, 0] + 100.0, zeros, np.eye(1))
    public = {"schema": schema.to_json(), "fingerprint": schema.fingerprint}
    model = Message("model", 0, public, JudgingModel(label.classes, others).to_arrays())
    return [model, Message("evidence", 0, {}, {"weights": np.ones(3)})]


def _by_averages(owner: Owner, scene: Scene) -> Told:
    found, columns, rows = read_averages(owner, scene), scene.schema.columns, len(owner.table)
    if not found:
        return Told()
    starts = np.cumsum([0, *(column.coordinates for column in columns)])
    means = {
        column.name: found[0].averages[:, start].mean() * column.scale[0] + column.mean[0]
        for column, start in zip(columns, starts, strict=False)
        if column.name in MARKS
    }
    sums = rows * np.array([means[name] for name in MARKS])
    return Told(sums[0], float(_WEIGHTS @ sums), rows)
