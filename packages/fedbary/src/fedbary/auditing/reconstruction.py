"""Attacks that read rows: off a card, from averages of one round or of all, by asking again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.finding import RECONSTRUCTION, Finding, Promises, Rate, finding_of
from fedbary.auditing.owner import Owner
from fedbary.auditing.probes import Round, blind, card_from, read_averages, sketch
from fedbary.auditing.scene import NOBODY, Scene
from fedbary.data.table import Table
from fedbary.notes import Note
from fedbary.protocols.cards.card import Card
from fedbary.protocols.messages import Failure
from fedbary.transport import solve

Floats = NDArray[np.float64]

# In standard deviations: so close by chance is nobody; one huge cell drowns the other rows to about this.
_CLOSE = 1e-3
_HUGE = 1e6
_MARK = "a column of the owner's"


def card_rows(scene: Scene) -> Finding | None:
    """Share of odd rows that are read; None where there are not two columns of numbers to read.

    Where one row alone has something, sums over what it has are that row.
    """
    rng = scene.rng("card rows")
    plain = scene.table.take(scene.others(rng, scene.some))
    numbers = [name for name, column in plain.columns.items() if column.dtype.kind == "f"]
    columns = sum(plain.columns[name].reshape(len(plain), -1).shape[1] for name in numbers)
    if columns < 2:
        return None
    outcomes = []
    for odd, changed in _odd_tables(plain, numbers[0]):
        with scene.defence.owner(odd, rng) as owner:
            card = card_from(owner, scene)
        outcomes.append(card is not None and _is_read(card, odd, changed))
    return finding_of(
        "reading odd rows",
        RECONSTRUCTION,
        Note("audit.card-rows", {"rows": len(outcomes)}),
        Rate.of(sum(outcomes), len(outcomes)),
        Promises.of(scene.defence).averages,
    )


def _odd_tables(table: Table, name: str) -> Iterator[tuple[Table, str]]:
    """The table with something in its first row that no other has, and the column that has it."""
    column, first = table.columns[name], np.arange(len(table)) == 0
    wide = first if column.ndim == 1 else np.arange(column.size).reshape(column.shape) == 0
    for cell in (np.nan, _HUGE * (np.nanstd(column) or 1.0)):
        yield table.replace(columns={**table.columns, name: np.where(wide, cell, column)}), name
    levels = np.where(first, NOBODY, np.where(np.arange(len(table)) % 2, "one", "another")).astype(object)
    halves = (np.arange(len(table)) % 2).astype(float)
    for added in (first.astype(float), levels):
        yield table.replace(columns={**table.columns, _MARK: added}), _MARK
    for like in (halves, 1.0 - halves):
        twin = np.where(first, 1.0 - like, like)
        yield table.replace(columns={**table.columns, _MARK: halves, f"{_MARK} again": twin}), _MARK
    if table.has_classes:
        yield table.replace(labels=np.where(first, NOBODY, table.labels.astype(str))), ""


def _is_read(card: Card, table: Table, changed: str) -> bool:
    """Whether a sum over part of the rows is the first row, in all numbers but those that were made odd."""
    if card.schema is not None:
        return False  # sums with noise, of rows that were clipped
    places, truth, scale, start = list[int](), list[float](), list[float](), 0
    for column in card.columns:
        values = table.columns[column.name]
        if values.dtype.kind == "f" and not column.name.startswith(changed or "\0"):
            block = values.reshape(len(values), -1)
            places += range(start, start + block.shape[1])
            truth += block[0].tolist()
            scale += np.nanstd(block, axis=0).tolist()
        start += column.coordinates
    claims = np.vstack([np.empty((0, card.width)), *_claims(card)])[:, places]
    missed = np.abs(claims - np.array(truth)) / np.maximum(scale, 1e-12)
    return bool((np.nan_to_num(missed, nan=np.inf).max(axis=1) < _CLOSE).any())


def _claims(card: Card) -> Iterator[Floats]:
    """Means of rows, weighted by what a combination of columns is in them: one row, where it is zero in all others."""
    raw = card.about(np.zeros(card.width))
    total, rows = raw.sums.sum(axis=0), raw.counts.sum()
    with np.errstate(all="ignore"):
        yield raw.sums / raw.counts[:, None]
        if not raw.full:
            return
        yield raw.second / total[:, None]
        yield (total - raw.second) / (rows - total)[:, None]
        # About its mean, a huge cell alone makes up its column.
        yield card.centre + card.second / np.sqrt(np.diag(card.second))[:, None]
        yield card.centre - card.second / np.sqrt(np.diag(card.second))[:, None]
        one, two = np.triu_indices(card.width, 1)
        for sign, constant in ((-1.0, 0.0), (1.0, 1.0)):
            weights = raw.second[one] + sign * raw.second[two] - constant * total
            yield weights / (total[one] + sign * total[two] - constant * rows)[:, None]


_HALF_WAY = 0.5
# In standard deviations: averages are read to ten digits, and so close by chance is nobody.
_AVERAGE_CLOSE = 1e-6


def known_t(scene: Scene) -> Finding:
    """Share of rows that a server reads that has fixed t: with as many points as rows every average is a row."""
    fixed = scene.asking(t=_HALF_WAY, support=len(scene.table))
    return _averages_finding("reconstruction, t fixed by the server", fixed, _HALF_WAY)


def unknown_t(scene: Scene) -> Finding:
    """Share of rows that a server reads from answers alone, t being the owner's secret."""
    return _averages_finding("reconstruction, t secret", scene.asking(support=len(scene.table)), None)


