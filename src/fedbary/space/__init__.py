"""Rows become points: the agreed schema, scaling, projection, whitening and label coordinates."""

from fedbary.space.description import Description, check_table, describe
from fedbary.space.embed import Points, embed, features
from fedbary.space.fit import agree, fit_schema, needs_moments, with_moments
from fedbary.space.moments import Moments, table_moments
from fedbary.space.notes import fit_notes
from fedbary.space.options import Space
from fedbary.space.row_identity import split_reference
from fedbary.space.schema import Schema

__all__ = [
    "Description",
    "Moments",
    "Points",
    "Schema",
    "Space",
    "agree",
    "check_table",
    "describe",
    "embed",
    "features",
    "fit_notes",
    "fit_schema",
    "needs_moments",
    "split_reference",
    "table_moments",
    "with_moments",
]
