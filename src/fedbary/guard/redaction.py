"""Why a client failed, in words that may leave its owner's machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress

from fedbary.errors import DataError, FedbaryError, SchemaError
from fedbary.protocols.messages import Message

_LONGEST_REASON = 500
_A_FILE = "(a file)"
_FILE = re.compile(
    r"""'[^']*[/\\][^']*'|\S*[/\\]\S*|\S+\.(?:csv|tsv|parquet|gz|npz|npy|toml|jsonl?|txt|zip|xlsx?|pq)\b""", re.I
)
# What stands in quotation marks; labels='onehot' is a setting, not a name.
_QUOTED = re.compile(r"""(?<![\w=])(?:'.*?'|".*?")(?=[\s,;:.)\]]|$)""")


def safe_reason(error: BaseException, asked: Message | None = None, *, hidden: Iterable[str] = ()) -> str:
    """Why a client failed, in words that may leave: no cells, no files, no names that the server does not know.

    Private parts of a message (`fedbary.errors.private`) are left out. So are file names, texts in ``hidden``, and the
    names of columns unless they are those of the server's schema: the header of a file without one is its first row.
    What another package said is never passed on.

    Examples
    --------
    >>> from fedbary.guard.redaction import safe_reason
    >>> from fedbary.errors import DataError
    >>> safe_reason(DataError("/home/ann/ward.csv: there is no label column 'ill'; the 2 columns are 'Ann', '53'"))
    "there is no label column '…'; the 2 columns are '…', '…'"
    >>> safe_reason(ZeroDivisionError("row 17 of /home/ann/ward.csv"))
    'internal error (ZeroDivisionError)'
    """
    if not isinstance(error, FedbaryError):
        return f"internal error ({type(error).__name__})"
    if _quotes_another_package(error):
        return untold(error)
    text = error.public
    for place in filter(None, hidden):
        text = re.sub(rf"(?<!\w){re.escape(place)}(?!\w)", _A_FILE, text).removeprefix(f"{_A_FILE}: ")
    text = _without_file(text)
    if isinstance(error, (DataError, SchemaError)):
        known = _names(asked) if isinstance(error, SchemaError) and asked is not None else set()
        text = _QUOTED.sub(lambda found: found[0] if found[0][1:-1] in known else "'…'", text)
    return _FILE.sub(_A_FILE, text)[:_LONGEST_REASON]


def untold(error: BaseException) -> str:
    """All that can be said where the error's own words may not leave."""
    return f"the owner's own log says why ({type(error).__name__})"


def _without_file(text: str) -> str:
    """Errors about tables begin with their file, whose path may hold blanks."""
    place, colon, rest = text.partition(": ")
    return rest if colon and "'" not in place and _FILE.search(place) else text


def _names(asked: Message) -> set[str]:
    """All texts of a server's message, those inside its schema included."""
    found: set[str] = set()
    rest: list[object] = list(asked.scalars.values())
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            rest += [*part.keys(), *part.values()]
        elif isinstance(part, list):
            rest += part
        elif isinstance(part, str):
            found.add(part)
            if part[:1] in ("{", "["):
                with suppress(ValueError, RecursionError):
                    rest.append(json.loads(part))
    return found


def _quotes_another_package(error: BaseException) -> bool:
    cause = error.__cause__
    return cause is not None and (not isinstance(cause, FedbaryError) or _quotes_another_package(cause))
