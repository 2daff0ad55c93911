"""Rows become points: the agreed schema, scaling, projection, whitening and label coordinates."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbary.space.description import Description, describe
    from fedbary.space.fit import agree, fit_schema, needs_moments, table_moments, with_moments
    from fedbary.space.moments import Moments
    from fedbary.space.notes import fit_notes
    from fedbary.space.options import Space
    from fedbary.space.points import Points, embed, features
    from fedbary.space.schema import Schema
    from fedbary.space.split import split_reference

__all__ = [
    "Description",
    "Moments",
    "Points",
    "Schema",
    "Space",
    "agree",
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

# Imported when first used: settings must cost nothing where only their options are listed.
_HOMES = {
    "description": ("Description", "describe"),
    "points": ("Points", "embed", "features"),
    "fit": ("agree", "fit_schema", "needs_moments", "table_moments", "with_moments"),
    "moments": ("Moments",),
    "notes": ("fit_notes",),
    "options": ("Space",),
    "schema": ("Schema",),
    "split": ("split_reference",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
