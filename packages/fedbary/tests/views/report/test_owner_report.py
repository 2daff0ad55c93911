"""The owner's report: what it says, which rows and columns it carries, and what it refuses."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from owner_fixtures import FACTS, HOSTILE, animals, hostile_table, pictures, values_of, view_of

import fedbary as fb
from codes import coded
from fedbary.data.export import write
from fedbary.errors import DataError, PrivacyError, SettingsError
from fedbary.guard.owner_files import save_owner_view
from fedbary.notes import Note
from fedbary.space.encode import features
from fedbary.space.row_identity import order_digest
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.rows import RowFacts, ScoredRows, row_frame
from fedbary.views.owner import owner_headline, owner_html
from fedbary.views.plots.row_plots import MOST_ROWS, row_points
from fedbary.views.rows import row_table, suspicion
from fedbary.wording import number

pytest_plugins = ["report_fixtures"]


def json_of(text: str) -> str:
    return re.search(r'id="row-data">(.*?)</script>', text, re.DOTALL).group(1)


def carried(text: str) -> dict:
    """The rows that the page's script reads."""
    return json.loads(json_of(text))


def column(text: str, name: str) -> list:
    data = carried(text)
    return data["values"][[one["name"] for one in data["columns"]].index(name)]


def test_the_headline_counts_rows_by_reason():
    frame = values_of(animals(), flagged=6)
    assert owner_headline(frame, FACTS) == "6 of 90 rows look wrong: 3 by their label, 3 by their features."
    assert owner_headline(frame[frame["reason"] == "label"], FACTS) == "3 of 45 rows look wrong: all by their label."
    assert owner_headline(values_of(animals(), flagged=1), FACTS) == "1 of 90 rows looks wrong: 1 by their label."


def test_it_says_what_flags_promise_what_to_do_and_what_left():
    table = animals()
    text = owner_html(view_of(table, values_of(table, flagged=20)), client="shelter", table=table)
    words = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    for said in (
        "It is for their owner; do not send it to the coordinator.",
        "Of 100 flagged rows about 10 are fine after all, by measurement on many tables; it is no proof. "
        "Of the 20 rows here, expect about 2 to be fine.",
        "About 10 % of the labels (5–15 %), 9 rows, are estimated to be wrong",
        "fb.clean(table, result.rows(&#39;shelter&#39;), &#34;relabel&#34;)",
        "From each client: row count",
    ):
        assert said in words
    assert "nothing left it" not in words


def test_columns_are_whole_values_flagged_rows_come_first_and_worst_first():
    table = animals()
    frame = values_of(table, flagged=6)
    shuffled = np.random.default_rng(0).permutation(len(table))
    text = owner_html(
        view_of(table.take(shuffled), frame.iloc[shuffled].reset_index(drop=True)), client="shelter",
        table=table.take(shuffled),
    )  # fmt: skip
    assert column(text, "row") == [f"a{i}" for i in range(90)]
    assert column(text, "value") == frame["value"].tolist()
    assert column(text, "label_p") == frame["label_p"].tolist()
    assert column(text, "given_label") == table.labels.tolist()
    assert column(text, "weight")[9] is None
    assert column(text, "place")[:3] == ["farm", "town", ""]
    assert column(text, "finding") == ["flagged"] * 6 + [""] * 84
    assert [one["name"] for one in carried(text)["columns"]][-3:] == ["weight", "tame", "place"]


def test_suspects_come_after_flags_and_before_the_rest_and_nothing_is_promised_of_them():
    table = animals()
    frame = values_of(table, flagged=6, suspects=9)
    text = owner_html(view_of(table, frame), client="shelter", table=table, folder="out")
    assert column(text, "finding") == ["flagged"] * 6 + ["suspect"] * 9 + [""] * 75
    assert "3 by their features; 9 more are suspect." in text
    assert "Nothing is promised of them" in text
    assert "fedbary rows out --client shelter --data FILE --export clean --suspects" in text
    unflagged = owner_html(view_of(table, values_of(table, flagged=0, suspects=9)), client="shelter", table=table)
    assert "9 of 90 rows are suspect, though none is flagged: about 10 % of the labels" in unflagged
    assert "suspects=True" in unflagged


