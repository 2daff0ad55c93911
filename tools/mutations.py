"""Seeded damage to numbers, texts, arrays, JSON and bytes, as a broken or a hostile party does it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

WEIRD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, 10**9, 10**30, 10**400, -1e308, 1e308, 1e99, 1e-308, float("nan"), float("inf"), "", "x",
    "x" * 3000, "\x00", "\x1b[2J", "\ud800", "\u202e", "[" * 3000, "=cmd()", [], {}, [[1]], {"a": 1}, b"\xff",
)  # fmt: skip
_FACTORS = (0.0, -1.0, 0.5, 2.0, 1e-12, 1e3, 1e6, 1e30, 1e50, 1e99, 1e160, 1e308)


def pick(rng: np.random.Generator, options: Any) -> Any:
    """One of them."""
    options = list(options)
    return options[int(rng.integers(len(options)))]


def damaged_value(rng: np.random.Generator, value: Any) -> Any:
    """Something else in the place of a value: of its kind, or of any."""
    if rng.random() < 0.4:
        return pick(rng, WEIRD)
    match value:
        case bool():
            return not value
        case int() | float():
            return type(value)(min(max(float(min(value, 10**300)) * pick(rng, _FACTORS), -1e300), 1e300))
        case str():
            return damaged_text(rng, value)
        case np.ndarray():
            return damaged_array(rng, value)
        case list() | dict():
            return damaged_json(rng, value)
        case tuple():
            return tuple(damaged_json(rng, list(value)))
    if is_dataclass(value) and not isinstance(value, type):
        return damaged_fields(rng, value)
    return pick(rng, WEIRD)


def damaged_fields(rng: np.random.Generator, thing: Any) -> Any:
    """A dataclass of which one field is another."""
    name = pick(rng, [field.name for field in fields(thing)])
    return replace(thing, **{name: damaged_value(rng, getattr(thing, name))})


def damaged_mapping(rng: np.random.Generator, content: Mapping[str, Any]) -> dict[str, Any]:
    """Fields changed, lost, made up or renamed."""
    found = dict(content)
    for _ in range(int(rng.integers(1, 3))):
        act, name = rng.random(), pick(rng, [*found, "rows", "notes"])
        if act < 0.75 and name in found:
            found[name] = damaged_value(rng, found[name])
        elif act < 0.85:
            found.pop(name, None)
        elif act < 0.95:
            found[pick(rng, ["more", "", "\x1b", "x" * 300, "model.more"])] = pick(rng, [1, 1.0, "x"])
        elif name in found:
            found[name + " "] = found.pop(name)
    return found


def damaged_array(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Another array: entries, shape or type."""
    act = int(rng.integers(12))
    with np.errstate(all="ignore"):
        if act <= 2:
            return np.asarray(array * pick(rng, _FACTORS))
        if act <= 4 and array.size:
            changed = array.astype(float) if rng.random() < 0.5 else array.copy()
            flat = changed.reshape(-1)
            odd = pick(rng, (0.0, -1.0, 1e6, 1e99, 1e308, np.nan, np.inf, 1e-300))
            if changed.dtype.kind == "f" or odd == 0.0:
                flat[rng.integers(flat.size, size=int(rng.integers(1, 4)))] = odd
            return changed
        if act == 5:
            return np.full_like(array, array.flat[0] if array.size else 0)
        if act == 6:
            return array[: int(rng.integers(0, 3))] if array.ndim else np.zeros(3)
        if act == 7:
            return np.repeat(array, 3, axis=0) if array.ndim else array[None]
        if act == 8:
            return array.T if array.ndim > 1 else array[:, None] if array.ndim else array[None]
        if act == 9:
            return array.astype(pick(rng, ["f4", "i8", ">f8", "u1", "b1", "f2"]))
        if act == 10:
            return rng.permutation(array) if array.ndim else array
        return array + rng.normal(size=array.shape) * pick(rng, (1e-9, 1.0, 1e3))


def damaged_text(rng: np.random.Generator, text: str) -> str:
    """A text with something wrong in it; if it is JSON, mostly one that still is."""
    if text[:1] in "[{" and rng.random() < 0.8:
        try:
            return json.dumps(damaged_json(rng, json.loads(text)), ensure_ascii=bool(rng.random() < 0.5), default=str)
        except (ValueError, RecursionError):
            pass
    raw = damaged_bytes(rng, text.encode("utf-8", "surrogatepass"))
    return raw.decode("utf-8", "replace" if rng.random() < 0.7 else "surrogateescape")


def damaged_json(rng: np.random.Generator, content: Any) -> Any:
    """JSON of which some node, anywhere, is another."""
    if not isinstance(content, (dict, list)) or not content or rng.random() < 0.1:
        return damaged_value(rng, content) if not isinstance(content, (dict, list)) else pick(rng, WEIRD)
    copy: Any = content.copy()
    place = pick(rng, copy if isinstance(copy, dict) else range(len(copy)))
    act = rng.random()
    if act < 0.8:
        copy[place] = damaged_json(rng, copy[place])
    elif act < 0.9:
        del copy[place]
    elif isinstance(copy, list):
        copy.append(copy[place])
    else:
        copy[pick(rng, ["more", "\ud800", "x" * 300])] = copy[place]
    return copy


def damaged_bytes(rng: np.random.Generator, raw: bytes) -> bytes:
    """Bytes flipped, cut, repeated, put in."""
    data = bytearray(raw)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(data) + 1))
        act = int(rng.integers(6))
        if act <= 1 and data:
            data[at % len(data)] ^= 1 << int(rng.integers(8))
        elif act == 2:
            del data[at:]
        elif act == 3:
            del data[at : at + int(rng.integers(1, 40))]
        elif act == 4:
            data[at:at] = data[max(at - 60, 0) : at] * int(rng.integers(1, 5))
        else:
            data[at:at] = pick(rng, [b"\x00", b"\xff\xfe", b"9" * 30, b"-", b'"', b"[" * 5000, b"\n", b"nan", b"1e999"])
    return bytes(data)
