"""Rows as such: keys of their content, copies among them, and tables in which no group is small.

Two sums over almost the same rows show, by their difference, the few rows in which they differ. So a client that
sends several (means of all rows, means of classes, averages in every round) makes them all from one table, in which
no group is small: whatever two of them differ in is then a whole class of at least ``min_group`` different rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fedbary.columns.category import category_names
from fedbary.data.spool import ahead
from fedbary.data.table import PART, Table, concat
from fedbary.errors import DataError
from fedbary.space.columns import Cells, Floats, Integers, limits
from fedbary.space.labels import class_names

Hashes = NDArray[np.bytes_]

# Rows whose numbers are brought together at a time: they stay in the processor's cache.
_TOGETHER = 2048
_ODD = np.uint64(0x9E3779B97F4A7C15)
# Share of a sum that is rounding, and steps after which a centre has long settled.
_ROUNDING, _MOST_STEPS = 1e-12, 200
# Stands for all categories that too few rows of a class have; no description names it, so it counts as any other.
RARE = "(rare)"
# Digests of a table are asked for by several parts of a run, and hashing a million rows takes seconds.
_HASHED: WeakKeyDictionary[Table, Hashes] = WeakKeyDictionary()
_LARGE: WeakKeyDictionary[Table, tuple[Hashes, str]] = WeakKeyDictionary()


def row_keys(table: Table, *, seed: int = 0) -> Hashes:
    """A keyed hash of each row's content; equal rows have equal keys, in whatever order rows and columns are."""
    if seed == 0 and table in _HASHED:
        return _HASHED[table]
    keys = np.concatenate(
        [np.zeros(0, dtype="S16"), *(_keys(part, seed) for part in table.replace(ids=None).batches())]
    )
    if seed == 0:
        _HASHED[table] = keys
    return keys


def _keys(table: Table, seed: int) -> Hashes:
    """Of the numbers of each row, columns in the order of their names, then of its label and texts."""
    empty = hashlib.blake2b(key=str(seed).encode(), digest_size=16)
    texts, digests = _text_bytes(table), []
    for matrix in _number_blocks(table):
        numbers, step = memoryview(matrix.tobytes()), 8 * matrix.shape[1]
        for row, text in zip(range(len(matrix)), texts, strict=False):
            digest = empty.copy()
            digest.update(numbers[row * step : (row + 1) * step])
            digest.update(text)
            digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), dtype="S16")


def _number_blocks(table: Table) -> Iterator[Floats]:
    columns = [table.columns[name] for name in sorted(table.columns)]
    blocks = [values.reshape(len(table), -1) for values in columns if values.dtype.kind != "O"]
    for start in range(0, len(table), _TOGETHER):
        some = slice(start, min(start + _TOGETHER, len(table)))
        matrix = np.hstack([np.zeros((some.stop - start, 0)), *(block[some] for block in blocks)])
        matrix += 0.0  # there is one zero
        yield matrix


def _text_bytes(table: Table) -> Iterator[bytes]:
    """The label and the texts of each row."""
    import pandas as pd

    codes, different = pd.factorize(table.labels)  # few labels, many rows
    names = [repr(name) for name in category_names(np.asarray(different))]
    columns = [table.columns[name] for name in sorted(table.columns)]
    texts = [category_names(values).tolist() for values in columns if values.dtype.kind == "O"]
    if not texts:
        labels = [f"({name}, [])".encode() for name in names]
        return map(labels.__getitem__, codes.tolist())
    rows = zip(codes.tolist(), zip(*texts, strict=True), strict=True)
    return (f"({names[code]}, {list(cells)!r})".encode() for code, cells in rows)


def hashed_rows(matrix: NDArray[np.floating]) -> Hashes:
    """128 bits of each row of numbers, to find equal ones among very many: fast, and nothing that hides a row.

    Bits are mixed and summed with random factors (multilinear hashing): two different rows have the same hash with a
    probability of about 2⁻¹²⁸.
    """
    width = matrix.shape[1]
    factors = np.random.default_rng(width).integers(0, 2**64, (2, width), dtype=np.uint64) | np.uint64(1)
    hashes = np.empty((len(matrix), 2), dtype=np.uint64)
    for start in range(0, len(matrix), _TOGETHER):
        bits = (matrix[start : start + _TOGETHER].astype(np.float64) + 0.0).view(np.uint64)
        # The high bits of a float tell more than the low ones, and products only move bits up.
        for shift in (32, 29):
            bits ^= bits >> np.uint64(shift)
            bits *= _ODD
        bits ^= bits >> np.uint64(32)
        for place, factor in enumerate(factors):
            hashes[start : start + _TOGETHER, place] = (bits * factor).sum(axis=1)
    return hashes.view("S16").ravel()


def content_digest(table: Table) -> str:
    """One hash of a table's rows, in whatever order, and of which are of one person where that is known."""
    keys = row_keys(table)
    if table.persons is not None:
        order = np.lexsort((keys, table.persons))
        ends = np.flatnonzero(np.diff(table.persons[order])) + 1
        rows = np.split(keys[order], ends)
        keys = np.array([hashlib.blake2b(b"".join(own.tolist()), digest_size=16).digest() for own in rows], dtype="S16")
    return hashlib.sha256(b"".join(np.sort(keys).tolist())).hexdigest()


