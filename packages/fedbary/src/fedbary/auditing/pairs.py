"""Questions that can be subtracted from each other: each counts the rows that have a mark, by its own rows.

A table has marks, columns of 0 and 1. A card has their sums. A sketch says them in one number: scales 2^(−j/2) make a
mark weigh 2^j in the mean cost. Averages of interpolation have the table's mean. A model of cards that expects nobody
to have the first mark counts those who do as odd.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.finding import INFERENCE, PROOF, Finding, Promises, clopper_pearson, finding_of
from fedbary.auditing.game import Played, play
from fedbary.auditing.owner import Defence, Owner, Session
from fedbary.auditing.probes import card_sums, read_averages, sketch
from fedbary.auditing.scene import NOBODY, Scene
from fedbary.data.table import Table
from fedbary.judging.discriminant import Discriminant
from fedbary.judging.model import JudgingModel
from fedbary.notes import Note
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


Pair = tuple[Asked, Asked]

SECRETS = ("hidden row", "lone class", "added row", "removed row", "edited cell")
# Every second mark; the two rows that are told apart are this one and its opposite.
_EVERY_SECOND = np.arange(CELLS) % 2
# Rows of an owner, and owners of each kind that choose among all pairs.
_PAIR_ROWS, _TRIED = 200, 2


def pairs(scene: Scene) -> tuple[Finding, ...]:
    """For each secret: how often two questions tell which of two rows it is, beside the better one of them alone.

    A card leaves out rows that stand out; another answer may be made of all rows, or of another version of the table.
    What their sums differ in is then a single row.
    """
    asker = Asker(scene)
    return tuple(
        PairGame(scene, asker, kind).finding() for kind in SECRETS if scene.table.has_classes or kind != "lone class"
    )


class PairGame:
    """Owners whose last row is the secret, which has these marks or those; an edit adds one of two to none."""

    def __init__(self, scene: Scene, asker: Asker, kind: str) -> None:
        self._scene, self._asker, self._kind = scene, asker, kind
        self.worlds = np.eye(CELLS)[:2] if kind == "edited cell" else np.abs([_EVERY_SECOND, _EVERY_SECOND - 1.0])
        self._rng = scene.rng(kind)

    def finding(self) -> Finding:
        """The pair that looks best on a few owners, played with others."""
        pair, trials = self._best(), min(self._scene.trials, MOST_TRIALS)
        worlds = partial(self.table, 0), partial(self.table, 1)
        read = list[bool]()

        def together(owner: Owner, _: np.random.Generator) -> Floats:
            secret, told = _last_marks(owner.table), self.told(owner, pair)
            marks = self.subtracted(*told)
            read.append(bool((marks == secret).all()))
            return np.array([self.towards(marks), *map(_number, (*told[0], *told[1]))])

        def alone(owner: Owner, _: np.random.Generator) -> Floats:
            return np.array([*map(_number, self._asker.alone(owner, self._versions(owner.table)[1], pair[1]))])

        both, second = (
            play(self._scene.defence, *worlds, probe, trials=trials, rng=self._rng) for probe in (together, alone)
        )
        width = second.first.shape[1]  # the first answer is what it would be alone
        single = Played(both.first[:, 1 : 1 + width], both.second[:, 1 : 1 + width]), second
        better = max((game.right_guesses() for game in single), key=lambda rate: rate.value)
        limit = Promises.of(self._scene.defence).pairs
        if limit is not None:
            guesses = 2 * both.trials
            limit = max(limit, clopper_pearson(round(better.value * guesses), guesses, PROOF)[1])
        asked = {"first": str(pair[0]), "second": str(pair[1])}
        found = {"alone": better.value, "read": float(np.mean(read))}
        what = Note("audit.pair", {**asked, **found, "cells": CELLS, "trials": both.trials})
        return finding_of(f"two questions, {self._kind}", INFERENCE, what, both.right_guesses(), limit)

    def table(self, world: int, rng: np.random.Generator) -> Table:
        """An owner's rows of one of the two worlds, none of a class so small that a card leaves it out."""
        table = self._scene.table
        rows = np.arange(len(table))
        if table.has_classes:
            _, codes, counts = np.unique(table.labels.astype(str), return_inverse=True, return_counts=True)
            rows = rows[counts[codes] >= 4 * self._scene.defence.settings.min_group]
        return _with_last(marked(table.take(rng.permutation(rows)[:_PAIR_ROWS]), rng), self.worlds[world])

    def told(self, owner: Owner, pair: Pair) -> tuple[Told, Told]:
        """What an owner answers to both questions."""
        return self._asker.both(owner, self._versions(owner.table), pair)

    def subtracted(self, first: Told, second: Told) -> Floats:
        """The marks of the secret by both answers, NaN where they do not tell."""
        return np.abs(second.less(first))

    def towards(self, marks: Floats) -> float:
        """How much marks look like the row of the second world rather than that of the first."""
        return float(np.nansum((self.worlds[1] - self.worlds[0]) * (marks - 0.5)))

    def _best(self) -> Pair:
        best, chosen = -1.0, None
        for pair in self._asker.pairs():
            if (found := self._looks(pair)) > best:
                best, chosen = found, pair
            if best >= _TRIED * np.abs(self.worlds[1] - self.worlds[0]).sum():
                break  # it reads every cell
        assert chosen is not None
        return chosen

    def _looks(self, pair: Pair) -> float:
        """How far subtraction leads to the right row, for few owners, before the first wrong guess."""
        found = 0.0
        for world in [0, 1] * _TRIED:
            with self._scene.defence.owner(self.table(world, self._rng), self._rng) as owner:
                right = self.towards(self.subtracted(*self.told(owner, pair))) * (2 * world - 1)
            if right <= 0.0:
                break
            found += right
        return found

    def _versions(self, table: Table) -> tuple[Table, Table]:
        """The table that the first question meets, and the one that the second meets."""
        last, without = np.arange(len(table)) == len(table) - 1, table.take(np.arange(len(table) - 1))
        match self._kind:
            case "hidden row":  # one column repeats another in all rows but this one
                table = table.replace(columns={**table.columns, AGAIN: table.columns[AGAIN] + 60.0 * last})
            case "lone class":
                table = table.replace(labels=np.where(last, NOBODY, table.labels))
            case "added row":
                return without, table
            case "removed row":
                return table, without
            case "edited cell":
                return _with_last(table, np.zeros(CELLS)), table
        return table, table


def _with_last(table: Table, marks: Floats) -> Table:
    """The table with these marks in its last row."""
    changed = {name: np.append(table.columns[name][:-1], mark) for name, mark in zip(MARKS, marks, strict=True)}
    return table.replace(columns={**table.columns, **changed})


def _last_marks(table: Table) -> Floats:
    return np.array([table.columns[name][-1] for name in MARKS])


def _number(told: float) -> float:
    return -1.0 if np.isnan(told) else told
