"""Two questions of one table: what the difference of their answers tells of a row that neither shows.

A card leaves out rows that stand out; another answer may be made of all rows, or of another version of the table. What
their sums differ in is then a single row.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.finding import INFERENCE, Finding, measured
from fedbary.auditing.game import Played, play
from fedbary.auditing.intervals import PROOF, clopper_pearson
from fedbary.auditing.owner import Owner
from fedbary.auditing.pair_questions import AGAIN, CELLS, MARKS, MOST_TRIALS, Asked, Asker, Told, marked
from fedbary.auditing.promises import Promises
from fedbary.auditing.scene import NOBODY, Scene
from fedbary.data.table import Table
from fedbary.notes import Note

Floats = NDArray[np.float64]
Pair = tuple[Asked, Asked]

SECRETS = ("hidden row", "lone class", "added row", "removed row", "edited cell")
# Every second mark; the two rows that are told apart are this one and its opposite.
_EVERY_SECOND = np.arange(CELLS) % 2
# Rows of an owner, and owners of each kind that choose among all pairs.
_MOST_ROWS, _TRIED = 200, 2


def pairs(scene: Scene) -> tuple[Finding, ...]:
    """For each secret: how often two questions tell which of two rows it is, beside the better one of them alone."""
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
        return measured(f"two questions, {self._kind}", INFERENCE, what, both.right_guesses(), limit)

    def table(self, world: int, rng: np.random.Generator) -> Table:
        """An owner's rows of one of the two worlds, none of a class so small that a card leaves it out."""
        table = self._scene.table
        rows = np.arange(len(table))
        if table.has_classes:
            _, codes, counts = np.unique(table.labels.astype(str), return_inverse=True, return_counts=True)
            rows = rows[counts[codes] >= 4 * self._scene.defence.settings.min_group]
        return _with_last(marked(table.take(rng.permutation(rows)[:_MOST_ROWS]), rng), self.worlds[world])

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
