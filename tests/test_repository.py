"""Versions agree, and what the README promises exists; `make lint` looks at style, types, layers and spelling."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_versions_agree_and_what_is_cited_was_released():
    import fedbary

    for package in sorted(ROOT.glob("packages/*/pyproject.toml")):
        assert f'version = "{fedbary.__version__}"' in package.read_text(encoding="utf-8"), package
    released = re.search(r"^## \[([\d.]+)\] - \d{4}", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert f"version: {released[1]}" in (ROOT / "CITATION.cff").read_text()
    assert fedbary.__version__ == released[1] or f"## [{fedbary.__version__.partition('.dev')[0]}] - unreleased" in (
        ROOT / "CHANGELOG.md"
    ).read_text(encoding="utf-8")


def test_addresses_come_from_the_citation():
    home = re.search(r"^repository-code: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)[1]
    for package in sorted(ROOT.glob("packages/*/pyproject.toml")):
        urls = tomllib.loads(package.read_text(encoding="utf-8"))["project"]["urls"]
        assert {address for address in urls.values() if not address.startswith(home)} == set(), package


def test_the_readme_starts_with_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```\w*\n(.*?)```", text, re.S).group(1)
    assert re.findall(r"^make \w+", block, re.M) == ["make demo", "make test"]
