"""Attacks that infer something of a row: whether it is there, its label, how many there are, and by refusals."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.finding import (
    EPSILON,
    FALSE_POSITIVES,
    INFERENCE,
    MEMBERSHIP,
    SIDE_CHANNEL,
    Finding,
    Promises,
    Rate,
    finding_of,
)
from fedbary.auditing.game import Played, World, play
from fedbary.auditing.owner import Owner
from fedbary.auditing.probes import about, all_about, loud, of_class, sketch
from fedbary.auditing.scene import NOBODY, Scene, written
from fedbary.data.table import Table
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.space.columns import CategorySpec
from fedbary.space.labels import class_names
from fedbary.space.schema import Schema


def membership(scene: Scene) -> Finding:
    """How often the row is found by a server that knows it, and rows like the others, but not the others."""

    def without(rng: np.random.Generator) -> Table:
        return scene.table.take(scene.others(rng, scene.some))

    def within(rng: np.random.Generator) -> Table:
        return scene.table.take(np.append(scene.others(rng, scene.some - 1), scene.target))

    rng = scene.rng("membership")
    games = [
        play(scene.defence, without, within, probe, trials=scene.trials, rng=rng)
        for probe in all_about(scene, scene.table.take([scene.target]))
    ]
    played = max(games, key=lambda game: game.looked_like)
    return membership_finding(scene, "membership", played, Note("audit.membership", {"trials": played.trials}))


def membership_finding(scene: Scene, attack: str, played: Played, what: Note) -> Finding:
    """True positives at one per cent false ones, beside what ε allows."""
    rate, epsilon = played.true_positives(), scene.defence.epsilon
    more = max(0.0, rate.false_positives - FALSE_POSITIVES)
    slack = 0.0 if epsilon is None else math.exp(epsilon) * more
    return finding_of(attack, MEMBERSHIP, what, rate, Promises.of(scene.defence).membership, slack=slack)


Floats = NDArray[np.float64]


def neighbours(scene: Scene) -> tuple[Finding, ...]:
    """Membership with all other rows known, the ε that the answers show, and what the time of an answer tells.

    Differential privacy promises something against the strongest server, one that knows every row but one.
    """
    rng = scene.rng("neighbours")
    others = scene.others(rng, scene.some)
    tables = scene.table.take(others), scene.table.take(np.append(others[1:], scene.target))
    ask = about(scene, scene.table.take([scene.target]))

    def timed(owner: Owner, rng: np.random.Generator) -> Floats:
        start = time.perf_counter()
        seen = ask(owner, rng)
        return np.append(seen, time.perf_counter() - start)

    both = play(scene.defence, lambda _: tables[0], lambda _: tables[1], timed, trials=scene.trials, rng=rng)
    answers = Played(both.first[:, :-1], both.second[:, :-1])
    clock = Played(both.first[:, -1:], both.second[:, -1:])
    promises, facts = Promises.of(scene.defence), {"trials": both.trials}
    others_known = Note("audit.membership-others-known", {**facts})
    return (
        membership_finding(scene, "membership, other rows known", answers, others_known),
        finding_of("empirical ε", EPSILON, Note("audit.epsilon", {**facts}), answers.epsilon(), promises.epsilon),
        finding_of(
            "time of the answer",
            SIDE_CHANNEL,
            Note("audit.timing", {**facts}),
            clock.right_guesses(),
            promises.guess,
        ),
    )


def attribute(scene: Scene) -> Finding | None:
    """How often the label is guessed of a row that has its own, or that of another row; None where all have one."""
    own = scene.table.take([scene.target])
    elsewhere = np.flatnonzero(scene.table.labels != own.labels[0])
    if not len(elsewhere):
        return None
    changed = own.replace(labels=scene.table.labels[elsewhere[:1]])

    def world(row: Table) -> World:
        def table(rng: np.random.Generator) -> Table:
            found = scene.table.take(np.append(scene.others(rng, scene.some - 1), scene.target))
            return found.replace(labels=np.append(found.labels[:-1], row.labels))

        return table

    rng = scene.rng("attribute")
    played = play(scene.defence, world(changed), world(own), about(scene, own), trials=scene.trials, rng=rng)
    what = Note("audit.attribute", {"trials": played.trials})
    return finding_of("label of a known row", INFERENCE, what, played.right_guesses(), Promises.of(scene.defence).guess)


def counts(scene: Scene) -> Finding | None:
    """How often a count n is told from n + 1; None where the label is no class, or everybody has the same."""
    if scene.schema.label.kind != "classes":
        return None
    names = class_names(scene.table.labels)
    kinds, sizes = np.unique(names, return_counts=True)
    known = np.isin(kinds, scene.schema.label.classes)
    if known.sum() < 2:
        return None
    name = str(kinds[known][np.argmin(np.abs(sizes[known] - len(names) / 3))])
    inside, outside = np.flatnonzero(names == name), np.flatnonzero(names != name)
    size = min(len(inside), len(outside)) // 2

    def world(more: int) -> World:
        def table(rng: np.random.Generator) -> Table:
            mine = rng.choice(inside, size + more, replace=False)
            return scene.table.take(np.append(mine, rng.choice(outside, size - more, replace=False)))

        return table

    rng = scene.rng("counts")
    played = play(scene.defence, world(0), world(1), of_class(scene, name), trials=scene.trials, rng=rng)
    what = Note("audit.count", {"trials": played.trials, "rows": int(size)})
    return finding_of("rows of a class", INFERENCE, what, played.right_guesses(), Promises.of(scene.defence).guess)


# About the largest number that a table holds, and a scale by which it overflows; a number that nobody else has.
_LARGEST, _TINY, _RARE = 1e99, 1e-80, 12345.0


def refusals(scene: Scene) -> Finding:
    """Share of odd rows and questions in which the outcome tells that the row is there."""
    rng = scene.rng("refusals")
    plain = scene.table.take(scene.others(rng, scene.some))

    def outcome(table: Table, question: Message) -> object:
        with scene.defence.owner(table, rng) as owner:
            return form(owner.ask(question))

    differ = [
        outcome(plain, question) != outcome(odd, question)
        for question in questions(scene)
        for odd in odd_tables(scene, plain)
    ]
    share = float(np.mean(differ))
    # Nothing is drawn here: each of them tells, or it does not.
    exact = Rate(share, share, share, share)
    what, limit = Note("audit.refusals", {"probes": len(differ)}), Promises.of(scene.defence).refusal
    return finding_of("whether there is an answer", SIDE_CHANNEL, what, exact, limit)


def form(reply: Reply | Failure) -> object:
    """Everything about an answer but its numbers: whether there is one, why not, and which fields of which size."""
    if isinstance(reply, Failure):
        return reply.status, reply.note.to_text()
    shapes = {name: np.asarray(array).shape for name, array in reply.arrays.items()}
    return sorted(reply.scalars), sorted(shapes.items()), tuple(note.to_text() for note in reply.notes)


def odd_tables(scene: Scene, table: Table) -> Iterator[Table]:
    """The table with another first row: one unlike all others, or its own with a cell or label that is odd."""
    others = np.arange(1, len(table))
    strange = scene.table.take([scene.target])
    yield Table(
        {name: np.concatenate([strange.columns[name], column[others]]) for name, column in table.columns.items()},
        np.concatenate([strange.labels, table.labels[others]]),
        label_name=table.label_name,
    )
    odd_cells = {"f": (_LARGEST, _RARE, np.nan), "O": (None, NOBODY)}
    for kind, cells in odd_cells.items():
        name = next((name for name, column in table.columns.items() if column.dtype.kind == kind), None)
        for cell in cells if name is not None else ():
            spoilt = table.columns[str(name)].copy()
            spoilt[0] = cell
            yield table.replace(columns={**table.columns, str(name): spoilt})
    labels = table.labels.tolist()
    labels[0] = NOBODY if isinstance(labels[0], str) else 10**6 if table.has_classes else _LARGEST
    yield table.replace(labels=np.array(labels))


def questions(scene: Scene) -> Iterator[Message]:
    """Honest questions, and ones that odd rows may upset: by a missing cell, a number that overflows, a category."""
    yield scene.honest
    if "task" in scene.honest.scalars:
        for task in ("classification", "regression"):
            yield replace(scene.honest, scalars={**scene.honest.scalars, "task": task})
    if "schema" not in scene.honest.scalars:
        return
    honest = Schema.from_json(str(scene.honest.scalars["schema"]))
    yield written(scene.honest, replace(honest, missing="refuse"))
    tiny = tuple(replace(one, scale=tuple(_TINY * scale for scale in one.scale)) for one in honest.columns)
    yield written(scene.honest, replace(honest, columns=tiny))
    # The text of a number: a column of numbers in which it occurs can be read as categories, another one cannot.
    rare = tuple(
        CategorySpec(one.name, categories=(f"{_RARE:g}",)) if one.kind == "numeric" else one
        for one in scene.schema.columns
    )
    schema = replace(scene.schema, columns=rare, projection=None)
    if scene.defence.asked.name == "sketch":
        yield sketch(scene, schema, np.zeros(schema.point_width), np.ones(1), cap=1.0)
        yield loud(scene, scene.points[scene.target])
    else:
        yield written(scene.honest, schema)
