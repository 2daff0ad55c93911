"""Pictures: what they draw is what their frames hold, names are text, and they save themselves."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbary as fb
from codes import coded
from fedbary.errors import DataError, SettingsError
from fedbary.notes import Note
from fedbary.valuation.clients import ClientScores, client_frame, outcomes_of
from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.result import Valuation
from fedbary.views import display
from fedbary.views.display import browser as local_browser
from fedbary.views.html_file import json_inside_html


def result(**changes) -> Valuation:
    records = [
        {
            "client": "a",
            "rows": 100,
            "distance": 1.0,
            "low": 0.9,
            "high": 1.2,
            "quality": 0.99,
            "quality_low": 0.97,
            "quality_high": 1.0,
            "closeness": 0.99,
        },
        {
            "client": "<b>b</b>",
            "rows": 50,
            "distance": 3.0,
            "low": 2.0,
            "high": 3.0,
            "quality": 0.8,
            "quality_low": 0.75,
            "quality_high": 0.85,
            "closeness": 0.8,
        },
        {"client": "gone", "outcome": Outcome(Status.FAILED, (Note("data.no-rows"),))},
    ]
    records = [{"outcome": Outcome(), **record} for record in records]
    history = pd.DataFrame(
        {"client": ["a", "a", "<b>b</b>", "<b>b</b>"], "round": [0, 1, 0, 1], "estimate": [2.0, 1.0, 4.0, 3.0]}
    )
    frame = client_frame(records, spread=1.0)
    frame["flagged"] = pd.array([0, 10, None], dtype="Int64")
    settings = {"protocol": "sketch", "reference_rows": 10}
    made = Valuation(frame, history.assign(support=8), settings, outcomes=outcomes_of(records))
    return replace(made, **changes)


def bare(text: str) -> str:
    return text.replace("\u2068", "").replace("\u2069", "")


def dots(figure):
    """Names with the value and the ends of the interval that are drawn beside them."""
    names = [bare(text) for text in figure.layout.yaxis.ticktext]
    drawn = {}
    for line, marks in zip(figure.data[::2], figure.data[1::2], strict=True):
        for at, (place, value) in enumerate(zip(marks.y, marks.x, strict=True)):
            drawn[names[place]] = (value, line.x[3 * at], line.x[3 * at + 1])
    return names, drawn


def test_quality_is_a_dot_on_its_interval_in_the_colour_of_the_verdict():
    picture = fb.plots.qualities(result())
    names, drawn = dots(picture.plot())
    assert names == ["a", "&lt;b&gt;b&lt;/b&gt;"]
    assert drawn == {"a": (0.99, 0.97, 1.0), "&lt;b&gt;b&lt;/b&gt;": (0.8, 0.75, 0.85)}
    assert [trace.name for trace in picture.plot().data if trace.name] == ["include", "look at first"]
    first, last = picture.plot().layout.xaxis.range
    assert first < 0.75
    assert last > 1.0
    assert fb.plots.qualities(result(clients=result().clients.assign(quality=np.nan))) is None


def test_of_very_many_clients_those_that_need_a_look_are_drawn_and_all_are_in_the_frame():
    picture = fb.plots.qualities(crowd(80))
    assert len(picture.frame()) == 80
    names, _ = dots(picture.plot())
    assert len(names) == 30
    assert "client_79" in names
    assert "30 of 80" in picture.title


def test_shares_stand_with_their_intervals_and_their_ticks_differ():
    picture = fb.plots.shares(result())
    names, drawn = dots(picture.plot())
    assert names == ["a", "&lt;b&gt;b&lt;/b&gt;"]
    assert drawn["a"][0] == pytest.approx(31 / 42)  # 1/(d + 0.1) for d = 1 and 3
    assert drawn["a"][2] == pytest.approx(picture.frame()["share_high"][0])
    assert picture.plot().layout.xaxis.tickformat == ".0%"
    assert fb.plots.shares(crowd(300)).plot().layout.xaxis.tickformat == ".2%"


def crowd(count: int) -> Valuation:
    """Many clients of nearly one quality, and a last one that is bad."""
    clients = pd.concat([result().clients.iloc[[0]]] * count, ignore_index=True)
    clients["client"] = [f"client_{place}" for place in range(count)]
    clients["share"], clients["share_low"], clients["share_high"] = 1 / count, 0.99 / count, 1.01 / count
    clients[["quality", "quality_low", "quality_high", "closeness"]] = 0.99
    clients.loc[count - 1, ["quality", "quality_low", "quality_high", "closeness"]] = 0.8
    return result(clients=clients, outcomes=dict.fromkeys(clients["client"], Outcome()))


def test_the_map_has_a_mark_for_each_valued_client_by_verdict():
    figure = fb.plots.client_map(result()).plot()
    assert {trace.name: list(trace.x) for trace in figure.data} == {"include": [1.0], "look at first": [3.0]}
    compared = fb.plots.client_map(result(clients=result().clients.assign(quality=np.nan)))
    assert compared.plot().layout.yaxis.title.text == "closeness of the rows"
    neither = result().clients.assign(quality=np.nan, closeness=np.nan)
    assert fb.plots.client_map(result(clients=neither)) is None


def test_names_on_the_map_do_not_cover_each_other_and_among_many_only_outliers_have_one():
    (trace,) = fb.plots.client_map(crowd_alike(30)).plot().data
    assert 0 < sum(bool(text) for text in trace.text) < 30
    assert len(trace.customdata) == 30  # the others are named when one points at them
    named = [bare(text) for trace in fb.plots.client_map(crowd(60)).plot().data for text in trace.text if text]
    assert named == ["client_59"]


def crowd_alike(count: int) -> Valuation:
    whole = crowd(count + 1)
    return replace(whole, clients=whole.clients.iloc[:count].reset_index(drop=True))


SITES = [
    Note("judging.shift", {"shift": 0.9, "columns": ("glucose", "age")}),
    Note("judging.blur", {"blur": 2.4, "columns": ("size",)}),
]


def sites() -> Valuation:
    whole = result()
    clients = whole.clients.assign(shift=[0.1, 0.9, np.nan], blur=[1.0, 2.4, np.nan])
    return replace(whole, clients=clients, outcomes={**whole.outcomes, "<b>b</b>": Outcome(notes=tuple(SITES))})


def test_shift_and_blur_of_every_client_with_their_columns():
    picture = fb.plots.site_effects(sites())
    drawn = {trace.name: (list(trace.x), list(trace.y)) for trace in picture.plot().data}
    assert drawn == {"include": ([0.1], [1.0]), "look at first": ([0.9], [2.4])}
    assert picture.frame()["shift_columns"].tolist() == ["", "glucose and age"]
    assert picture.frame()["blur_columns"].tolist() == ["", "size"]
    assert fb.plots.site_effects(result()) is None


def test_an_owner_sees_its_own_point_among_others_without_a_name():
    picture = fb.plots.site_effects(sites(), "a")
    assert picture.frame()["client"].tolist() == ["a", "another client"]
    traces = {trace.name: trace for trace in picture.plot().data}
    assert (traces["your rows"].x, traces["other clients"].x) == ((0.1,), (0.9,))
    assert "&lt;b&gt;" not in picture.plot().to_json()
    assert fb.plots.site_effects(sites(), "gone") is None


def test_convergence_has_a_line_for_each_client_and_needs_rounds():
    lines = fb.plots.convergence(result()).plot().data
    assert [list(line.y) for line in lines] == [[2.0, 1.0], [4.0, 3.0]]
    assert fb.plots.convergence(result(history=result().history.iloc[::2])) is None


def test_shapley_values_keep_their_sign_and_stand_between_two_standard_errors():
    scores = ClientScores("coalition", ("a", "<b>b</b>"), np.array([0.3, -0.1]), np.array([0.0, 0.01]))
    _, drawn = dots(fb.plots.shapley_values(result(scores=scores)).plot())
    assert drawn["a"] == (0.3, 0.3, 0.3)
    assert drawn["&lt;b&gt;b&lt;/b&gt;"] == pytest.approx((-0.1, -0.12, -0.08))
    assert fb.plots.shapley_values(result()) is None


@given(st.text(max_size=400))
def test_any_name_becomes_text_without_tags_or_control_characters(name):
    for shown in (display.as_text(name), display.as_hover(name).replace("<br>", "")):
        assert "<" not in shown
        assert ">" not in shown
        inside = bare(shown)
        assert not any(ord(character) < 32 or "\u202a" <= character <= "\u202e" for character in inside)
    assert len(bare(display.as_text(name))) <= 5 * 36


@given(st.recursive(st.text() | st.floats(allow_nan=False, allow_infinity=False), st.lists, max_leaves=10))
def test_json_in_a_page_cannot_end_its_element(content):
    import json

    text = json_inside_html(content)
    assert "<" not in text
    assert json.loads(text) == content


@pytest.mark.parametrize("colour", display.CYCLE)
def test_colours_stand_out_from_a_white_and_a_dark_page(colour):
    def luminance(text: str) -> float:
        parts = [int(text[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for page in ("#ffffff", "#12171e"):
        light, dark = sorted((luminance(colour), luminance(page)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3.0


def test_a_picture_saves_itself_as_a_page_that_works_offline(opened, tmp_path):
    page = opened(fb.plots.client_map(result()).save(tmp_path / "map.html"))
    assert page.locator(".scatterlayer .point").count() >= 2


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")])
def test_a_picture_saves_itself_as_an_image_by_the_local_browser(chromium, monkeypatch, tmp_path, kind, start):
    monkeypatch.setenv("BROWSER_PATH", chromium)
    assert fb.plots.shares(result()).save(tmp_path / f"shares.{kind}").read_bytes().startswith(start)


def test_what_stands_in_the_way_of_an_image_is_said(monkeypatch, tmp_path):
    pytest.importorskip("kaleido")
    picture = fb.plots.shares(result())
    with pytest.raises(SettingsError, check=coded("views.picture-format")):
        picture.save(tmp_path / "shares.gif")
    with pytest.raises(DataError, check=coded("data.no-folder")):
        picture.save(tmp_path / "nowhere" / "shares.html")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no-such-browser"))
    assert local_browser() is None
    with pytest.raises(SettingsError, check=coded("views.browser-missing")):
        picture.save(tmp_path / "shares.png")
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(SettingsError, check=coded("views.kaleido-missing")):
        picture.save(tmp_path / "shares.png")


@pytest.mark.parametrize("values", [[1.0, 1.0 + 2.3e-16], [1e17, 1e17], [np.nan, np.nan]])
def test_values_that_hardly_differ_still_make_a_histogram(values):
    flags = pd.array([True, False], dtype="boolean")
    figure = fb.plots.value_histogram(
        pd.DataFrame({"row": [0, 1], "value": values, "flag": flags, "suspect": False})
    ).plot()
    assert sum(sum(trace.y) for trace in figure.data) == np.isfinite(values).sum()


def test_one_client_far_away_does_not_make_one_mark_of_all_others():
    far = result().clients.assign(distance=[1.0, 4000.0, np.nan])
    assert fb.plots.client_map(result(clients=far)).plot().layout.xaxis.type == "log"
    assert fb.plots.client_map(result()).plot().layout.xaxis.type is None