def test_it_says_how_its_values_differ_and_offers_to_move_them():
    table = animals()
    frame = values_of(table, flagged=0)
    view = view_of(table, frame, facts=replace(FACTS, moving={"weight": (1.0, 0.5)}))
    assert "Different is not bad" not in owner_html(view, client="shelter", table=table)  # of itself it has no number
    differs = Note("judging.shift", {"shift": 0.9, "columns": ("weight", "<b>")})
    known = replace(
        view, clients=view.clients.assign(shift=0.9, blur=1.1), outcomes={"shelter": Outcome(notes=(differs,))}
    )
    text = owner_html(known, client="shelter", table=table, folder="out")
    for said in ("0.9 σ", "most in weight and &lt;b&gt;", "×1.1", "Different is not bad", "--data FILE --export moved"):
        assert said in text
    assert "fb.moved(table, result.row_facts(&#39;shelter&#39;))" in owner_html(known, client="shelter", table=table)


def test_commands_name_the_folder_and_the_file_that_they_need(tmp_path):
    table = animals()
    view = view_of(table, values_of(table, flagged=3))
    (tmp_path / "my results").mkdir()
    save_owner_view(view, tmp_path / "my results")
    page = view.report(tmp_path / "my results" / "report.html", client="shelter", table=table)
    assert f"fedbary rows &#39;{tmp_path}/my results&#39; --client shelter --data FILE" in page.read_text()
    known = replace(view, settings=view.settings | {"sources": {"shelter": {"file": "a.csv"}}})
    assert "--data FILE" not in owner_html(known, client="shelter", table=table, folder="out")


def test_cells_that_made_a_row_odd_are_named_with_what_is_in_them_and_marked():
    table = animals()
    frame = values_of(table, flagged=6)
    frame["columns"] = pd.array([None, "weight, pixels[3]", None, "place", *[None] * 86], dtype="string")
    shown = row_table(frame, table, table.labels.tolist(), None, numbers=False)
    named = {one.name: one for one in shown.columns}
    weight = number(float(table.columns["weight"][1]))
    assert named["why"].values[:4] == [
        "label",
        f"features (weight {weight}; pixels[3])",
        "label",
        f"features (place {table.columns['place'][3]})",
    ]
    places = [one.name for one in shown.columns]
    assert shown.odd[:4] == [[], [places.index("weight")], [], [places.index("place")]]
    assert [one.name for one in shown.columns if one.feature] == ["weight", "place", "tame"]  # odd ones first
    pixels = fb.Table.from_arrays(np.arange(12.0).reshape(3, 4), ["a", "b", "b"])
    frame = values_of(pixels, flagged=3).assign(columns=pd.array([None, "x[3]", None], dtype="string"))
    assert "x[3] 7" in row_table(frame, pixels, ["a", "b", "b"], None, numbers=False).plain()[1][-1]


def test_a_column_that_never_varies_is_not_shown_but_saved():
    rows = 12
    columns = {"same": np.ones(rows), "other": np.arange(float(rows))}
    table = fb.Table(columns, np.array(["cat"] * rows, dtype=object))
    frame = values_of(table, flagged=0).assign(reason="label")
    shown = row_table(frame, table, ["cat"] * rows, None, numbers=False)
    assert [one.name for one in shown.columns if one.shown] == ["row", "suspicion", "suggested_label", "other"]
    assert {"given_label", "p_value"} <= {one.name for one in shown.columns}


def test_suspicion_grows_as_values_fall():
    value = np.random.default_rng(0).gamma(1.0, size=501)
    bars = suspicion(pd.DataFrame({"value": -value, "p_value": np.nan}))
    assert (np.diff(bars[np.argsort(value)]) >= 0).all()
    assert (bars.min(), bars.max()) == (0.0, 100.0)
    assert (bars[value < np.median(value)] == 0).all()
    some = pd.DataFrame({"value": [-3.0, -2.9, -1.0, 5.0], "p_value": [0.001, np.nan, 0.1, np.nan]})
    assert suspicion(some).tolist() == [100.0, 97.0, 33.0, 33.0]  # two of them could not be tested
    assert suspicion(pd.DataFrame({"value": [2.0, 2.0, np.nan], "p_value": np.nan})).tolist() == [0.0, 0.0, 0.0]


def test_two_labels_are_a_sentence_and_many_a_picture():
    table = animals()
    text = owner_html(view_of(table, values_of(table, flagged=30)), client="shelter", table=table)
    assert "Of the rows doubted for their label, " in text
    assert "Given against suggested labels" not in text
    many = pictures(60, side=12)
    frame = values_of(many, flagged=60, classes=("0", "1", "2"))
    assert "Given against suggested labels" in owner_html(view_of(many, frame), client="shelter", table=many)


def test_a_column_that_is_called_like_ours_keeps_its_own_name():
    table = hostile_table()
    shown = row_table(values_of(table, flagged=3), table, table.labels.tolist(), None, numbers=False)
    assert [one.name for one in shown.columns].count("value") == 1
    assert shown.columns[-1].name == "value (column)"