def known_parts(table: Table) -> Iterator[Table]:
    """The parts of a large table for whoever needs them, and after the last one its rows are known, too.

    Keys take a second for a quarter million rows, in which Python does nothing else. So numbers are hashed many rows at
    a time, with the number of the row's label.
    """
    import pandas as pd

    codes, different = pd.factorize(table.labels)
    whole, hashes, start = hashlib.sha256(), list[Hashes](), 0
    for part in ahead(table.replace(ids=None).batches()):
        yield part
        if any(values.dtype.kind == "O" for values in part.columns.values()):
            hashes.append(_keys(part, 0))
            whole.update(hashes[-1].tobytes())
            start += len(part)
            continue
        for matrix in _number_blocks(part):
            own = codes[start : start + len(matrix)].astype(np.float64)
            hashes.append(hashed_rows(np.column_stack([matrix, own])))
            whole.update(matrix.data)
            start += len(matrix)
    whole.update(codes.astype(np.int64).tobytes())
    whole.update(repr(category_names(np.asarray(different)).tolist()).encode())
    _LARGE[table] = np.concatenate(hashes), whole.hexdigest()


def _hashes(table: Table) -> Hashes:
    """What tells the rows of a table apart; of a large one known by now, or else by reading all rows."""
    if len(table) <= PART:
        return row_keys(table)
    if table not in _LARGE:
        for _ in known_parts(table):
            pass
    return _LARGE[table][0]


def order_digest(table: Table) -> str:
    """One hash of a table's rows in their order, by which a table is known again."""
    hashes = _hashes(table)
    return _LARGE[table][1] if len(table) > PART else hashlib.sha256(b"".join(hashes.tolist())).hexdigest()


def place_of_first(table: Table) -> Integers:
    """For each row its place in `different_rows`."""
    return first_and_group(_hashes(table))[1]


def different_rows(table: Table) -> Table:
    """The table with each row once: what guards count."""
    return once(table).replace(ids=None)


def once(table: Table) -> Table:
    """The table with the first of each different row, with its id."""
    first, _ = first_and_group(_hashes(table))
    return table if len(first) == len(table) else table.take(first)


