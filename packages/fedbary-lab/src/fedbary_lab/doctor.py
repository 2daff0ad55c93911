"""What `fedbary doctor` says of the laboratory: packages that methods need, and the data sets of the experiments."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fedbary.deploy.network import Finding, package_finding, version

# pyDVL 0.10 declares numpy<2 although it runs with numpy 2.
_PYDVL, _PYDVL_COMMAND = "pyDVL", "pip install --no-deps pyDVL==0.10.0"


def findings() -> Iterator[Finding]:
    """Look at everything."""
    yield package_finding("fedbary-lab", "training", "torch")
    yield package_finding("fedbary-lab", "other row methods", "compare")
    yield _pydvl()
    yield from _data()


def _pydvl() -> Finding:
    found = version(_PYDVL)
    if found is None:
        words = "not installed (row methods of other people); it must come without its dependencies"
        return Finding(_PYDVL, "missing", words, _PYDVL_COMMAND)
    if not found.startswith("0.10."):
        return Finding(_PYDVL, "problem", f"{found}; fedbary speaks to 0.10", _PYDVL_COMMAND)
    return Finding(_PYDVL, "ok", found)


def _data() -> Iterator[Finding]:
    """The folders of the named data sets, and which of these are there."""
    from fedbary_lab.datasets import describe

    known = describe()
    here, away = (known[known["available"] == there]["name"].tolist() for there in (True, False))
    named = os.environ.get("FEDBARY_DATA")
    if named and not Path(named).is_dir():
        remedy = "make the folder, or unset FEDBARY_DATA"
        yield Finding("FEDBARY_DATA", "problem", f"there is no folder '{named}'", remedy)
    if away:
        offline = os.environ.get("FEDBARY_OFFLINE") == "1"
        how = "put their files into a folder and set FEDBARY_DATA to it"
        remedy = how if offline else f"{how}, or let the first use fetch them from OpenML"
        yield Finding("data sets", "missing", f"here: {', '.join(here)}; not here: {', '.join(away)}", remedy)
    else:
        yield Finding("data sets", "ok", f"all {len(here)} are here")
