"""`read_batches`: a large table in parts, one at a time in memory; a column is of one kind in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from fedbary.data.agreed import agreed_reading
from fedbary.data.columns import naming
from fedbary.data.formats import chunks, decoding, opened
from fedbary.data.formats.cells import Cells
from fedbary.data.formats.json_lines import JSON
from fedbary.data.frames import decided, labels_from_series, require_column, require_unique
from fedbary.data.options import ReadOptions
from fedbary.data.owners import without_column
from fedbary.data.places import AnyPath, file_name, is_url
from fedbary.data.reading import ColumnReading, Reading
from fedbary.data.table import Table
from fedbary.errors import DataError, wrong_parameter


def read_batches(
    source: AnyPath,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - as in `read`
    options: ReadOptions | None = None,
    reading: Reading | None = None,
    rows: int = 65_536,
) -> Iterator[Table]:
    r"""Read a table in parts of so many rows, as `read` takes them.

    Where ``reading`` does not say how every column is read, the file is gone through twice: what a column is depends on
    all of its cells. Nothing but a part is in memory, and what is needed to see that an id stands twice.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "bank.csv"
    >>> _ = path.write_text("ward,bought\n1,yes\n2,no\n3b,no\n4a,no\n")
    >>> for table in read_batches(path, "bought", rows=2):
    ...     print(table.columns["ward"])
    ['1' '2']
    ['3b' '4a']
    """
    if rows < 1:
        raise wrong_parameter("rows", "read_batches", "at least 1", rows)
    parts = _Parts(source, label, id, options or ReadOptions(), rows)
    told = reading or Reading()
    plan = parts.header(told)
    if plan is None:
        plan = parts.looked_through(told)
    seen: set[int] = set()
    for cells in parts.cells(plan.as_written(label)):
        table = parts.table(cells, plan)
        _refuse_repeated(table, seen)
        yield table


@dataclass
class _Plan:
    """What all parts of a table have in common."""

    names: list[str]
    reading: Reading
    label_kinds: set[str] = field(default_factory=set)

    @property
    def text_labels(self) -> bool:
        """Whether labels of some part are texts: then those of all are."""
        return "O" in self.label_kinds

    def as_written(self, label: str) -> Reading:
        """The reading for files, with texts where a part alone looks like numbers: 1.234 beside 1,5 is not 1.234."""
        texts = [name for name, how in self.reading.items() if how.decimal == ","]
        names = [*texts, *([label] if self.text_labels else [])]
        return Reading({**self.reading, **dict.fromkeys(names, ColumnReading("category"))})


@dataclass(frozen=True)
class _Parts:
    """A file, folder or database that is read in parts."""

    source: AnyPath
    label: str
    id: str | None
    options: ReadOptions
    rows: int

    def header(self, told: Reading) -> _Plan | None:
        """The plan where it is known how every column is read, and every column is in the first row."""
        if not told or (not is_url(self.source) and str(self.source).lower().endswith(JSON)):
            return None
        with opened(self.source, self.options, 1, reading=told) as cells:
            names = [str(name) for name in without_column(cells.frame, self.options.client_column).columns]
        return _Plan(names, told) if {*names} <= {*told, self.label, self.id} else None

    def looked_through(self, told: Reading) -> _Plan:
        """The plan that all parts together make."""
        plan, refused = None, None
        for cells in self.cells(told):
            names = [str(name) for name in cells.frame.columns]
            if plan is None:
                plan = _Plan(names, told)
            plan.names += [name for name in names if name not in plan.names]
            try:
                found, label_kind = self._decided(cells, told)
            except DataError as error:  # one part says too little, or what is wrong with it is said when it is read
                refused = refused or error
                continue
            with naming(file_name(self.source)):
                plan.reading = _joined(plan.reading, found) if plan.label_kinds else found
            plan.label_kinds.add(label_kind)
        if plan is None:
            raise DataError("data.no-rows", where=file_name(self.source))
        if not plan.label_kinds and refused is not None:
            raise refused
        return plan

    def cells(self, reading: Reading) -> Iterator[Cells]:
        """The parts that have rows."""
        for cells in chunks(self.source, self.options, self.rows, reading=reading):
            if len(cells.frame):
                yield replace(cells, frame=without_column(cells.frame, self.options.client_column))

    def table(self, cells: Cells, plan: _Plan) -> Table:
        """A part as a table."""
        frame = cells.frame if list(cells.frame.columns) == plan.names else cells.frame.reindex(columns=plan.names)
        table = self._read(replace(cells, frame=frame), plan.reading)
        if plan.text_labels and table.labels.dtype.kind != "O":
            return table.replace(labels=np.array([str(label) for label in table.labels], dtype=object))
        return table.replace(labels=table.labels.astype(float)) if plan.label_kinds > {"f"} else table

    def _decided(self, cells: Cells, told: Reading) -> tuple[Reading, str]:
        """How one part alone would be read, and of which kind its labels are."""
        names = [str(name) for name in cells.frame.columns]
        frame, others = cells.frame.set_axis(names, axis=1), [self.label, self.id or cells.id]
        with decoding(self.source), naming(file_name(self.source)):
            require_unique(names)
            require_column(names, self.label, role="label")
            labels = labels_from_series(self.label, frame[self.label], self.options.decimal or "")
            features = frame[[name for name in names if name not in others]]
            known = tuple(name for name in others if name is not None)
            return decided(features, self.options, told, known)[1], labels.dtype.kind

    def _read(self, cells: Cells, reading: Reading) -> Table:
        with decoding(self.source):
            return Table.from_frame(
                cells.frame,
                self.label,
                id=self.id or cells.id,
                options=self.options,
                reading=reading,
                notes=cells.notes,
                origin=file_name(self.source),
            )


def _joined(one: Reading, other: Reading) -> Reading:
    """How a column is read that two parts read in different ways: as what the cells of both can be.

    Examples
    --------
    >>> number, category, identifier = (Reading({"x": ColumnReading(k)}) for k in ("number", "category", "identifier"))
    >>> _joined(number, category)["x"].kind, _joined(identifier, number)["x"].kind
    ('category', 'number')
    """
    sides = [
        Reading({name: how for name, how in side.items() if how.kind != "identifier" or _is_one(name, rest)})
        for side, rest in ((one, other), (other, one))
    ]
    joined = agreed_reading(sides)
    return Reading({name: _written(name, how, (one.get(name), other.get(name))) for name, how in joined.items()})


def _is_one(name: str, rest: Reading) -> bool:
    """Names of rows are different in every part, or they are none."""
    return name not in rest or rest[name].kind == "identifier"


def _written(name: str, how: ColumnReading, sides: Iterable[ColumnReading | None]) -> ColumnReading:
    """With what some part has told of how numbers and dates are written, and no two differently."""
    same = [side for side in sides if side is not None and side.kind == how.kind]
    decimals, orders = {side.decimal for side in same} - {""}, {side.order for side in same} - {""}
    if len(decimals) > 1:
        raise DataError("data.decimal-unclear", column=name)
    if len(orders) > 1:
        raise DataError("data.dates-unclear", column=name)
    return replace(how, decimal="".join(decimals), order="".join(orders))


def _refuse_repeated(table: Table, seen: set[int]) -> None:
    if table.ids is None:
        return
    hashes = [hash(str(one)) for one in table.ids]
    repeated = [row for row, one in enumerate(hashes) if one in seen]
    if repeated:
        first = repeated[0]
        raise DataError(
            "data.ids-repeat",
            where=table.origin,
            name=table.id_name,
            count=len(repeated),
            example=str(table.ids[first]),
            row=len(seen) + first,
        )
    seen.update(hashes)
