"""`ReleasedTables`: the released rows of a table with all its versions, kept beside its ledger.

Every exact answer is made of them, in whatever protocol, run or engine. So the rows that came or went between two
versions show only as far as the released rows changed with them, and these grow by whole groups.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedbary.columns.arrays import kind_of
from fedbary.data.atomic import private_folder, read_arrays, write_arrays
from fedbary.data.reading import Reading
from fedbary.data.table import Table, concat
from fedbary.errors import DataError, PrivacyError
from fedbary.forms import array_text, below, text_array, under
from fedbary.guard.ledger import Ledger
from fedbary.protocols.messages import Reply
from fedbary.protocols.released_table import ReleasedTable, is_plain
from fedbary.space.row_identity import content_digest, row_keys


@dataclass(frozen=True, eq=False)
class _Kept:
    """Released rows, keyed hashes of the rows that they were, and a digest of the whole table then.

    ``since`` marks those that came after the last version whose products could be told.
    """

    released: ReleasedTable
    keys: NDArray[np.uint64]
    since: NDArray[np.bool_]
    digest: str


class ReleasedTables:
    """What says which rows of a table may be in an exact answer: a `fedbary.protocols.released_table.Release`.

    The first exact answer since the owner's last reset decides, and what it decided is kept in a folder that the owner
    alone can read. Rows that come later are released only as a table of their own, under the same guards. Products of
    columns are told of a later version only where they could be of what came. Once a released row went or was edited,
    nothing changes until a reset: were a column of all rows edited as one more row comes, the other columns' sums would
    differ by that row. Nor does it with persons, or other columns: who is who is not kept.

    ``secret`` is what the owner alone knows.
    """

    def __init__(self, ledger: Ledger, *, secret: int) -> None:
        self._place, self._ledger, self._secret = ledger.released, ledger, secret
        self.latest: ReleasedTable | None = None  # what the last answer was made of

    def __call__(self, table: Table, kind: str, min_group: int) -> ReleasedTable:
        """The released rows of the table as it is now."""
        before = self._kept()
        if before is None:
            now = self._after(ReleasedTable.guarded(table, kind, min_group), table)
        else:
            now = self._next(before, table, kind)
        if now is not before:
            private_folder(self._place.parent)
            write_arrays(self._place, _to_arrays(now), mode=0o600)
        self.latest = now.released
        return now.released

    def require(self, label: str) -> None:
        """Refuse another label than that of the rows that were released, and answers of which none are kept."""
        before = self.kept()
        if before is None and self._ledger.read().exact_answers():
            raise PrivacyError("guard.released-missing", ledger=str(self._ledger.path))
        if before is not None and label != before.rows.label_name:
            raise PrivacyError("guard.released-label", label=label, first=before.rows.label_name)

    def kept(self) -> ReleasedTable | None:
        """The rows that were released; None before the first exact answer, and where the server is trusted."""
        before = self._kept()
        return None if before is None else before.released

    def _kept(self) -> _Kept | None:
        if not self._ledger.read().exact_answers():
            return None
        try:
            arrays = read_arrays(self._place)
            return _from_arrays(arrays) if arrays else None
        except (ValueError, KeyError) as error:
            raise DataError("guard.released-damaged", file=str(self._place)) from error

    def _after(self, released: ReleasedTable, table: Table) -> _Kept:
        keys = self._hashes(table)[released.places]
        return _Kept(released, keys, np.zeros(len(keys), dtype=bool), content_digest(table))

    def _next(self, before: _Kept, table: Table, kind: str) -> _Kept:
        old = before.released
        if kind != old.kind:
            raise PrivacyError("protocols.label-kind-changed", kind=kind, first=old.kind)
        digest = content_digest(table)
        if digest == before.digest:
            return before
        hashes = self._hashes(table)
        went = not np.isin(before.keys, hashes).all()
        if went or _layout(table) != _layout(old.rows) or table.persons is not None or old.each > 1:
            logging.getLogger("fedbary.owner").warning(
                "Answers are made of the rows of before: where rows went or were edited, with other columns, or with "
                "persons, new ones are left out until 'fedbary ledger FILE --reset REASON'."
            )
            return before
        came = np.flatnonzero(~np.isin(hashes, before.keys))
        try:
            new = ReleasedTable.guarded(table.take(came), kind, old.least)
        except DataError:  # too few to be a group
            return replace(before, digest=digest)
        rows, keys = concat([old.rows, new.rows.replace(ids=None)]), np.append(before.keys, hashes[came[new.places]])
        since = np.append(before.since, np.ones(len(new.places), dtype=bool))
        products = is_plain(replace(old, rows=rows.take(since)))
        now = replace(old, rows=rows, places=np.arange(len(rows)), declared=len(table), products=products)
        return _Kept(now, keys, since & (not products), digest)

    def _hashes(self, table: Table) -> NDArray[np.uint64]:
        return np.asarray(row_keys(table, seed=self._secret).view(np.uint64).reshape(len(table), -1)[:, 0])


def keep_reply(place: Path, reply: Reply) -> None:
    """Keep a card that is about to leave, so that it can leave again."""
    private_folder(place.parent)
    scalars = text_array(json.dumps(dict(reply.scalars)))
    write_arrays(place, {"scalars": scalars, **under("array.", reply.arrays)}, mode=0o600)


def kept_reply(place: Path) -> Reply | None:
    """What `keep_reply` kept; None where nothing is."""
    arrays = read_arrays(place)
    return Reply(0, json.loads(array_text(arrays["scalars"])), below(arrays, "array.")) if arrays else None


def _layout(table: Table) -> tuple[Mapping[str, tuple[str, int]], bool]:
    head = table.head()
    columns = {name: (str(kind_of(values)), values.size // len(head)) for name, values in head.columns.items()}
    return columns, table.labels.dtype.kind == "O"


def _to_arrays(kept: _Kept) -> dict[str, np.ndarray]:
    released, arrays = kept.released, {"keys": kept.keys, "since": kept.since}
    columns = {**released.rows.columns, "": released.rows.labels}
    texts: list[list[str | None] | None] = []
    for place, values in enumerate(columns.values()):
        if values.dtype.kind == "O":
            different = {text: code for code, text in enumerate(dict.fromkeys(values.tolist()))}
            texts.append(list(different))
            arrays[f"column.{place}"] = np.array([different[text] for text in values.tolist()], dtype=np.int64)
        else:
            texts.append(None)
            arrays[f"column.{place}"] = values
    about = {
        "columns": list(released.rows.columns),
        "texts": texts,
        "label": released.rows.label_name,
        "reading": released.rows.reading.to_json(),
        **{key: getattr(released, key) for key in ("kind", "least", "declared", "each")},
        "naming": sorted(released.naming),
        "products": released.products,
        "digest": kept.digest,
    }
    return {**arrays, "about": text_array(json.dumps(about))}


def _from_arrays(arrays: dict[str, np.ndarray]) -> _Kept:
    about = json.loads(array_text(arrays["about"]))
    columns = []
    for place, texts in enumerate(about["texts"]):
        values = arrays[f"column.{place}"]
        columns.append(values if texts is None else np.array(texts, dtype=object)[values])
    *features, labels = columns
    rows = Table(
        dict(zip(about["columns"], features, strict=True)),
        labels,
        label_name=about["label"],
        reading=Reading.from_json(about["reading"]),
    )
    kept = {key: about[key] for key in ("kind", "least", "declared", "each", "products")}
    released = ReleasedTable(rows, places=np.arange(len(rows)), naming=frozenset(about["naming"]), **kept)
    return _Kept(released, arrays["keys"], arrays["since"], about["digest"])