def rows_among(claims: Floats, rows: Floats, close: float) -> int:
    """How many rows agree with one of these claims in every coordinate."""
    if not len(claims):
        return 0
    found = 0
    for row in rows:
        found += bool((np.abs(claims - row).max(axis=1) < close).any())
    return found


def _averages_finding(attack: str, scene: Scene, t: float | None) -> Finding:
    schema, _ = blind(scene.schema)
    width = schema.feature_width
    with scene.defence.owner(scene.table, scene.rng(attack)) as owner:
        found = read_averages(owner, scene, t=t)
    claims = np.vstack([np.empty((0, schema.point_width)), *(one.averages for one in found)])
    truth = scene.placed(scene.table, schema)
    hits = rows_among(claims[:, :width], truth[:, :width], _AVERAGE_CLOSE)
    return finding_of(
        attack,
        RECONSTRUCTION,
        Note("audit.averages", {"rows": len(truth), "points": len(claims)}),
        Rate.of(hits, len(truth)),
        Promises.of(scene.defence).averages,
    )


# More rows mean larger equations, not other ones.
_JOINT_ROWS = 150
_STEPS, _EXACT = 15, 1e-6


def joint_rounds(scene: Scene) -> Finding:
    """Share of rows whose other columns the averages of all rounds give away, two columns being known.

    A server that knows two columns of every row, such as age and post code, steers each round along another direction
    of their plane. It then knows who is in which group, and the averages are linear equations for all other columns.
    There are enough of them as soon as there are two rounds more than rows in a group.
    """
    rng = scene.rng("joint rounds")
    table = scene.table.take(rng.permutation(len(scene.table))[:_JOINT_ROWS])
    asking = scene.asking(support=len(table))
    schema, _ = blind(scene.schema)
    truth = scene.placed(table, schema)
    width = schema.value_width
    # The columns in which most rows differ tell them apart best.
    different = [len(np.unique(column)) for column in truth[:, :width].T]
    known = np.argsort(different)[::-1][:2]
    # Nobody has steered the first round, so its groups are not known.
    rounds = int(getattr(asking.defence.settings, "rounds", 1))
    angles = np.pi * (np.arange(1, rounds) + 0.5) / rounds
    directions = np.zeros((rounds - 1, schema.point_width))
    directions[:, known] = np.column_stack([np.cos(angles), np.sin(angles)])[:, : len(known)]
    with asking.defence.owner(table, rng) as owner:
        found = read_averages(owner, asking, list(directions))
    hits = 0
    if found and len(known) == 2 < width:
        rows = _solved(found[1:] or found, truth[:, known], known)
        close = np.abs(rows[:, :width] - truth[:, :width]) < _CLOSE
        hits = int(close.all(axis=1).sum())
    return finding_of(
        "reconstruction, all rounds together",
        RECONSTRUCTION,
        Note("audit.joint-rounds", {"rows": len(truth), "rounds": len(found)}),
        Rate.of(hits, len(truth)),
    )


