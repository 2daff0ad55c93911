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
# Part, as the page names it → where its requirements stand: a package, and the extra if it is one.
PARTS = {
    "core": ("fedbary", ""),
    "flower": ("fedbary-flower", ""),
    "nvflare": ("fedbary-nvflare", ""),
    "lab": ("fedbary-lab", ""),
    "torch": ("fedbary", "torch"),
    "privacy": ("fedbary", "privacy"),
    "images": ("fedbary", "images"),
    "excel": ("fedbary", "excel"),
    "sql": ("fedbary", "sql"),
    "huggingface": ("fedbary", "huggingface"),
    "text": ("fedbary", "text"),
    "compare": ("fedbary-lab", "compare"),
}
HEAD = "| package | needed by | licence |\n| --- | --- | --- |\n"


def requirements() -> dict[str, list[str]]:
    """Package name → which parts of fedbary need it, the core first; not what only tests or builds."""
    needed: dict[str, list[str]] = {}
    for part, (package, extra) in PARTS.items():
        text = (ROOT / "packages" / package / "pyproject.toml").read_text(encoding="utf-8")
        project = tomllib.loads(text)["project"]
        for line in project["optional-dependencies"][extra] if extra else project["dependencies"]:
            name = re.split(r"[^\w.-]", line)[0]
            if not name.startswith("fedbary"):
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
