"""The examples run, print what their pages show, and the pages are those of the scripts."""

import importlib.util

import pytest
from page_blocks import ROOT, blocks
from test_pages_run import assert_printed, without_numbers

spec = importlib.util.spec_from_file_location("gallery_script", ROOT / "tools" / "gallery.py")
gallery = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gallery)

# What they print depends on noise from the operating system: only the words stay.
NOISY = {"private_answers"}


def test_every_script_is_in_the_gallery():
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"hospitals"}
    assert scripts == set(gallery.EXAMPLES)
    assert (ROOT / "docs" / "gallery" / "index.md").read_text(encoding="utf-8") == gallery.index()


@pytest.mark.parametrize("name", gallery.EXAMPLES)
def test_the_page_shows_the_script_as_it_is(name):
    page = ROOT / "docs" / "gallery" / f"{name}.md"
    (output,) = (block.text.strip("\n") for block in blocks(page) if block.is_output)
    assert page.read_text(encoding="utf-8") == gallery.page(name, output), "run python tools/gallery.py"


@pytest.mark.parametrize("name", gallery.EXAMPLES)
def test_the_script_prints_what_its_page_shows(name):
    (output,) = (block for block in blocks(ROOT / "docs" / "gallery" / f"{name}.md") if block.is_output)
    said = gallery.printed(name)
    if name in NOISY:
        assert without_numbers(said) == without_numbers(output.text)
    else:
        assert_printed(output, said)