def first_and_group(hashes: Hashes) -> tuple[Integers, Integers]:
    """The first row of each group of those with equal hashes, in order, and the group of each row."""
    words = hashes.view(np.uint64).reshape(-1, 2)
    order = np.lexsort(words.T)
    ordered = words[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = order[begins]  # sorting is stable
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    group = np.empty(len(order), dtype=np.int64)
    group[order] = rank[np.cumsum(begins) - 1]
    return np.sort(first), group


def joined(one: Hashes, other: Hashes) -> Hashes:
    """Hashes of rows by those of two matrices that stand side by side."""
    turned = np.roll(other.view(np.uint64).reshape(-1, 2), 1, axis=1)  # equal matrices must not cancel
    return (one.view(np.uint64).reshape(-1, 2) * np.uint64(3) + turned).view("S16").ravel()


def one_row_each(table: Table, order: NDArray[np.intp] | None = None) -> Table:
    """One row of each person, drawn by lot: the first of them in a random ``order`` of all rows.

    Which one it is depends on that person's rows alone: lots within different persons are independent. So tables that
    differ in all rows of one person differ here in one row, whatever lots fell elsewhere, and what is ε-differentially
    private for one row of this table is so for a whole person of the other; its number of rows is that of persons.
    """
    if table.persons is None:
        return table
    drawn = np.random.default_rng().permutation(len(table)) if order is None else order
    _, first = np.unique(table.persons[drawn], return_index=True)
    return table.take(np.sort(drawn[first]))


def k_anonymous_rows(table: Table, kind: str, *, min_group: int) -> Table:
    """Each different row once, without what fewer than ``min_group`` rows of a class have in common.

    Left out are copies, and the rows of classes with fewer than ``min_group`` different rows (``kind`` ``number``:
    all rows are one group). Inside a class, a value that fewer than ``min_group`` rows do not share with the others
    becomes the others' (see `without_rare_values`), and rare categories become one, or the most frequent. So few
    missing numbers become a mean of ``min_group`` others, and where so few are there, none is.
    """
    if min_group <= 1:
        return table
    refuse_few(table, min_group)
    different = once(table)
    names = class_names(different.labels) if kind == "classes" else np.zeros(len(different))
    large = []
    for name in np.unique(names):
        group = different.take(np.flatnonzero(names == name))
        while len(group) >= min_group:  # rows that became equal are one, so it is repeated until nothing changes
            columns = {name: without_rare(column, min_group) for name, column in group.columns.items()}
            labels = without_rare(group.labels, min_group) if kind == "number" else group.labels
            if labels is group.labels and all(columns[name] is column for name, column in group.columns.items()):
                large.append(group)
                break
            group = once(group.replace(columns=columns, labels=labels))
    if not large:
        what = "different rows of one class" if kind == "classes" else "different rows"
        raise DataError("schema.too-few-in-a-group", where=table.origin, least=min_group, what=what)
    return concat(large)


def refuse_few(table: Table, min_group: int) -> None:
    """A table below ``min_group`` rows is no group at all."""
    if len(table) < min_group:
        raise DataError("schema.too-few-rows", where=table.origin, rows=len(table), least=min_group)


def without_rare(column: Cells, min_group: int) -> Cells:
    """A column without what fewer than ``min_group`` rows have in common; the same array if nothing in it is rare."""
    if column.dtype.kind == "O":
        texts = category_names(column).tolist()
        counts = Counter(texts)
        rare = [count < min_group for count in map(counts.__getitem__, texts)]
        if not any(rare):
            return column
        # Fewer than min_group rows of rare categories would be a small group, too; then some category is frequent.
        instead = RARE if sum(rare) >= min_group else max(counts, key=lambda text: (counts[text], str(text)))
        return np.array([instead if odd else text for text, odd in zip(texts, rare, strict=True)], dtype=object)
    values = np.asarray(column, dtype=np.float64).reshape(len(column), -1)
    plain = without_rare_values(values, min_group)
    missing = np.isnan(plain).sum(axis=0)
    scarce = (missing < len(plain)) & (missing > len(plain) - min_group)
    few = (missing > 0) & (missing < min_group) & ~scarce
    if (few | scarce).any():
        filled = plain.copy()
        filled[:, scarce] = np.nan
        middle = limits(plain[:, few], min_group).middle
        filled[:, few] = np.where(np.isnan(plain[:, few]), middle, plain[:, few])
        plain = filled
    return column if plain is values else plain.reshape(column.shape).astype(column.dtype)


def without_rare_values(values: Floats, min_group: int) -> Floats:
    """Columns in which fewer than ``min_group`` rows differ from all others become constant.

    A sum over such a column, or a product with it, would be a sum over those few rows. Returns ``values`` itself
    where there is no such column.
    """
    if min_group <= 1 or not len(values):
        return values
    # A value that all but a few rows share is the median of any that are twice as many, be it "missing". Unless most
    # rows share it, it is a row's own value, and a constant would show it.
    some = values[: 2 * min_group - 1]
    middle = len(some) // 2
    common = np.partition(some, middle, axis=0)[middle]
    odd = len(values) - ((values == common) | (np.isnan(values) & np.isnan(common))).sum(axis=0)
    rare = (odd > 0) & (odd < min(min_group, len(values) / 2))
    return np.where(rare, common, values) if rare.any() else values


def winsorised(values: Cells, min_group: int) -> Floats:
    """Columns in which no cell makes up more than 1/``min_group`` of the sum of squares about the mean.

    Cells beyond b from the centre c are moved there, b the largest with min_group·b² ≤ Σ min((x − c)², b²), and c the
    mean of what comes out. Of fewer than 2·``min_group`` cells each may make up 2 / cells.
    """
    numbers = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    there = np.maximum((~np.isnan(numbers)).sum(axis=0), 1)
    fewest = np.minimum(float(min_group), there / 2.0)
    centred = np.nan_to_num(numbers - np.nansum(numbers, axis=0) / there)
    large = np.abs(centred).max(axis=0, initial=0.0) ** 2 * fewest > (centred**2).sum(axis=0) * (1.0 + _ROUNDING)
    if not large.any():
        return numbers.reshape(values.shape)
    some, holes, there = numbers[:, large], np.isnan(numbers[:, large]), there[large]
    centre, clipped = np.nanmedian(some, axis=0), some
    for _ in range(_MOST_STEPS):
        bound = _largest_deviation(np.where(holes, 0.0, np.abs(some - centre)), fewest[large], min_group)
        clipped = np.clip(some, centre - bound, centre + bound)
        moved = np.where(holes, 0.0, clipped - centre).sum(axis=0) / there
        centre = centre + moved
        if (np.abs(moved) <= _ROUNDING * bound).all():
            break
    plain = numbers.copy()
    plain[:, large] = clipped
    return plain.reshape(values.shape)


def _largest_deviation(deviations: Floats, fewest: Floats, min_group: int) -> Floats:
    """For each column the largest b with fewest·b² ≤ Σ min(deviation², b²); infinite where it cuts off nothing.

    With the t largest cells cut off it is b² = (sum of the other squares) / (fewest − t), for the first t where those
    others do not exceed it.
    """
    kept = min(min_group + 1, len(deviations))
    largest = np.flip(np.sort(np.partition(deviations**2, -kept, axis=0)[-kept:], axis=0), axis=0)
    rest = (deviations**2).sum(axis=0)
    bound = np.full(len(rest), np.nan)
    for cut, square in enumerate(largest):
        share = fewest - cut
        fits = np.isnan(bound) & ((share <= 0) | (square * share <= rest * (1.0 + _ROUNDING)))
        bound[fits] = np.inf if cut == 0 else np.sqrt(rest[fits] / np.maximum(share[fits], _ROUNDING))
        rest = np.maximum(rest - square, 0.0)
    return bound
