"""`ReleasedCards`: the cards that left, kept so that they leave again, and that no two of them show a row."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedbary.data.atomic import private_folder, read_arrays, write_arrays
from fedbary.data.table import Table
from fedbary.protocols.cards import Cards
from fedbary.protocols.cards.client import card_of, card_reply
from fedbary.protocols.cards.guards import is_plain
from fedbary.protocols.messages import Reply, array_text, below, text_array, under
from fedbary.space.labels import class_names
from fedbary.space.row_identity import row_keys


@dataclass(frozen=True, eq=False)
class RowKeys:
    """Keyed hashes of a table's different rows and of their classes; without the owner's secret they say nothing."""

    rows: NDArray[np.uint64]
    classes: NDArray[np.uint64]

    @classmethod
    def of(cls, table: Table, kind: str, *, secret: int, least: int) -> RowKeys:
        """Of the classes that have at least so many different rows; all rows are one where the label is a number."""
        keys, places = np.unique(_hashes(table, secret), return_index=True)
        names = class_names(table.labels)[places] if kind == "classes" else np.full(len(keys), "")
        found, codes, counts = np.unique(names, return_inverse=True, return_counts=True)
        key = str(secret).encode()
        hashed = [hashlib.blake2b(str(name).encode(), key=key, digest_size=8).digest() for name in found]
        kept = counts[codes] >= least
        return cls(keys[kept], np.frombuffer(b"".join(hashed), dtype=np.uint64)[codes[kept]])

    def added_to(self, before: RowKeys) -> dict[int, int]:
        """For each class that has any: how many rows are here that were not there before."""
        new = ~np.isin(self.rows, before.rows)
        classes, counts = np.unique(self.classes[new], return_counts=True)
        return dict(zip(classes.tolist(), counts.tolist(), strict=True))


class ReleasedCards:
    """The cards of one table with all its versions, in a folder that its owner alone can read.

    What two exact cards differ in is the card of the rows that came or went. So after the first a guarded card is
    another one only where at least ``min_group`` rows came to a class or left it, in every class where any did.
    Otherwise the card that left before leaves again. Products of columns are told by a later card only where no row
    went, and the guards would leave the rows that came as they are: one row with a level among them would be read.

    Parameters
    ----------
    folder : path
        Where the cards are.
    table : Table
        The rows as they are now.
    secret : int
        What the owner alone knows.
    """

    def __init__(self, folder: Path, table: Table, *, secret: int) -> None:
        self._folder, self._table, self._secret = folder, table, secret

    def again(self, settings: Cards, asked: str) -> Reply | None:
        """The card that left for exactly this question, with its owner's consent of today; None where none is kept."""
        kept = _reply(read_arrays(self._place(settings, asked)))
        return None if kept is None else _consenting(kept, settings)

    def keep(self, settings: Cards, asked: str, made: Reply, *, alone: bool) -> Reply:
        """Keep a card that is about to leave; returns the one that may, which can be the last one.

        ``alone`` says that no earlier card counts.
        """
        place = self._place(settings, asked)
        arrays: dict[str, np.ndarray] = {}
        if settings.epsilon is None and settings.policy == "guarded":
            kind = card_of(made).kind
            now = RowKeys.of(self._table, kind, secret=self._secret, least=settings.min_group)
            guards = np.frombuffer(f"{settings.min_group} {kind}".encode(), dtype=np.uint8)
            before = {} if alone else read_arrays(place)
            if (last := _reply(before)) is not None:
                if not np.array_equal(before["guards"], guards):
                    # Two cards of the same rows with other guards differ in what these leave out, down to one cell.
                    return _consenting(last, settings)
                earlier = [RowKeys(before[f"rows.{at}"], before[f"classes.{at}"]) for at in range(_versions(before))]
                made = self._next(last, made, earlier, now, settings.min_group)
                if made is last:
                    return _consenting(last, settings)
                arrays |= {**under("rows.", below(before, "rows.")), **under("classes.", below(before, "classes."))}
            at = _versions(arrays)
            arrays |= {f"rows.{at}": now.rows, f"classes.{at}": now.classes, "guards": guards}
        arrays["scalars"] = text_array(json.dumps(dict(made.scalars)))
        private_folder(self._folder)
        write_arrays(place, {**arrays, **under("array.", made.arrays)}, mode=0o600)
        return made

    def _next(self, last: Reply, made: Reply, earlier: list[RowKeys], now: RowKeys, min_group: int) -> Reply:
        """The card after the last one, of what was made of the rows as they are now; any two can be subtracted."""
        for before in earlier:
            came, went = now.added_to(before), before.added_to(now)
            if not (came or went) or any(count < min_group for count in (*came.values(), *went.values())):
                return last
        card = card_of(made)
        plain = card.full and all(
            not before.added_to(now) and is_plain(self._rows_after(before), card.kind, min_group=min_group)
            for before in earlier
        )
        if not card.full or plain:
            return made
        return card_reply(replace(card, second=np.diag(card.second).copy()))

    def _rows_after(self, before: RowKeys) -> Table:
        return self._table.take(np.flatnonzero(~np.isin(_hashes(self._table, self._secret), before.rows)))

    def _place(self, settings: Cards, asked: str) -> Path:
        # A table has one guarded card, whatever is asked: two with other guards differ in what these leave out.
        return self._folder / f"{settings.policy if settings.epsilon is None else asked}.npz"


def _consenting(reply: Reply, settings: Cards) -> Reply:
    """A guarded card with what its owner now says of sharing it."""
    guarded = settings.epsilon is None and settings.policy == "guarded"
    return card_reply(replace(card_of(reply), shared=settings.shared)) if guarded else reply


def _versions(arrays: dict[str, np.ndarray]) -> int:
    """Of how many cards that left the keys of rows are kept."""
    return len(below(arrays, "rows."))


def _hashes(table: Table, secret: int) -> NDArray[np.uint64]:
    return np.asarray(row_keys(table, seed=secret).view(np.uint64).reshape(len(table), -1)[:, 0])


def _reply(arrays: dict[str, np.ndarray]) -> Reply | None:
    return Reply(0, json.loads(array_text(arrays["scalars"])), below(arrays, "array.")) if arrays else None
