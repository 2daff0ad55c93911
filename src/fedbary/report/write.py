"""`write_report`: a result becomes one HTML file that needs nothing else."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.errors import DataError
from fedbary.report.facts import facts

if TYPE_CHECKING:
    from fedbary.valuation import Valuation


def write_report(result: Valuation, path: str | Path) -> Path:
    """Write a self-contained report: no script, no request, readable on paper and on a phone.

    Parameters
    ----------
    result : Valuation
        What to report.
    path : path
        The HTML file. A reader never sees half of it: it takes its place when it is whole.

    Examples
    --------
    >>> import tempfile
    >>> import fedbary as fb
    >>> parts = fb.partitions.by_size(fb.datasets.load("digits").train, [50, 50], seed=0)
    >>> result = fb.value(parts.clients, fb.datasets.load("digits").test, seed=0)
    >>> write_report(result, Path(tempfile.mkdtemp()) / "report.html").name
    'report.html'
    """
    home = Path(path)
    if not home.parent.is_dir():
        raise DataError(f"{home}: the folder {home.parent} does not exist; make it first")
    temporary = home.with_name(f".{home.name}.{secrets.token_hex(4)}.tmp")
    try:
        # A name from a file system may hold what UTF-8 cannot: a reference shows it as a replacement character.
        temporary.write_bytes(render(result).encode("utf-8", errors="xmlcharrefreplace"))
        os.replace(temporary, home)  # noqa: PTH105 - os.replace is atomic on every platform
    except OSError as error:
        raise DataError(f"{home}: the report cannot be written ({error.strerror}); check the folder") from error
    finally:
        temporary.unlink(missing_ok=True)
    return home


def render(result: Valuation) -> str:
    """The report's HTML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("fedbary.report"),
        autoescape=True,  # clients choose their own names, columns and labels
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template("report.html").render(facts(result))
