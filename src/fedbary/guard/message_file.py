"""A server's message as a file, with which an owner can see beforehand what the answer would be."""

from __future__ import annotations

import json
from pathlib import Path

from fedbary.data.atomic import read_arrays, write_arrays
from fedbary.errors import DataError
from fedbary.protocols.messages import Message, array_text, below, text_array, under
from fedbary.strict_json import read_json

# Of arrays and text in memory, however small the file is.
_MOST_BYTES = 512 * 2**20


def save_message(message: Message, path: str | Path) -> Path:
    """Write a message to an NPZ file of plain arrays.

    Examples
    --------
    >>> import tempfile
    >>> from fedbary.guard.message_file import load_message, save_message
    >>> from fedbary.protocols.messages import Message
    >>> file = save_message(Message("sketch", 0, {"cap": 2.5}), tempfile.mkdtemp() + "/sketch.npz")
    >>> load_message(file).scalars
    {'cap': 2.5}
    """
    head = json.dumps({"kind": message.kind, "round": message.round, "scalars": dict(message.scalars)})
    return write_arrays(path, {"message": text_array(head), **under("array.", message.arrays)})


def load_message(path: str | Path) -> Message:
    """Read a message back; anything else is refused."""
    file = Path(path)
    if not file.is_file():
        raise DataError("guard.no-message-file", file=str(file))
    try:
        arrays = read_arrays(file, most_bytes=_MOST_BYTES)
        head = read_json(array_text(arrays["message"]), longest=_MOST_BYTES)
        kind, number, scalars = head["kind"], head["round"], head["scalars"]
        if not isinstance(kind, str) or type(number) is not int or not isinstance(scalars, dict):
            raise ValueError("not a message")
        if not all(isinstance(scalar, (str, int, float, bool)) for scalar in scalars.values()):
            raise ValueError("a scalar is none")
        return Message(kind, number, scalars, below(arrays, "array."))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError("guard.not-a-message", file=str(file)) from error
