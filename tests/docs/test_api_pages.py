"""The API reference is complete: every public name stands on one of its pages, and in its index."""

import re
from importlib import import_module

import pytest
from page_blocks import ROOT

import fedbary as fb

PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/api").glob("*.md"))}
LISTED = [
    target for text in PAGES.values() for target in re.findall(r"^::: (fedbary(?:_lab)?\.[\w.]+)$", text, re.MULTILINE)
]


def documented(target):
    """The object that a line of a page names, wherever its module ends."""
    home, _, name = target.rpartition(".")
    module = import_module(home)
    return getattr(module, name) if hasattr(module, name) else import_module(target)


@pytest.mark.parametrize("name", [name for name in fb.__all__ if name != "__version__"])
def test_every_public_name_has_its_place_in_the_reference(name):
    assert getattr(fb, name) in [documented(target) for target in LISTED]
    assert f"`fb.{name}`" in PAGES["index.md"]


def test_the_reference_lists_public_names_only_and_each_once():
    public = {target.rpartition(".")[2] for target in LISTED}
    assert public <= set(fb.__all__)
    assert len(LISTED) == len(set(LISTED))
