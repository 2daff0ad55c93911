"""Run the scripts of examples/ and write the pages of docs/gallery/, each with the script and what it printed.

``python tools/gallery.py`` after a script was added or has changed; a test tells when that was forgotten.
"""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# In the order of the page. hospitals.py makes the data and is not an example itself.
EXAMPLES = (
    "three_hospitals",
    "without_reference",
    "complementing_clients",
    "private_answers",
    "clean_and_train",
    "compare_row_methods",
    "own_method",
    "numbers_as_labels",
    "stop_and_resume",
    "nvflare_sites",
)


def title_text_code(name: str) -> tuple[str, str, str]:
    """First line of a script's docstring, the rest of it, and the code below."""
    source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    script = ast.parse(source)
    title, _, text = (ast.get_docstring(script) or "").partition("\n\n")
    code = "".join(source.splitlines(keepends=True)[script.body[0].end_lineno :])
    return title.removesuffix("."), text, code.strip("\n")


def printed(name: str) -> str:
    """What a script prints."""
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip("\n")


def page(name: str, output: str) -> str:
    """The page of one example."""
    title, text, code = title_text_code(name)
    shown = f"```python\n{code}\n```\n\nIt prints:\n\n<!-- output -->\n```text\n{output}\n```\n"
    return f"# {title}\n\n{text}\n\n`python examples/{name}.py` runs it.\n\n{shown}"


def index() -> str:
    """The list of all examples."""
    lines = "".join(f"- [{title_text_code(name)[0]}]({name}.md)\n" for name in EXAMPLES)
    return (
        "# Examples\n\nShort scripts that run as they are, from a clone, in seconds each. They lie in `examples/`;\n"
        "the pages show each with what it printed, and the tests run them again.\n\n"
        f"{lines}\nThe tables of the hospitals come from `examples/hospitals.py`, which says what is wrong with them.\n"
    )


if __name__ == "__main__":
    folder = ROOT / "docs" / "gallery"
    (folder / "index.md").write_text(index(), encoding="utf-8")
    for name in EXAMPLES:
        (folder / f"{name}.md").write_text(page(name, printed(name)), encoding="utf-8")
