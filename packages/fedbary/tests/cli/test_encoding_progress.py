"""Whoever waits for images and texts to be encoded sees how far it is."""

import pytest

from fedbary.cli.ui import terminal as screen
from fedbary.data.encoders import encoded


@pytest.mark.parametrize("shown", [screen.progress, lambda _: screen.spinner()], ids=["bar", "spinner"])
def test_a_bar_says_how_far_encoding_is(shown, monkeypatch, capsys):
    monkeypatch.setattr(screen, "_shows_bar", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with shown("reading the files"):
        encoded([f"text {k}" for k in range(1200)], kind="text", name="remark\n\x1b[31m")
    assert "encoding remark [31m, 1,200 of 1,200 cells" in capsys.readouterr().err


def test_nothing_is_shown_where_nobody_looks(capsys):
    with screen.progress("reading the files"):
        encoded(["a text"], kind="text", name="remark")
    assert capsys.readouterr().err == ""
