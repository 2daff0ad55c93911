"""`Subject`: what is checked, as it is written, and how it is to be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath
from fedbary.data.reading import Reading
from fedbary.space.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Subject:
    """A file, a database or a frame; its label, and how its columns were read."""

    source: AnyPath | pd.DataFrame
    label: str
    options: ReadOptions = field(default_factory=ReadOptions)
    reading: Reading = field(default_factory=Reading)
    schema: Schema | None = None