def test_of_very_many_rows_all_flagged_and_the_least_valuable_are_carried():
    rows = 7000
    table = fb.Table({"x": np.arange(float(rows))}, np.arange(rows) % 2)
    frame = values_of(table, flagged=0, classes=("0", "1"))
    best = np.arange(rows) >= rows - 40  # flagged, though of high value
    frame = frame.assign(flag=pd.array(best, dtype="boolean"))
    text = owner_html(view_of(table, frame), client="shelter", table=table)
    names = column(text, "row")
    assert len(names) == 5000
    assert names[:40] == [str(i) for i in range(rows - 40, rows)]
    assert names[40:] == [str(i) for i in range(4960)]
    assert "2,000 were left out" in text
    points = row_points(view_of(table, frame).schema, table, frame)
    assert len(points) == MOST_ROWS
    assert set(points["row"][points["kind"] != "not flagged"]) == {str(i) for i in range(rows - 40, rows)}


def test_the_map_keeps_distances_of_flat_data_and_does_not_turn():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6))
    table = fb.Table.from_arrays(flat, np.arange(40) % 2)
    schema = fb.fit_schema(table, fb.Space(scaling="none", projection="none"))
    frame = values_of(table, flagged=4, classes=("0", "1"))
    points = row_points(schema, table, frame)
    there = points[["x", "y"]].to_numpy()
    spread = [np.linalg.norm(a[:, None] - a[None], axis=2) for a in (features(table, schema), there)]
    np.testing.assert_allclose(spread[0], spread[1], atol=1e-8)
    pd.testing.assert_frame_equal(points, row_points(schema, table, frame))
    assert points["kind"].tolist()[:5] == ["label", "features", "label", "features", "not flagged"]


def test_the_sketch_is_on_the_map_of_a_real_run(digits):
    mine = digits.take(range(80))
    clients = {"me": mine, "you": digits.take(range(80, 160))}
    result = fb.value(clients, digits.take(range(160, 600)), protocol="sketch", seed=0)
    points = row_points(result.schema, mine, result.rows("me"), result.target)
    assert (points["kind"] == "target").sum() == result.settings["sketch_points"]


def test_without_flags_the_least_valuable_rows_come_first_and_it_says_why():
    table = animals()
    frame = row_frame(table.row_names, -np.arange(90.0))
    view = view_of(table, frame, facts=RowFacts(), protocol="interpolation")
    text = owner_html(view, client="shelter", table=table)
    assert column(text, "row")[:2] == ["a89", "a88"]
    assert "90 rows, ranked; this run flags none." in text
    assert "Why nothing is flagged" in text
    assert "--export" not in text


@pytest.mark.parametrize("rows", [1, 2])
def test_one_row_and_one_column_are_enough(rows):
    table = fb.Table({"x": np.arange(float(rows))}, np.array(["a", "b"][:rows], dtype=object))
    frame = values_of(table, flagged=rows)
    whole = fb.Table({"x": [0.0, 1.0]}, np.array(["a", "b"], dtype=object))
    view = replace(view_of(whole, values_of(whole, flagged=1)), _rows={"shelter": ScoredRows(frame, FACTS)})
    text = owner_html(view, client="shelter", table=table)
    assert len(column(text, "row")) == rows


def test_numbers_as_labels_are_numbers_in_the_table_and_points_in_the_picture():
    rng = np.random.default_rng(0)
    table = fb.Table({"x": rng.normal(size=30)}, rng.normal(size=30))
    frame = values_of(table, flagged=6, classes=("1.5", "-2.25"))
    text = owner_html(view_of(table, frame), client="shelter", table=table)
    assert column(text, "given_label") == table.labels.tolist()
    # Nothing is suggested to a row whose features alone are odd.
    assert column(text, "suggested_label")[:4] == [1.5, None, -2.25, None]
    assert "Given against suggested numbers" in text
    assert "relabelled" not in text


def test_without_a_table_it_says_how_to_get_more():
    table = animals()
    text = owner_html(view_of(table, values_of(table, flagged=3)), client="shelter")
    assert "--data FILE" in text
    assert "Where the rows lie" not in text
    shown = [one["name"] for one in carried(text)["columns"] if one["shown"]]
    assert shown == ["row", "finding", "suspicion", "suggested_label", "why"]
    with pytest.raises(SettingsError, check=coded("views.pictures-need-rows")):
        owner_html(view_of(table, values_of(table, flagged=3)), client="shelter", images=(8, 8))


