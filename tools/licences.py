"""Write the table of dependencies in docs/compatibility.md, from the metadata of the installed packages.

``python tools/licences.py`` in an environment with all extras (``make install``) after a dependency was added; a test
tells when that was forgotten.
"""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "compatibility.md"
EXTRAS = ("flower", "nvflare", "torch", "compare", "privacy", "images", "docs", "dev")
HEAD = "| package | needed by | licence |\n| --- | --- | --- |\n"


def requirements() -> dict[str, list[str]]:
    """Package name → which parts of fedbary need it, the core first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = {"core": project["dependencies"]} | {extra: project["optional-dependencies"][extra] for extra in EXTRAS}
    needed: dict[str, list[str]] = {}
    for part, lines in parts.items():
        for line in lines:
            name = re.split(r"[^\w.-]", line)[0]
            if name != "fedbary":
                needed.setdefault(name, []).append(part)
    # The Makefile adds it, without its dependencies.
    needed.setdefault("pyDVL", []).append("compare")
    return dict(sorted(needed.items(), key=lambda item: ("core" not in item[1], item[0].lower())))


def licence(name: str) -> str:
    """The licence of an installed package, in few words."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return "not installed here"
    classifiers = [
        text.split(" :: ")[-1] for text in about.get_all("Classifier") or () if text.startswith("License ::")
    ]
    first_line = (about["License"] or "").strip().splitlines()[:1]
    said = about["License-Expression"] or ", ".join(classifiers) or "".join(first_line)
    return said.replace("DFSG approved, ", "").removesuffix(" License") or "not said in its metadata"


if __name__ == "__main__":
    rows = "".join(f"| {name} | {', '.join(parts)} | {licence(name)} |\n" for name, parts in requirements().items())
    before, _, after = PAGE.read_text(encoding="utf-8").partition(HEAD)
    PAGE.write_text(before + HEAD + rows + after[after.index("\n\n") + 1 :], encoding="utf-8")
