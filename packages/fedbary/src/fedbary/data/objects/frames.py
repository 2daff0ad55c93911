"""Frames of any library, through narwhals: polars, pyarrow, DuckDB relations, modin, … and pandas itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fedbary.data.formats.arrow_files import as_frame
from fedbary.data.objects.families import foreign, is_of

if TYPE_CHECKING:
    import pandas as pd


def is_frame(data: object) -> bool:
    """Whether it has named columns that narwhals, or pyarrow, can hand over.

    Examples
    --------
    >>> import pandas as pd, pyarrow as pa
    >>> is_frame(pd.DataFrame()), is_frame(pa.table({"age": [31]})), is_frame([1, 2])
    (True, True, False)
    """
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return True
    if type(data).__module__ in ("builtins", "numpy"):
        return False
    import narwhals as nw

    return _is_batches(data) or isinstance(nw.from_native(data, pass_through=True), nw.DataFrame | nw.LazyFrame)


def frame_cells(data: Any, *, alone: bool = False) -> pd.DataFrame:
    """The cells of a frame as pandas holds them; whole numbers and booleans with gaps stay what they are.

    Where each is ``alone``, a cell that Python has no room for is missing.
    """
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data
    cells_of_table = partial(as_frame, alone=True) if alone else arrow_cells
    with foreign(data):
        if _is_batches(data):
            import pyarrow as pa

            return cells_of_table(pa.table(data) if isinstance(data, pa.RecordBatch) else data.read_all())
        import narwhals as nw

        frame = nw.from_native(data)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if frame.implementation.is_pandas_like():
            cells: pd.DataFrame = frame.to_pandas()
            return cells
        return cells_of_table(frame.to_arrow())


def arrow_cells(table: Any) -> pd.DataFrame:
    """The cells of an Arrow table; whole numbers with gaps would become floats if pandas were left to itself."""
    import pandas as pd
    import pyarrow as pa

    nullable = {
        **{getattr(pa, f"int{bits}")(): getattr(pd, f"Int{bits}Dtype")() for bits in (8, 16, 32, 64)},
        **{getattr(pa, f"uint{bits}")(): getattr(pd, f"UInt{bits}Dtype")() for bits in (8, 16, 32, 64)},
        pa.bool_(): pd.BooleanDtype(),
    }
    cells: pd.DataFrame = table.to_pandas(date_as_object=False)
    for place, column in enumerate(table.columns):
        if column.null_count and column.type in nullable:
            cells.isetitem(place, column.to_pandas(types_mapper=nullable.get))
    return cells


def _is_batches(data: object) -> bool:
    if not is_of(data, "pyarrow"):
        return False
    import pyarrow as pa

    return isinstance(data, pa.RecordBatch | pa.RecordBatchReader)