def _solved(found: list[Round], columns: Floats, known: NDArray[np.int64]) -> Floats:
    """Rows that give the averages, where groups follow from the columns that are known.

    Near ties are guessed wrongly now and then. Equations that miss by more count for less, so that the many right ones
    outvote them (least absolute deviations by reweighting).
    """
    averages = np.vstack([one.averages for one in found])
    guess = np.tile(averages.mean(axis=0), (len(columns), 1))
    guess[:, known] = columns
    groups = np.vstack([_groups(one.gamma, guess) for one in found])
    weights = np.ones(len(groups))
    for _ in range(_STEPS):
        guess = np.linalg.lstsq(weights[:, None] * groups, weights[:, None] * averages, rcond=None)[0]
        missed = np.linalg.norm(groups @ guess - averages, axis=1)
        weights = 1.0 / np.sqrt(np.maximum(missed, _EXACT))
    return np.asarray(guess)


def _groups(gamma: Floats, rows: Floats) -> Floats:
    """The weight of each row in each average, if these are the rows."""
    plan = solve(gamma, rows)
    weights = np.zeros((len(gamma), len(rows)))
    np.add.at(weights, (plan.source, plan.target), plan.mass)
    return np.asarray(weights * len(gamma))


ROWS, COORDINATES = 20, 8
_FAR, _TURN = 30.0, 1e-5
_FAR_CAP = 1e6


def repeated_questions(scene: Scene) -> Finding:
    """Share of rows that repeated questions read.

    With two sketch points at −L·u and L·u and k/m of the mass on the first, the k rows with the smallest u·x go there.
    The costs for k and k + 1 then differ by 4·L·u·x/m of a single row. Asked again with u turned a little towards each
    coordinate, the same difference gives that row, coordinate by coordinate. Merging small points does not help: both
    points take many rows.
    """
    rng = scene.rng("repeated questions")
    # Rows whose order along a direction is theirs alone: copies would be read as one.
    points = scene.points
    coordinates = np.flatnonzero(points[:, : scene.schema.feature_width].std(axis=0) > 0.0)
    coordinates = rng.permutation(coordinates)[:COORDINATES]
    rows = max(1, min(ROWS, len(points) - 2 * (scene.defence.settings.min_group + 1)))
    direction = np.zeros(points.shape[1])
    direction[: scene.schema.feature_width] = rng.standard_normal(scene.schema.feature_width)
    direction /= np.linalg.norm(direction)
    first = (len(points) - rows) // 2
    with scene.defence.owner(scene.table, rng) as owner:
        asker = _Asker(scene, owner)
        read = _read(asker, direction, range(first, first + rows), coordinates)
    hits = 0
    if read is not None:
        truth = points[np.argsort(points @ direction)][first : first + rows][:, coordinates]
        hits = int((np.abs(read - truth).max(axis=1) < _CLOSE).sum())
    facts = {"rows": rows, "answered": asker.answered, "asked": asker.asked}
    return finding_of(
        "repeated questions",
        RECONSTRUCTION,
        Note("audit.repeated-questions", facts),
        Rate.of(hits, rows),
        Promises.of(scene.defence).questions,
    )


class _Asker:
    """Asks until it is refused."""

    def __init__(self, scene: Scene, owner: Owner) -> None:
        self._scene, self._owner = scene, owner
        self.asked = self.answered = 0

    def costs(self, direction: Floats, counts: range) -> Floats | None:
        """The answered cost for each number of rows that go to the first point; None once one is refused."""
        rows, found = len(self._owner.table), []
        for count in counts:
            self.asked += 1
            points = np.outer([-_FAR, _FAR], direction)
            masses = np.array([count / rows, 1.0 - count / rows])
            reply = self._owner.ask(sketch(self._scene, self._scene.schema, points, masses, cap=_FAR_CAP))
            if isinstance(reply, Failure):
                return None
            self.answered += 1
            found.append(float(reply.scalars["cost"]))
        return np.array(found)

    def projections(self, direction: Floats, places: range) -> Floats | None:
        """u·x of the rows at these places of the order along u."""
        costs = self.costs(direction, range(places.start, places.stop + 1))
        return None if costs is None else np.diff(costs) * len(self._owner.table) / (4.0 * _FAR)


def _read(asker: _Asker, direction: Floats, places: range, coordinates: NDArray[np.int64]) -> Floats | None:
    before = asker.projections(direction, places)
    if before is None:
        return None
    read = np.empty((len(before), len(coordinates)))
    for column, coordinate in enumerate(coordinates):
        turned = direction.copy()
        turned[coordinate] += _TURN
        after = asker.projections(turned, places)
        if after is None:
            return None
        read[:, column] = (after - before) / _TURN
    return read
