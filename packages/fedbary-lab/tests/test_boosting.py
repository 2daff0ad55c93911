"""`fb.boost`: what is trained on after acting on flags, and that no client takes the others down."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.notes import Note
from fedbary.valuation.result import with_rows
from fedbary.valuation.rows import ScoredRows
from fedbary_lab.boosting import trained_accuracy
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation
from fedbary_lab.training.models import Logistic

TRAINING = FedAvg(rounds=3)


@pytest.fixture(scope="module")
def parts(digits):
    *own, reference, test = fb.partitions.by_size(digits, [150, 150, 150, 500, 300], seed=0).clients.values()
    clients = dict(zip("abc", own, strict=True))
    clients["c"], _ = fb.corruptions.flip_labels(clients["c"], 0.6, seed=0)
    return clients, reference, test


@pytest.fixture(scope="module")
def valued(parts):
    return fb.value(*parts[:2], seed=1)


@pytest.fixture(scope="module")
def boosted(parts, valued):
    return fb.boost(*parts, training=TRAINING, valuation=valued, seed=1)


def flagged(result, **flags):
    """The valuation with these rows flagged for their label, and no others."""

    def marked(name, frame):
        flag = pd.array(np.isin(np.arange(len(frame)), flags.get(name, [])), dtype="boolean")
        return ScoredRows(frame.assign(flag=flag, reason="label"))

    return with_rows(result, {name: marked(name, scored.frame) for name, scored in result.row_tables.items()})


def test_what_is_trained_on_follows_from_the_flags(boosted, valued):
    frame = boosted.to_frame().set_index("how")
    rows = pd.concat([scored.frame for scored in valued.row_tables.values()])
    flags, by_label = int(rows["flag"].sum()), int((rows["flag"] & (rows["reason"] == "label")).sum())
    assert flags > 50
    assert frame["rows"].tolist() == [450, 450 - flags, 450 - flags + by_label]
    assert frame["dropped"].tolist() == [0, flags, flags - by_label]
    assert frame["relabelled"].tolist() == [0, 0, by_label]
    assert frame.loc["none", "gain"] == 0.0
    np.testing.assert_allclose(frame["gain"], frame["accuracy"] - frame.loc["none", "accuracy"])
    assert boosted.failed == boosted.notes == ()


def test_each_accuracy_is_that_of_a_plain_run_on_the_same_tables(parts, boosted, valued):
    clients, reference, test = parts
    judge = Federation.from_tables({"test": test}, reference).clients[0]
    for how, done in boosted.outcomes.items():
        tables = clients
        if how != "none":
            tables = {name: fb.clean(table, valued.rows(name), how) for name, table in clients.items()}
        federation = Federation.from_tables(tables, reference)
        assert done.accuracy == trained_accuracy(Logistic(), federation, judge, TRAINING), how


def test_the_papers_rule_drops_but_cannot_relabel(parts):
    signs = fb.value(*parts[:2], protocol="interpolation", rule="sign", seed=1)
    found = fb.boost(*parts, how=["drop"], valuation=signs, training=TRAINING)
    assert found.outcomes["drop"].dropped == signs.clients["flagged"].sum()
    with pytest.raises(fb.FedbaryError, check=coded("research.no-labels-suggested")):
        fb.boost(*parts, valuation=signs, training=TRAINING)


def test_without_flags_acting_changes_nothing(parts, valued):
    found = fb.boost(*parts, valuation=flagged(valued), training=TRAINING).to_frame()
    assert found["accuracy"].nunique() == 1
    assert found["gain"].tolist() == [0.0, 0.0, 0.0]
    assert found["dropped"].tolist() == [0, 0, 0]


def test_it_values_as_value_does(parts, valued):
    found = fb.boost(*parts, how=["drop"], training=FedAvg(rounds=1), seed=1)
    pd.testing.assert_frame_equal(found.valuation.clients, valued.clients)
    assert found.settings["training"]["seed"] == 0
    assert found.to_frame()["gain"].isna().all()


def test_a_client_of_which_every_row_is_flagged_drops_out(parts, valued):
    found = fb.boost(*parts, valuation=flagged(valued, c=range(150), a=[3]), training=TRAINING)
    frame = found.to_frame().set_index("how")
    assert frame.loc["drop", ["rows", "dropped"]].tolist() == [299, 151]
    assert frame.loc["relabel", ["rows", "relabelled"]].tolist() == [450, 151]
    why = Note("research.every-row-flagged", {"rows": 150})
    assert found.notes == (Note("research.takes-no-part", {"client": "c", "how": "drop", "why": why}),)
    assert found.failed == ()


def test_where_nothing_is_left_there_is_no_accuracy(parts, valued, tmp_path):
    everything = flagged(valued, a=range(150), b=range(150), c=range(150))
    found = fb.boost(*parts, how=["none", "drop"], valuation=everything, training=TRAINING)
    frame = found.to_frame().set_index("how")
    assert frame.loc["drop", "rows"] == 0
    assert np.isnan(frame.loc["drop", "accuracy"])
    assert frame.loc["none", "accuracy"] > 0
    again = fb.Boost.load(found.save(tmp_path / "out"))
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())


def test_clients_that_fail_leave_the_others_alone(parts):
    clients, reference, test = parts
    mixed = {
        **clients,
        "narrow": fb.Table.from_arrays(clients["a"].columns["x"][:, 1:], clients["a"].labels),
        "alien": fb.Table.from_arrays(clients["a"].columns["x"], ["alien"] * 150),
        "tiny": clients["b"].take([0, 1]),
        "broken": fb.DataError("data.no-file", where="broken.csv"),
    }
    found = fb.boost(mixed, reference, test, how=["none", "drop"], training=TRAINING, seed=1)
    assert set(found.failed) == {"narrow", "alien", "tiny", "broken"}
    assert found.outcomes["none"].rows == 452
    whys = {(note.code, note.facts["client"]): note.facts["why"].code for note in found.notes if "client" in note.facts}
    assert whys == {
        ("research.takes-no-part", "narrow"): "schema.width",
        ("research.takes-no-part", "alien"): "research.no-common-class",
        ("research.takes-no-part", "broken"): "data.no-file",
        ("research.used-as-it-is", "tiny"): "schema.too-few-rows",
    }


def test_classes_that_the_reference_lacks_are_left_out_with_a_note(parts, valued):
    clients, reference, test = parts
    some = reference.take(reference.labels != 9)
    found = fb.boost(clients, some, test, how=["none"], valuation=valued, training=TRAINING)
    missing = int((test.labels == 9).sum())
    assert found.settings["test_rows"] == 300 - missing
    (left_out,) = (note.facts for note in found.notes if note.facts["where"] == "test rows")
    assert (left_out["count"], left_out["rows"], left_out["classes"]) == (missing, 300, ("9",))


def test_a_model_that_diverges_leaves_the_other_ways_alone(parts, valued):
    clients, reference, test = parts
    wild = clients["c"].columns["x"].astype(float).copy()
    wild[:75] *= 1e30
    spoilt = {**clients, "c": clients["c"].replace(columns={"x": wild})}
    found = fb.boost(spoilt, reference, test, valuation=flagged(valued, c=range(75)), how=["none", "drop"])
    assert np.isnan(found.outcomes["none"].accuracy)
    assert found.outcomes["drop"].accuracy > 0.5
    (note,) = (note for note in found.notes if note.code == "research.no-model")
    assert (note.facts["how"], note.facts["why"].code) == ("none", "research.training-diverged")
    with pytest.raises(fb.FedbaryError, check=coded("research.training-diverged")):
        fb.boost(spoilt, reference, test, valuation=valued, how=["none"])


def test_a_result_loads_to_the_same_and_foreign_files_are_left_alone(boosted, tmp_path):
    home = boosted.save(tmp_path / "out")
    again = fb.Boost.load(home)
    pd.testing.assert_frame_equal(again.to_frame(), boosted.to_frame())
    pd.testing.assert_frame_equal(again.valuation.rows("c"), boosted.valuation.rows("c"))
    assert (again.settings, again.failed, again.notes) == (boosted.settings, boosted.failed, boosted.notes)
    assert pd.read_csv(home / "boost.csv").shape == (3, 6)
    boosted.save(home)
    (home / "valuation" / "rows" / "mine.csv").write_text("precious")
    with pytest.raises(fb.FedbaryError, check=coded("valuation.foreign-file")):
        boosted.save(home)
    (tmp_path / "boost.csv").write_text("precious")
    with pytest.raises(fb.FedbaryError, check=coded("research.foreign-file")):
        boosted.save(tmp_path)
    assert (tmp_path / "boost.csv").read_text() == "precious"


@pytest.mark.parametrize("text", ["{}", "[]", "[" * 100_000, '{"fedbary": "boost", "version": 2, "outcomes": 3}'])
def test_a_file_that_is_no_boost_is_refused(tmp_path, text):
    with pytest.raises(fb.FedbaryError, check=coded("research.no-saved-result")):
        fb.Boost.load(tmp_path)
    (tmp_path / "boost.json").write_text(text)
    with pytest.raises(fb.FedbaryError, check=coded("research.result-damaged")):
        fb.Boost.load(tmp_path)


def test_mistakes_are_one_sentence(parts, valued):
    clients, reference, test = parts
    for how, check in (
        ("drop", parameter("how")),
        (["burn"], coded("research.no-such-way")),
        ([], coded("research.no-way-given")),
    ):
        with pytest.raises(fb.FedbaryError, check=check):
            fb.boost(*parts, how=how)
    with pytest.raises(fb.FedbaryError, check=coded("research.flags-need-a-reference")):
        fb.boost(clients, None, test)
    with pytest.raises(fb.FedbaryError, check=coded("research.test-is-the-reference")):
        fb.boost(clients, reference, reference)
    with pytest.raises(fb.FedbaryError, check=coded("data.not-a-table")):
        fb.boost(clients, reference, 3)
    with pytest.raises(fb.FedbaryError, check=coded("research.no-flags-to-act-on")):
        fb.boost(*parts, protocol="triangle")
    diabetes = fb.datasets.load("diabetes")
    with pytest.raises(fb.FedbaryError, check=coded("research.training-needs-classes")):
        fb.boost({"a": diabetes.train}, diabetes.train, diabetes.test)
    alien = fb.Table.from_arrays(clients["a"].columns["x"], ["alien"] * 150)
    with pytest.raises(fb.FedbaryError, check=coded("research.no-client-to-train")):
        fb.boost({"a": alien}, reference, test, valuation=valued)


def test_test_rows_that_train_or_value_are_said(parts):
    clients, reference, test = parts
    rows = fb.Table.from_arrays(
        np.vstack([test.columns["x"], clients["a"].columns["x"][:7], reference.columns["x"][:3]]),
        np.concatenate([test.labels, clients["a"].labels[:7], reference.labels[:3]]),
    )
    notes = fb.boost(clients, reference, rows, how=["none"], training=TRAINING).notes
    seen = {note.facts["of"]: note.facts["count"] for note in notes if note.code == "research.test-rows-seen"}
    assert seen == {"a": 7, "the reference": 3}