def test_other_rows_an_unknown_client_and_a_server_without_rows_are_refused(made_up):
    table = animals()
    view = view_of(table, values_of(table, flagged=3))
    with pytest.raises(DataError, check=coded("views.other-rows")):
        owner_html(view, client="shelter", table=table.take(range(89)))
    with pytest.raises(DataError, check=coded("views.other-rows")):
        owner_html(view, client="shelter", table=table.replace(ids=None))
    known = view_of(table, values_of(table, flagged=3), facts=replace(FACTS, table=order_digest(table)))
    turned = table.take(range(89, -1, -1)).replace(ids=table.ids)
    for other in (turned, table.replace(labels=table.labels[::-1])):
        with pytest.raises(DataError, check=coded("views.rows-changed")):
            owner_html(known, client="shelter", table=other)
    assert owner_html(known, client="shelter", table=table)
    with pytest.raises(SettingsError, check=coded("valuation.no-client")):
        owner_html(view, client="sheltr")
    with pytest.raises(PrivacyError, check=coded("valuation.rows-at-their-owner")):
        owner_html(made_up(["a"], rows=False), client="a")


def test_pairs_and_frames_will_do_as_a_table():
    table = pictures(30, side=12)
    view = view_of(table, values_of(table, flagged=3, classes=("0", "1", "2")))
    assert carried(owner_html(view, client="shelter", table=(table.columns["x"], table.labels)))["pictures"][0]
    plain = fb.Table({"x": np.arange(9.0)}, np.arange(9) % 2)
    view = view_of(plain, values_of(plain, flagged=2, classes=("0", "1")))
    text = owner_html(view, client="shelter", table=pd.DataFrame({"x": np.arange(9.0), "label": np.arange(9) % 2}))
    assert column(text, "given_label")[:2] == ["0", "1"]


def test_hostile_text_is_never_markup():
    table = hostile_table()
    name = "".join(HOSTILE[:6])
    text = owner_html(view_of(table, values_of(table, flagged=9, classes=HOSTILE), name), client=name, table=table)
    outside = re.sub(r"<script type=[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"<script>alert|<img src=x|<a href", outside)
    assert not re.search(r"</script><|<img|<a ", json_of(text))
    assert column(text, "row")[0] == f"{HOSTILE[0]} 0"


def test_a_table_that_was_changed_since_a_real_run_is_refused_also_from_its_folder(digits, tmp_path):
    mine = digits.take(range(60))
    fb.value({"me": mine}, digits.take(range(60, 360)), seed=0).save(tmp_path)
    result = fb.Valuation.load(tmp_path)
    with pytest.raises(DataError, check=coded("views.rows-changed")):
        result.report(tmp_path / "r.html", client="me", table=mine.take(range(59, -1, -1)).replace(ids=mine.ids))
    path = result.report(tmp_path / "r.html", client="me", table=mine)
    assert path.stat().st_mode & 0o077 == 0  # rows are for their owner alone


def test_of_a_large_table_only_the_rows_that_are_shown_are_looked_at(tmp_path, monkeypatch):
    table = animals()
    frame = values_of(table, flagged=3, suspects=4)
    frame["columns"] = pd.array(["weight, place"] * len(frame), dtype="string")
    write(table, tmp_path / "animals.parquet")
    stored = fb.read(tmp_path / "animals.parquet", "label", id="row", stored=True)
    view = view_of(table, frame, facts=replace(FACTS, table=order_digest(table)))
    monkeypatch.setattr("fedbary.views.rows.MOST_ROWS", 20)
    whole = carried(owner_html(view, client="shelter", table=table))
    monkeypatch.setattr("fedbary.views.owner._MOST_WHOLE", 50)

    large = carried(owner_html(view, client="shelter", table=stored))

    assert large == whole
    assert len(large["values"][0]) == 20


def test_the_map_of_a_large_table_has_the_directions_of_a_draw(monkeypatch):
    table = animals(300)
    frame, schema = values_of(table, flagged=3), fb.fit_schema(table)
    monkeypatch.setattr("fedbary.views.plots.row_plots.MOST_ROWS", 50)
    whole = row_points(schema, table, frame)
    monkeypatch.setattr("fedbary.views.plots.row_plots._MOST_WHOLE", 299)
    monkeypatch.setattr("fedbary.views.plots.row_plots._FOR_DIRECTIONS", 300)  # all of them: the same directions

    drawn = row_points(schema, table, frame)

    pd.testing.assert_frame_equal(drawn, whole)
