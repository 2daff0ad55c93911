"""Encoders by name: what ``encoder=`` and ``--encoder`` take, and what a schema may ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from fedbary.checks import did_you_mean
from fedbary.data.encoders.encoder import CellKind, Encoder
from fedbary.data.encoders.functions import function_encoder
from fedbary.data.encoders.hashing import hashing_of
from fedbary.data.encoders.pixels import pixels_of
from fedbary.data.encoders.sentence_models import sentence_model_of
from fedbary.data.encoders.vision_models import timm_model_of
from fedbary.data.options import ENCODERS
from fedbary.data.reading import ColumnReading
from fedbary.errors import DataError, SettingsError

Spec: TypeAlias = "str | Callable[[Any], Any]"

_FAMILIES: dict[str, tuple[CellKind, Callable[[str], Encoder]]] = {
    "pixels": ("image", pixels_of),
    "hashing": ("text", hashing_of),
    "timm": ("image", timm_model_of),
    "sentence-transformers": ("text", sentence_model_of),
}
# Built of their names alone: these may be asked for by another party.
_WITHOUT_FILES = ("pixels", "hashing")
DEFAULTS: dict[CellKind, str] = {"image": "pixels", "text": "hashing"}


def encoder_of(spec: Spec, kind: CellKind) -> Encoder:
    """The encoder of a name or a function, for images or for texts.

    Raises
    ------
    SettingsError
        Where there is none of that name, its package or weights are not there, or a function is none.
    DataError
        Where it is for the other kind.
    """
    if not isinstance(spec, str):
        return function_encoder(spec, kind)
    family, _, settings = spec.partition(":")
    if family not in ENCODERS:
        raise SettingsError(
            "encoders.no-encoder", name=spec, guess=did_you_mean(family, ENCODERS), known=", ".join(ENCODERS)
        )
    takes, made = _FAMILIES[family]
    if takes != kind:
        raise DataError("encoders.other-kind", name=spec, takes=f"{takes}s", kind=f"{kind}s", default=DEFAULTS[kind])
    return made(settings)


def suits(spec: Spec | None, kind: CellKind) -> bool:
    """Whether an encoder that was asked for is one of images, or of texts; a function may be for both."""
    if spec is None or not isinstance(spec, str):
        return spec is not None
    family = spec.partition(":")[0]
    return family not in _FAMILIES or _FAMILIES[family][0] == kind


def width_of(column: ColumnReading) -> int | None:
    """How many numbers the encoder of a column makes of a cell; None where only its files say it, 0 if there is none.

    Examples
    --------
    >>> width_of(ColumnReading("text", encoder="hashing:64")), width_of(ColumnReading("image", encoder="pixels:0x0"))
    (64, 0)
    """
    if column.encoder.partition(":")[0] not in _WITHOUT_FILES:
        return None
    try:
        return encoder_of(column.encoder, "image" if column.kind == "image" else "text").width
    except (DataError, SettingsError):
        return 0


def agreed_encoder(asked: Spec | None, name: str, kind: CellKind) -> Encoder:
    """The encoder that a federation agreed on; one that needs files is used only where its owner asked for it.

    Examples
    --------
    >>> agreed_encoder("pixels", "pixels:28x28x1", "image").name
    'pixels:28x28x1'
    """
    nothing_else = asked is None or asked in _WITHOUT_FILES or not suits(asked, kind)
    if name.partition(":")[0] in _WITHOUT_FILES and nothing_else:
        return encoder_of(name, kind)
    if asked is None or not suits(asked, kind):
        raise DataError("encoders.ask-for-it", name=name)
    return encoder_of(asked, kind)
