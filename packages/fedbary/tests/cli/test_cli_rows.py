"""`fedbary rows`: what an owner sees of flagged rows and suspects, and the tables it can write."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.judging.federation import Estimate
from fedbary.valuation.rows import ScoredRows

pytest_plugins = ["cli_fixtures"]
VALUE = ("--label", "ill", "--id", "id", "--reference", "reference.csv", "--seed", 0)
WRONG = [f"p{i}" for i in range(12)]


def patients(rows: int, seed: int) -> pd.DataFrame:
    """Two classes that do not overlap, so that a wrong label is beyond doubt."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.5
    measures = {f"m{i}": np.round(rng.normal(6.0 * ill, 1.0), 3) for i in range(3)}
    return pd.DataFrame({"id": [f"p{i}" for i in range(rows)], **measures, "ill": np.where(ill, "yes", "no")})


@pytest.fixture
def valued(fedbary, tmp_path, monkeypatch):
    """A result folder `out` for two clients; in `bad` twelve labels are wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "sites").mkdir()
    patients(300, seed=1).to_csv("reference.csv", index=False)
    patients(80, seed=2).to_csv("sites/good.csv", index=False)
    bad = patients(80, seed=3)
    wrong = bad["id"].isin(WRONG)
    bad.loc[wrong, "ill"] = bad.loc[wrong, "ill"].map({"yes": "no", "no": "yes"})
    bad.to_csv("sites/bad.csv", index=False)
    code, _, errors = fedbary("value", "sites", *VALUE, "-o", "out")
    assert code == 0, errors
    return tmp_path


def test_flagged_rows_are_shown_with_reason_and_suggestion(fedbary, valued):
    code, out, _ = fedbary("rows", "out", "--client", "bad")
    assert code == 0
    assert "rows of bad are flagged" in out
    shown = [line for line in out.splitlines() if "p1" in line.split()]
    assert len(shown) == 1
    assert "label" in shown[0]
    assert "flags: " in out
    assert max(map(len, out.splitlines())) <= 80


def test_clean_leaves_out_exactly_the_flagged_rows(fedbary, valued):
    code, out, _ = fedbary("rows", "out", "--client", "bad", "--export", "clean")
    assert code == 0
    assert "bad-clean.csv" in out
    left, before = pd.read_csv("out/bad-clean.csv"), pd.read_csv("sites/bad.csv")
    rows = fb.Valuation.load("out").rows("bad")
    flagged = set(rows["row"][rows["flag"].astype(bool)])
    assert set(WRONG) <= flagged
    assert set(left["id"]) == set(before["id"]) - flagged
    pd.testing.assert_frame_equal(left, before[before["id"].isin(left["id"])].reset_index(drop=True), check_like=True)


def test_relabelled_mends_labels_and_keeps_the_rest(fedbary, valued):
    assert fedbary("rows", "out", "--client", "bad", "--export", "relabelled", "-o", "mended.parquet")[0] == 0
    mended = pd.read_parquet("mended.parquet").set_index("id")
    truth = patients(80, seed=3).set_index("id")
    assert set(WRONG) <= set(mended.index)
    assert (mended["ill"] == truth["ill"].loc[mended.index]).all()


@pytest.fixture
def suspected(valued):
    """The result again, with ten flags taken back: those rows are now suspects."""
    result = fb.Valuation.load("out")
    tables = dict(result.row_tables)
    frame = tables["bad"].frame.copy()
    ten = frame["row"].isin(WRONG[:10])
    frame["flag"], frame["suspect"] = frame["flag"] & ~ten, ten.astype("boolean")
    estimated = replace(tables["bad"].facts, wrong_labels=Estimate(0.15, 0.08, 0.24), suspects=10)
    tables["bad"] = ScoredRows(frame, estimated)
    replace(result, _rows=tables).save("out")
    return set(WRONG[:10])


def test_suspects_are_shown_after_the_flags_and_without_a_promise(fedbary, suspected):
    _, out, _ = fedbary("rows", "out", "--client", "bad")
    flags, found, suspects = out.partition("10 more suspects, without guarantee")
    assert found
    assert {word for word in flags.split() if word in WRONG} == set(WRONG) - suspected
    assert {word for word in suspects.split() if word in WRONG} == suspected
    assert "wrong labels: 15 % (8 to 24 %)" in suspects
    assert max(map(len, out.splitlines())) <= 80


def test_suspects_stay_in_the_table_unless_they_are_named(fedbary, suspected):
    _, out, _ = fedbary("rows", "out", "--client", "bad", "--export", "clean")
    assert "It still holds 10 suspects" in out
    assert suspected < set(pd.read_csv("out/bad-clean.csv")["id"])
    _, out, _ = fedbary("rows", "out", "--client", "bad", "--export", "clean", "--suspects")
    assert "It still holds" not in out
    assert not set(WRONG) & set(pd.read_csv("out/bad-clean.csv")["id"])


def test_suspects_can_be_relabelled(fedbary, suspected):
    assert fedbary("rows", "out", "--client", "bad", "--export", "relabelled", "--suspects")[0] == 0
    mended = pd.read_csv("out/bad-relabelled.csv").set_index("id")
    truth = patients(80, seed=3).set_index("id")
    assert suspected <= set(mended.index)
    assert (mended["ill"] == truth["ill"].loc[mended.index]).all()


def test_a_table_is_moved_to_where_the_others_lie_and_nothing_else_changes(fedbary, valued):
    result = fb.Valuation.load("out")
    tables = dict(result.row_tables)
    tables["bad"] = replace(tables["bad"], facts=replace(tables["bad"].facts, moving={"m1": (10.0, 0.5)}))
    replace(result, _rows=tables).save("out")
    code, out, _ = fedbary("rows", "out", "--client", "bad", "--export", "moved")
    assert (code, "bad-moved.csv" in out) == (0, True)
    there, before = pd.read_csv("out/bad-moved.csv"), pd.read_csv("sites/bad.csv")
    np.testing.assert_allclose(there["m1"], 0.5 * before["m1"] + 10.0)
    pd.testing.assert_frame_equal(there.drop(columns="m1"), before.drop(columns="m1"))


def test_programs_get_flags_before_suspects(fedbary, suspected):
    content = json.loads(fedbary("rows", "out", "--client", "bad", "--json", "-n", 80)[1])
    assert content["suspects"] == 10
    assert content["wrong_labels"] == {"share": 0.15, "low": 0.08, "high": 0.24}
    assert [row["row"] for row in content["rows"] if row["suspect"]] == [row["row"] for row in content["rows"][-10:]]


def test_a_library_result_needs_the_file_named_and_similar_names_do_not_meet(fedbary, valued):
    clients = {name: fb.read("sites/bad.csv", "ill", id="id") for name in ("a b", "a_b")}
    fb.value(clients, fb.read("reference.csv", "ill", id="id"), seed=0).save("two")
    command = ("rows", "two", "--export", "clean", "--client")
    assert "--data FILE" in fedbary(*command, "a b")[2]
    assert "--id" in fedbary(*command, "a b", "--data", "sites/bad.csv")[2]
    for name in clients:
        assert fedbary(*command, name, "--data", "sites/bad.csv", "--id", "id")[0] == 0
    assert len(list((valued / "two").glob("*-clean.csv"))) == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--client", "nobody"), "valuation.no-client"),
        (("--client", "bad", "--export", "both"), "cli.export-option"),
        (("--client", "bad", "--suspects"), "cli.suspects-need-export"),
        (("--client", "bad", "--export", "moved", "--suspects"), "cli.suspects-need-export"),
        (("--client", "bad", "--export", "moved", "--data", "reference.csv"), "cli.other-rows"),
        (("--client", "bad", "--export", "clean", "--data", "sites/good.csv"), "cli.file-changed"),
        (("--client", "bad", "--export", "clean", "--data", "reference.csv"), "cli.other-rows"),
        (("--client", "bad", "--export", "clean", "-o", "nowhere/x.csv"), "data.no-folder"),
    ],
)
def test_mistakes_have_their_code(refused, valued, arguments, code):
    assert refused("rows", "out", *arguments, hides="written").code == code


def test_without_flags_there_are_suspects(fedbary, valued):
    assert fedbary("value", "sites", *VALUE, "--fdr", 1e-9, "-o", "alone")[0] == 0
    command = ("rows", "alone", "--client", "bad", "--export", "clean")
    assert fedbary(*command)[0] == 0
    assert len(pd.read_csv("alone/bad-clean.csv")) == 80
    assert fedbary(*command, "--suspects")[0] == 0
    assert not set(WRONG) & set(pd.read_csv("alone/bad-clean.csv")["id"])


def test_where_no_share_is_estimated_there_are_no_suspects(fedbary, refused, valued):
    options = ("--label", "ill", "--id", "id", "--reference", "reference.csv", "--protocol", "interpolation")
    assert fedbary("value", "sites", *options, "-o", "paper")[0] == 0
    command = ("rows", "paper", "--client", "bad", "--export", "clean", "--suspects")
    assert refused(*command, says="No row of bad was tested").code == "valuation.no-suspects"


def test_an_empty_table_does_not_go_unnoticed(fedbary, valued):
    bad = patients(80, seed=3)
    bad.assign(ill=bad["ill"].map({"yes": "no", "no": "yes"})).to_csv("sites/bad.csv", index=False)
    assert fedbary("value", "sites", *VALUE, "-o", "units")[0] == 0
    code, out, _ = fedbary("rows", "units", "--client", "bad", "--export", "clean")
    assert code == 0
    assert "It is empty: all 80 rows were left out." in out


def test_a_folder_with_foreign_files_is_left_alone(fedbary, refused, valued):
    (valued / "mine").mkdir()
    (valued / "mine" / "clients.csv").write_text("precious")
    error = refused("value", "sites", *VALUE, "-o", "mine")
    assert (error.code, error.private["file"]) == ("valuation.foreign-file", "clients.csv")
    assert (valued / "mine" / "clients.csv").read_text() == "precious"
    assert fedbary("value", "sites", *VALUE, "-o", "out")[0] == 0  # an earlier result may be replaced
