"""plotly.js as a page carries it: compressed, with the hash by which the page's security policy knows it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Bundle:
    """The library as base64 of gzip, and the hash of its text."""

    packed: str
    sha256: str


@lru_cache(maxsize=1)
def plotly_bundle() -> Bundle:
    """The plotly.js that the installed plotly brings."""
    text = local_plotly().read_bytes()
    return Bundle(base64.b64encode(gzip.compress(text, 9, mtime=0)).decode("ascii"), content_hash(text))


def local_plotly() -> Path:
    """Where the installed plotly keeps its JavaScript."""
    import plotly

    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def content_hash(text: bytes | str) -> str:
    """The hash of a script or style in the words of a Content-Security-Policy.

    Examples
    --------
    >>> content_hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    content = text.encode("utf-8") if isinstance(text, str) else text
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode("ascii")


def json_inside_html(content: Any) -> str:
    r"""JSON that nothing in it can end the script element around it, or be read as markup."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
