"""`check_card`: a card is what its sender claims; claims that no rows could make true are refused.

What could be true but is not stays in: the others' cards tell (`fedbary.protocols.cards.weights`).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from fedbary.errors import ProtocolError
from fedbary.protocols.cards.card import Card

# Of sums of up to 10⁹ numbers, in units of the largest that they are compared with.
_ROUNDING = 1e-6
# Of noise; beyond so many standard deviations nobody is by chance.
_DEVIATIONS = 12.0


def check_card(card: Card) -> None:
    """Refuse counts beyond the rows, means beyond what a column can have, and products that no rows have."""
    _check_counts(card)
    if card.release is not None:  # with noise, what is summed may have any value
        return
    _check_marks(card)
    _check_products(card)


def _check_counts(card: Card) -> None:
    noise = 0.0 if card.release is None else _DEVIATIONS * sqrt(2.0) * card.release.sigma
    exact = card.release is None
    if float(card.counts.min()) < -noise or (exact and (card.counts != np.round(card.counts)).any()):
        raise ProtocolError("protocols.card-counts-none")
    if float(card.counts.sum()) > card.rows + noise * sqrt(len(card.counts)):
        raise ProtocolError("protocols.card-counts", rows=card.rows)


def _check_marks(card: Card) -> None:
    """A level, or a missing cell, is there in none to all rows of a class."""
    start, held = 0, card.counts > 0
    if not held.all() and np.abs(card.sums[~held]).max(initial=0.0) > 0.0:
        raise ProtocolError("protocols.card-counts-none")
    means = card.centre + card.sums[held] / card.counts[held, None]
    for column in card.columns:
        first = start if column.kind == "categorical" else start + column.values
        marks = means[:, first : start + column.coordinates]
        start += column.coordinates
        several = column.kind == "categorical" and marks.size and float(marks.sum(axis=1).max()) > 1.0 + _ROUNDING
        if several or (marks.size and not -_ROUNDING <= float(marks.min()) <= float(marks.max()) <= 1.0 + _ROUNDING):
            raise ProtocolError("protocols.card-levels", column=column.name)


def _check_products(card: Card) -> None:
    """Squares of at least what the class means make of them, and a matrix of products that is one."""
    squares = np.diag(card.second) if card.full else card.second
    held = card.counts > 0
    of_means = (card.sums[held] ** 2 / card.counts[held, None]).sum(axis=0)
    if (squares < 0).any() or (of_means > squares * (1.0 + _ROUNDING) + _ROUNDING * squares.max(initial=0.0)).any():
        raise ProtocolError("protocols.card-not-moments")
    if not card.full:
        return
    scale = np.sqrt(np.where(squares > 0, squares, 1.0))
    correlation = card.second / np.outer(scale, scale)
    uneven = np.abs(correlation - correlation.T).max(initial=0.0) > _ROUNDING
    if uneven or float(np.linalg.eigvalsh(correlation)[0]) < -_ROUNDING * len(correlation):
        raise ProtocolError("protocols.card-not-moments")
